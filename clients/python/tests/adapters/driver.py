"""The interface of a driver, which plays a script with its framework and a scripted model."""

from __future__ import annotations

import abc
import asyncio
import functools
import importlib
import inspect
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

PREFIX = "demo."


@dataclass(frozen=True)
class Call:
    """A call that the model makes.

    tool: the name without the gateway's prefix.
    """

    tool: str
    arguments: dict[str, Any]
    id: str = "call_1"


# turns of the model; each turn makes its calls together, and after the last turn the model answers DONE
Script = list[list[Call]]
DONE = "all done"


@dataclass
class Turn:
    """How far the agent got.

    ended: the model answered DONE.
    `told`: the results that the model read, by call id.
    saved: a string with which another process can continue; None after the end.
    """

    ended: bool
    told: dict[str, str] = field(default_factory=dict)
    saved: str | None = None


@dataclass(frozen=True)
class Where:
    """The addresses, files and task of a test.

    url, key: the gateway's address and the agent's key.
    directory: the directory that the test's processes share.
    task_id: the task of the conversation.
    """

    url: str
    key: str
    directory: str
    task_id: str

    def ran(self) -> list[dict[str, Any]]:
        """Returns the tools that ran in any process, with their arguments."""
        path = Path(self.directory) / "ran"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def run(self, tool: str, **arguments: Any) -> str:
        """Records the run of a tool. `failing` raises afterwards."""
        with (Path(self.directory) / "ran").open("a") as file:
            file.write(json.dumps({"tool": tool, **arguments}) + "\n")
        if tool == "failing":
            raise LookupError("no funds")
        return f"{tool} ran with {json.dumps(arguments, sort_keys=True)}"


class Driver(abc.ABC):
    """One framework with its adapter, and four guarded tools.

    The tools are `allowed(n)`, `held(n, memo=None)`, `rejected(n)` and `failing(n)`.
    own: functions that are the guarded tools instead.
    changes: `before` or `after`, the side of a middleware that replaces arguments of each call, with the arguments.
    packages: the packages for pip, at their newest versions.
    oldest: the same at the oldest supported versions.
    not_applicable: the cases that the framework does not support, and why.
    cancels_at_once: a cancelled wait withdraws its call, instead of keeping it for a grace.
    """

    packages: ClassVar[list[str]]
    oldest: ClassVar[list[str]]
    not_applicable: ClassVar[dict[str, str]] = {}
    cancels_at_once: ClassVar[bool] = False

    def __init__(self, where: Where, own: list[Callable[..., Any]] | None = None) -> None:
        self.where = where
        self.own = own
        self.changes: dict[str, dict[str, Any]] = {}

    def functions(self) -> list[Callable[..., Any]]:
        """Returns the functions of the guarded tools."""
        return four_functions(self.where) if self.own is None else self.own

    @classmethod
    def written(cls, row: str, given: dict[str, Any]) -> dict[str, Any]:
        """Returns the arguments of a row as a model writes them for this framework."""
        return given

    def play_rows(self, script: Script) -> Turn:
        """Like `start`, for a message with many calls."""
        return self.start(script)

    @abc.abstractmethod
    def start(self, script: Script) -> Turn:
        """Runs until the agent ends or a held call pauses it."""

    def resume(self, script: Script, saved: str, change: dict[str, Any] | None = None) -> Turn:
        """Continues in this or another process.

        change: arguments that replace those of `held`.
        """
        raise NotImplementedError

    def stream(self, script: Script) -> Turn:
        """Like `start`, through the framework's streaming interface."""
        raise NotImplementedError

    def sub_agent(self, script: Script) -> Turn:
        """Like `start`, with an agent that delegates to another agent, which plays the script.

        `resume` continues it.
        """
        raise NotImplementedError

    async def wait(self, script: Script) -> Turn:
        """Like `start`, but a held call waits in memory until the suite cancels it."""
        raise NotImplementedError


def four_functions(where: Where) -> list[Callable[..., Any]]:
    def allowed(n: int) -> str:
        """Is always allowed."""
        return where.run("allowed", n=n)

    async def held(n: int, memo: str | None = None) -> str:
        """People decide about it."""
        return where.run("held", n=n, memo=memo)

    def rejected(n: int) -> str:
        """Is never allowed."""
        return where.run("rejected", n=n)

    def failing(n: int) -> str:
        """Fails."""
        return where.run("failing", n=n)

    return [allowed, held, rejected, failing]


def synchronous(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function for a framework that calls no coroutine."""
    if not inspect.iscoroutinefunction(function):
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return asyncio.run(function(*args, **kwargs))

    return call


def driver_named(name: str) -> type[Driver]:
    """Returns the class `Driver` of the module `driver_NAME`."""
    found: type[Driver] = importlib.import_module(f"driver_{name}").Driver
    return found


NAME = os.environ.get("COUNTERSIGN_ADAPTER", "")
