"""Starts scripts in its own process, one a line, and waits for the parent to kill it: `child.py NAME < ORDERS`."""

from __future__ import annotations

import dataclasses
import json
import sys
import time

from driver import Call, Where, driver_named
from rows import function_of


def main() -> None:
    for line in sys.stdin:
        orders = json.loads(line)
        script = [[Call(**call) for call in turn] for turn in orders["script"]]
        where = Where(**orders["where"])
        own = None if orders["row"] is None else [function_of(orders["row"], where)]
        turn = driver_named(sys.argv[1])(where, own).start(script)
        print(json.dumps(dataclasses.asdict(turn)), flush=True)
    time.sleep(600)


if __name__ == "__main__":
    main()
