"""Parts that the adapters share: governed tools, requests for changes, checks of arguments."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ._call import new_task
from ._canonical import sha256
from ._json import JsonObject, as_object
from ._tool import options_of
from .aio import AsyncCountersign
from .client import Countersign
from .errors import (
    ArgumentsChanged,
    ChangesRequested,
    GatewayRefused,
    GatewayUnavailable,
    InvalidPayload,
    NotExecuted,
    StillPending,
)
from .handle import Handle, checked_handle

_MOST_REVIEWS = 1_000


@dataclass
class Governed:
    """The tools of a framework whose calls the gateway decides.

    prefix: precedes the framework's tool name. With `ledger.`, `transfer` is the bundle's
    `ledger.transfer`.
    tools: the framework's names of the governed tools; None governs all tools.
    task_id: the task of the conversation, as the caller names it.
    reviews: by task and tool, the handle and payload of a thread that asks for changes.
    """

    prefix: str = ""
    tools: Collection[str] | None = None
    task_id: str | None = None
    reviews: dict[tuple[str, str], tuple[Handle, JsonObject]] = field(
        default_factory=dict[tuple[str, str], tuple[Handle, JsonObject]]
    )
    # each run with its task; the run stays referenced, so that no other object gets its id
    _runs: dict[object, tuple[object, str]] = field(default_factory=dict[object, "tuple[object, str]"])

    def name_of(self, tool: str) -> str | None:
        """Returns the gateway's name of a tool, or None if the tool is not governed."""
        return f"{self.prefix}{tool}" if self.tools is None or tool in self.tools else None

    def require_known(self, names: Collection[str]) -> None:
        """Refuses `tools` with a name that no tool has. Otherwise the tool that it means would run unguarded.

        names: the framework's names of all tools.

        :raises ValueError: no tool has the name
        """
        unknown = sorted(set(self.tools or ()) - set(names))
        if unknown:
            raise ValueError(f"no tool is named {', '.join(unknown)}: `tools` names {', '.join(sorted(names))}")

    def task(self, gate: Countersign | AsyncCountersign, conversation: object = None, run: object = None) -> str:
        """Returns the task of a call.

        It is the first of: the task of a `gate.call` block, the adapter's own, the conversation's, the client's own.
        Without any of these, each run is a task.

        conversation: the framework's id of the conversation, if there is one.
        run: an object or an id that all calls of a run share, and no others.
        """
        core = gate._core  # pyright: ignore[reportPrivateUsage]
        named = options_of(gate, {}).get("task_id") or self.task_id
        known = named or task_of(conversation) or core.given_task
        return known or (new_task() if run is None else self._of_run(run, new_task())[1])

    def continues(self, run: object, handle: Handle) -> None:
        """Gives a run the task of the call that it continues."""
        if run is not None:
            self._runs[_key(run)] = (run, handle["task_id"])

    def _of_run(self, run: object, task: str) -> tuple[object, str]:
        while len(self._runs) >= _MOST_REVIEWS:
            del self._runs[next(iter(self._runs))]
        return self._runs.setdefault(_key(run), (run, task))

    def ask_again(self, error: ChangesRequested, payload: object) -> None:
        """Saves a thread that asks for changes. The model's next call of the tool revises the thread."""
        if error.handle is None:
            return
        while len(self.reviews) >= _MOST_REVIEWS:
            del self.reviews[next(iter(self.reviews))]
        self.reviews[error.handle["task_id"], error.handle["tool_name"]] = (error.handle, as_object(payload))

    @contextmanager
    def _taken_review(self, task: str, tool: str) -> Generator[tuple[Handle, JsonObject] | None]:
        """Yields the tool's thread that asks for changes, or None. Suppresses the refusal of a thread that has ended.

        Only one call gets the thread. After an outage or an invalid payload, the next call gets it.
        """
        review = self.reviews.pop((task, tool), None)
        try:
            yield review
        except GatewayRefused:
            return
        except BaseException as error:
            is_open = not isinstance(error, NotExecuted) or isinstance(error, (GatewayUnavailable, InvalidPayload))
            if review is not None and is_open:
                self.reviews.setdefault((task, tool), review)
            raise

    def propose(self, gate: Countersign, tool: str, payload: object, call_id: str, task: str) -> Handle:
        """Proposes the call, or revises the tool's thread that asks for changes in this task."""
        given = as_object(payload)
        with self._taken_review(task, tool) as review:
            if review is not None:
                return gate.revise(review[0], given, old=review[1])
        return gate.propose(tool, given, call_id=call_id, task_id=task)

    async def apropose(self, gate: AsyncCountersign, tool: str, payload: object, call_id: str, task: str) -> Handle:
        """Does the same as `propose`, with the asynchronous client."""
        given = as_object(payload)
        with self._taken_review(task, tool) as review:
            if review is not None:
                return await gate.revise(review[0], given, old=review[1])
        return await gate.propose(tool, given, call_id=call_id, task_id=task)


def _key(run: object) -> object:
    return run if isinstance(run, str) else id(run)


def handle_for(tool: str, saved: object) -> Handle:
    """Returns the saved handle of a call of this tool.

    :raises ArgumentsChanged: the handle belongs to another tool
    :raises ValueError: the value is not a handle
    """
    handle = checked_handle(saved)
    if handle["tool_name"] != tool:
        raise ArgumentsChanged(f"the saved handle is of {handle['tool_name']}, not of {tool}", handle.get("thread_id"))
    return handle


def still_waits(error: NotExecuted) -> bool:
    """Returns whether the call has a thread without a known decision. An outage leaves such a thread open."""
    return isinstance(error, (StillPending, GatewayUnavailable)) and error.handle is not None


_TASK = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")


def task_of(conversation: object) -> str | None:
    """Returns the task of a conversation: its id, or the hash of an id that does not fit."""
    if not isinstance(conversation, str) or not conversation:
        return None
    return conversation if _TASK.fullmatch(conversation) else sha256(conversation)
