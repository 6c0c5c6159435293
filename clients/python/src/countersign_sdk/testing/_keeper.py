"""Runs a gateway only for as long as the test process runs: `_keeper.py DIRECTORY COMMAND ...`.

The test process has the other end of standard input. The operating system closes that end when the test process ends,
even by SIGKILL. Then the keeper stops the gateway and removes its directory.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from types import FrameType

_STOP_SECONDS = 15.0


def main() -> int:
    directory, *command = sys.argv[1:]
    # a handler, because child processes would inherit an ignored signal
    signal.signal(signal.SIGTERM, _continue)
    child = subprocess.Popen(command, cwd=directory, stdin=subprocess.DEVNULL)
    alone = threading.Event()
    threading.Thread(target=_watch, args=(child, alone), daemon=True).start()
    code = child.wait()
    if alone.is_set():
        shutil.rmtree(directory, ignore_errors=True)
        _signal(child, getattr(signal, "SIGKILL", signal.SIGTERM))
    return code


def _continue(_number: int, _frame: FrameType | None) -> None:
    """Lets the keeper wait for the gateway, which receives the signal too."""


def _watch(child: subprocess.Popen[bytes], alone: threading.Event) -> None:
    """Stops the gateway when standard input ends."""
    # not sys.stdin, because this thread would still hold its lock when the interpreter exits
    while os.read(0, 1024):
        pass
    alone.set()
    _signal(child, signal.SIGTERM)
    try:
        child.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()


def _signal(child: subprocess.Popen[bytes], number: int) -> None:
    """Signals the keeper's process group, because npm starts the gateway as its child."""
    if hasattr(os, "killpg"):
        os.killpg(0, number)
    else:
        child.send_signal(number)


if __name__ == "__main__":
    sys.exit(main())
