"""Plays part of a script in its own process: `child.py NAME start|resume < ORDERS`."""

from __future__ import annotations

import json
import sys
import time

from driver import Call, Where, driver_named


def main() -> None:
    orders = json.loads(sys.stdin.readline())
    script = [[Call(**call) for call in turn] for turn in orders["script"]]
    driver = driver_named(sys.argv[1])(Where(**orders["where"]))
    turn = driver.start(script) if sys.argv[2] == "start" else driver.resume(script, orders["saved"])
    print(json.dumps({"ended": turn.ended, "told": turn.told, "saved": turn.saved}), flush=True)
    if sys.argv[2] == "start":
        # the parent kills it
        time.sleep(60)


if __name__ == "__main__":
    main()
