"""Makes `client.py`, the synchronous client, from `aio.py`: `python tests/unasync.py`.

`_run_sync.py` and `_run_async.py` hold what differs more.
"""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src/countersign_sdk"
HEAD = "# Generated from aio.py by tests/unasync.py. Do not edit.\n"

CODE = [
    (r"\b(async|await) ", ""),
    (r"Awaitable\[T\] \| T\b", "T"),
    (r"\bAwaitable, ", ""),
    (r"\bAsync(Client|Countersign)\b", r"\1"),
    (r"\bAsyncHttp\b", "SyncHttp"),
    (r"\b_run_async\b", "_run_sync"),
    (r"\brefuse_generator\b", "refuse_async"),
    (r"from \._threads import in_thread\n|, in_thread\(function\)", ""),
]
TEXTS = [
    (
        "the client for asyncio. `tests/unasync.py` makes client.py of this file.",
        "the client of a synchronous agent.",
    ),
    (", in any number of event loops.", "."),
    (
        "Each event loop has its own connections, which close when `asyncio.run` ends the loop.",
        "Python threads may share it. After a fork, the child process opens its own connections.",
    ),
    (" They may be coroutines.", ""),
    (
        "use instead, in one event loop, for a proxy or a client certificate. You close it.",
        "use instead, for a proxy or a client certificate. You close it. Its own timeouts do not\n"
        "    stop an answer that arrives slowly.",
    ),
    (
        "    Asyncio or an anyio scope may cancel a call:\n\n"
        "    - before the redemption, the client withdraws the call and the tool does not run;\n"
        "    - during the redemption, the client first waits for its result;\n"
        "    - after the redemption, the tool runs, or the client reports that it did not.\n\n",
        "",
    ),
    ("once and awaits its result, or raises", "once, or raises"),
    (
        "        A synchronous `run` blocks the event loop while it runs."
        " `tool` runs such a function in a Python thread.\n\n",
        "",
    ),
    ("`run` is a generator\n", "`run` is asynchronous or a generator\n"),
    (" A synchronous function runs in a Python thread.", ""),
    ("for a generator function,", "for an async function, a generator function,"),
]


def made(source: str) -> str:
    """Returns the source of the synchronous client.

    :raises ValueError: the source no longer has the words that the synchronous client replaces
    """
    for pattern, new in CODE:
        source = re.sub(pattern, new, source)
    for old, new in TEXTS:
        if source.count(old) != 1:
            raise ValueError(f"aio.py has {source.count(old)} times: {old}")
        source = source.replace(old, new)
    return HEAD + source


if __name__ == "__main__":
    (SOURCE / "client.py").write_text(made((SOURCE / "aio.py").read_text("utf-8")), "utf-8")
