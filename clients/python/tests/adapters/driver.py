"""What the suite asks of each framework. A driver plays a script with the framework's own scripted model."""

from __future__ import annotations

import abc
import importlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

PREFIX = "demo."


@dataclass(frozen=True)
class Call:
    """A call that the model makes. tool: without the prefix that the gateway knows it by."""

    tool: str
    arguments: dict[str, Any]
    id: str = "call_1"


# the turns of the model: each makes its calls at once, and after the last one the model answers DONE
Script = list[list[Call]]
DONE = "all done"


@dataclass
class Turn:
    """How far the agent got.

    ended: the model answered DONE. told: what the model read as the result of each call, by its id.
    saved: a text with which another process can continue; None when the agent ended.
    """

    ended: bool
    told: dict[str, str] = field(default_factory=dict)
    saved: str | None = None


@dataclass(frozen=True)
class Where:
    """url, key: of the gateway. directory: of this test, shared by its processes. task_id: of the conversation."""

    url: str
    key: str
    directory: str
    task_id: str

    def ran(self) -> list[dict[str, Any]]:
        """The tools that ran, in any process, with their arguments."""
        path = Path(self.directory) / "ran"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def run(self, tool: str, **arguments: Any) -> str:
        """What every tool does: `failing` raises after it ran."""
        with (Path(self.directory) / "ran").open("a") as file:
            file.write(json.dumps({"tool": tool, **arguments}) + "\n")
        if tool == "failing":
            raise LookupError("no funds")
        return f"{tool} ran with {json.dumps(arguments, sort_keys=True)}"


class Driver(abc.ABC):
    """One framework with its adapter, and four guarded tools.

    The tools are `allowed(n)`, `held(n, memo=None)`, `rejected(n)` and `failing(n)`.
    packages: what pip installs, the newest; oldest: the same at the oldest versions that are supported.
    not_applicable: the cases that the framework cannot do, and why.
    """

    packages: ClassVar[list[str]]
    oldest: ClassVar[list[str]]
    not_applicable: ClassVar[dict[str, str]] = {}

    def __init__(self, where: Where) -> None:
        self.where = where

    @abc.abstractmethod
    def start(self, script: Script) -> Turn:
        """Runs until the agent ends, or is paused because people have to decide."""

    def resume(self, script: Script, saved: str, change: dict[str, Any] | None = None) -> Turn:
        """Continues, in a process that may be another one. change: arguments put in the place of those of `held`."""
        raise NotImplementedError

    def stream(self, script: Script) -> Turn:
        """As `start`, by the framework's streaming interface."""
        raise NotImplementedError

    def sub_agent(self, script: Script) -> Turn:
        """As `start`, with an agent that delegates to another one, which plays the script. `resume` continues it."""
        raise NotImplementedError

    async def wait(self, script: Script) -> Turn:
        """As `start`, but a held call waits in memory: the suite cancels it."""
        raise NotImplementedError


def driver_named(name: str) -> type[Driver]:
    """The class `Driver` of the module `driver_NAME`."""
    found: type[Driver] = importlib.import_module(f"driver_{name}").Driver
    return found


NAME = os.environ.get("COUNTERSIGN_ADAPTER", "")
