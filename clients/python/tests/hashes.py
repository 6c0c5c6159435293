"""Prints random payloads and action hashes as lines of JSON, to compare with JavaScript."""

from __future__ import annotations

import json
import random
import sys

from countersign_sdk._canonical import action_hash
from countersign_sdk._json import as_object
from test_values import draw, draw_text

if __name__ == "__main__":
    chance = random.Random(int(sys.argv[2]))
    for number in range(int(sys.argv[1])):
        payload = as_object({draw_text(chance): draw(chance) for _ in range(3)})
        made = action_hash("task", "tool", payload, f"nonce-{number}", number % 3)
        sys.stdout.write(json.dumps({"payload": payload, "hash": made}) + "\n")
