"""Many waiting calls in one process.

Prints the memory and the Python threads of the process. Cancels all calls after a line on standard input.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from pathlib import Path

from countersign_sdk import AsyncCountersign


def resident() -> int:
    """Returns the resident memory of this process in bytes, on Linux."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def main(url: str, key: str, count: int) -> None:
    held = 0
    everything = asyncio.Event()

    def on_held(_: object) -> None:
        nonlocal held
        held += 1
        if held == count:
            everything.set()

    async with AsyncCountersign(url, key, timeout=60) as gate:
        await gate.guard("allowed.tool", {}, lambda _: None)
        before = resident()
        calls = [gate.guard("held.tool", {"n": n}, lambda _: None, on_held=on_held) for n in range(count)]
        tasks = [asyncio.ensure_future(call) for call in calls]
        await asyncio.wait([asyncio.ensure_future(everything.wait()), *tasks], return_when=asyncio.FIRST_COMPLETED)
        # long enough to send every poll
        await asyncio.sleep(2)
        grown = (resident() - before) / 2**20
        waiting = sum(not task.done() for task in tasks)
        print(json.dumps({"megabytes": grown, "threads": threading.active_count(), "waiting": waiting}), flush=True)
        sys.stdin.readline()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
