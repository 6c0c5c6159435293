"""CrewAI: a held call waits inside its tool, and a later kickoff of the same task continues its review.

governed = GovernedTools(gate, prefix="payments.", task_id="case-7")
clerk = Agent(role="clerk", ..., tools=[governed.tool(refund)])
result = Crew(agents=[clerk], tasks=[task]).kickoff()
governed.waiting  # the calls that nobody decided: kick off again later, in any process, with the same task_id
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any, cast

from crewai.tools import BaseTool
from crewai.tools import tool as tool_of
from pydantic import PrivateAttr, ValidationError

from ._adapter import Governed, require_equal
from ._canonical import canonical, sha256
from ._json import JsonObject, as_object
from .client import Countersign
from .errors import ChangesRequested, InvalidPayload, NotExecuted, StillPending, Withdrawn
from .handle import Handle

# how soon a call that waits hears of `cancel`
_LOOK_SECONDS = 1.0


class GovernedTools:
    """Tools that run only as policy and people allow it.

    prefix: stands before every name of a tool. task_id: of this piece of work, in place of the gate's own. A kickoff
    with the same one continues the reviews of an earlier kickoff, for 24 hours.
    wait: seconds to wait for people. After it the model reads that the call still waits, and the crew goes on.
    """

    def __init__(self, gate: Countersign, *, prefix: str = "", task_id: str | None = None, wait: float = 900.0) -> None:
        self.gate = gate
        self.governed = Governed(prefix)
        self.task_id = task_id
        self.wait = wait
        self._lock = threading.Lock()
        self._ended: dict[str, int] = {}
        self._running: set[str] = set()
        self._waiting: dict[str, Handle] = {}
        self._cancelled = threading.Event()

    @property
    def waiting(self) -> list[Handle]:
        """The calls that nobody has decided yet."""
        with self._lock:
            return list(self._waiting.values())

    def tool(self, tool: BaseTool | Callable[..., Any]) -> BaseTool:
        """A tool of the framework, or a function as its decorator `tool` takes it, behind the gateway."""
        inner: BaseTool = tool if isinstance(tool, BaseTool) else tool_of(tool)
        made = _GovernedTool(
            name=inner.name,
            description=inner.description,
            args_schema=inner.args_schema,
            result_schema=inner.result_schema,
            result_as_answer=inner.result_as_answer,
            tool_failure_policy=inner.tool_failure_policy,
            # an answer about one call is none about the next
            cache_function=_never,
        )
        made._inner = inner
        made._own = self
        return made

    def cancel(self) -> None:
        """Takes back every call that waits. `kickoff_async` runs in a thread, which asyncio cannot cancel."""
        self._cancelled.set()

    def call(self, name: str, payload: JsonObject, run: Callable[[Any], Any]) -> Any:
        """Runs one call, or answers with why not."""
        key = sha256(f"{name}\n{canonical(payload)}")
        call_id = self._begin(key)
        try:
            handle = self.governed.propose(self.gate, name, payload, call_id, self.task_id)
            return self._resumed(handle, run, payload, call_id)
        except NotExecuted as error:
            if isinstance(error, ChangesRequested):
                self.governed.ask_again(error, payload)
            return str(error)
        finally:
            self._end(key, call_id)

    def _begin(self, key: str) -> str:
        """The framework gives calls no id: the same call of another kickoff gets the same one, in order."""
        with self._lock:
            number = self._ended.get(key, 0)
            while f"{key[:40]}-{number}" in self._running:
                number += 1
            call_id = f"{key[:40]}-{number}"
            self._running.add(call_id)
            return call_id

    def _end(self, key: str, call_id: str) -> None:
        """A call that still waits keeps its number: when the model makes it again, its review goes on."""
        with self._lock:
            self._running.discard(call_id)
            if call_id not in self._waiting:
                self._ended[key] = self._ended.get(key, 0) + 1

    def _resumed(self, handle: Handle, run: Callable[[Any], Any], payload: JsonObject, call_id: str) -> Any:
        until = time.monotonic() + self.wait
        while True:
            left = max(0.0, until - time.monotonic())
            try:
                result = self.gate.resume(handle, run, payload=payload, max_wait=min(left, _LOOK_SECONDS))
            except StillPending:
                if self._cancelled.is_set() and self.gate.withdraw(handle, "the crew was cancelled"):
                    raise Withdrawn("the crew was cancelled", handle.get("thread_id")) from None
                if left <= 0:
                    self._keep(call_id, handle)
                    raise
            except BaseException:
                self._keep(call_id, None)
                raise
            else:
                self._keep(call_id, None)
                return result

    def _keep(self, call_id: str, handle: Handle | None) -> None:
        with self._lock:
            self._waiting.pop(call_id, None)
            if handle is not None:
                self._waiting[call_id] = handle


class _GovernedTool(BaseTool):
    """One tool. The framework calls `_run` last, with arguments that it has checked against the schema."""

    _inner: BaseTool = PrivateAttr()
    _own: GovernedTools = PrivateAttr()

    def _run(self, **arguments: Any) -> Any:
        inner, own = self._inner, self._own
        try:
            payload = as_object(arguments)
        except InvalidPayload as error:
            return str(error)

        def run(approved: JsonObject) -> Any:
            require_equal(self._parsed(approved), approved)
            return inner.run(**cast("dict[str, Any]", approved))

        return own.call(f"{own.governed.prefix}{self.name}", payload, run)

    async def _arun(self, **arguments: Any) -> Any:
        return await asyncio.to_thread(self._run, **arguments)

    def _parsed(self, approved: JsonObject) -> Any:
        """What the tool makes of the approved arguments."""
        if not self._inner.args_schema.model_fields:
            return approved
        try:
            return self._inner.args_schema.model_validate(approved).model_dump()
        except ValidationError as error:
            raise InvalidPayload(f"the arguments do not fit the tool: {error}") from error


def _never(_arguments: object = None, _result: object = None) -> bool:
    return False
