"""CrewAI: a held call waits inside its tool, and a later kickoff of the same task continues it.

```python
governed = GovernedTools(gate, prefix="payments.", task_id="case-7")
clerk = Agent(role="clerk", ..., tools=[governed.tool(refund)])
result = Crew(agents=[clerk], tasks=[task]).kickoff()
governed.waiting  # calls without a decision: kick off later, in any process, with the same task_id
```
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any, cast

from crewai.tools import BaseTool
from crewai.tools import tool as tool_of
from crewai.tools.base_tool import Tool
from pydantic import BaseModel, PrivateAttr, model_serializer, model_validator

from ._adapter import Governed, still_waits
from ._approved import ApprovedRun
from ._arguments import Objects, Reader, plain_reader, reader_of_model
from ._canonical import canonical, sha256
from ._function import in_places
from ._json import JsonObject
from .client import Countersign
from .errors import ChangesRequested, GatewayUnavailable, InvalidPayload, NotExecuted, StillPending, Withdrawn
from .handle import Handle

# the longest time in seconds until a waiting call notices `cancel`
_LOOK_SECONDS = 1.0


class GovernedTools:
    """Tools that run only if policy or reviewers allow it.

    prefix: precedes every tool name.
    task_id: the task; a `gate.call(task_id=...)` block around a kickoff names another one. Otherwise all
    kickoffs of this object are one task, because the framework has no conversations. For 24 hours, a
    kickoff with the same task continues the threads of an earlier kickoff.
    wait: seconds to wait for reviewers. Then the model reads that the call still waits, and the
    crew continues.
    """

    def __init__(self, gate: Countersign, *, prefix: str = "", task_id: str | None = None, wait: float = 900.0) -> None:
        self.gate = gate
        self.governed = Governed(prefix, task_id=task_id)
        self.wait = wait
        self._lock = threading.Lock()
        self._ended: dict[str, int] = {}
        self._running: set[str] = set()
        self._waiting: dict[str, Handle] = {}
        self._cancelled = threading.Event()

    @property
    def waiting(self) -> list[Handle]:
        """The handles of the calls without a decision."""
        with self._lock:
            return list(self._waiting.values())

    def tool(self, tool: BaseTool | Callable[..., Any]) -> BaseTool:
        """Returns a governed tool for a tool of the framework, or for a function.

        :raises TypeError: no payload can hold an argument of the tool
        """
        inner: BaseTool = tool if isinstance(tool, BaseTool) else tool_of(tool)
        made = _GovernedTool(
            name=inner.name,
            description=inner.description,
            args_schema=_as_written(inner.args_schema),
            result_schema=inner.result_schema,
            result_as_answer=inner.result_as_answer,
            tool_failure_policy=inner.tool_failure_policy,
            # never reuse the result of one call for the next call
            cache_function=_never,
        )
        made._inner = inner
        made._own = self
        has_fields = bool(inner.args_schema.model_fields)
        made._reader = reader_of_model(inner.name, inner.args_schema) if has_fields else plain_reader()
        return made

    def cancel(self) -> None:
        """Withdraws every waiting call.

        Asyncio cannot cancel `kickoff_async`, which runs in a Python thread.
        """
        self._cancelled.set()

    def call(self, name: str, payload: JsonObject, run: Callable[[Any], Any]) -> Any:
        """Runs one call, or returns the reason why it did not run."""
        task = self.governed.task(self.gate, run=self)
        key = sha256(f"{task}\n{name}\n{canonical(payload)}")
        call_id = self._begin(key)
        try:
            # the handle of a call that still waits may be of a revision, which its call id does not find
            handle = self._kept(call_id)
            if handle is None:
                handle = self.governed.propose(self.gate, name, payload, call_id, task)
            return self._resumed(handle, run, payload, call_id)
        except NotExecuted as error:
            if isinstance(error, ChangesRequested):
                self.governed.ask_again(error, payload)
            return str(error)
        finally:
            self._end(key, call_id)

    def _begin(self, key: str) -> str:
        """Returns a call id, because the framework gives calls no id.

        Equal calls are numbered, so that another kickoff gets the same ids in the same order.
        """
        with self._lock:
            number = self._ended.get(key, 0)
            while f"{key[:40]}-{number}" in self._running:
                number += 1
            call_id = f"{key[:40]}-{number}"
            self._running.add(call_id)
            return call_id

    def _end(self, key: str, call_id: str) -> None:
        """Ends one run of a call.

        A call that still waits keeps its number, so that its repetition continues the thread.
        """
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
            except (StillPending, GatewayUnavailable) as error:
                # an outage leaves the thread open, so the call waits on
                is_over = left <= 0 or not still_waits(error)
                self._keep(call_id, handle if is_over and still_waits(error) else None)
                if self._cancelled.is_set() and self.gate.withdraw(handle, "the crew was cancelled"):
                    self._keep(call_id, None)
                    raise Withdrawn("the crew was cancelled", handle.get("thread_id")) from None
                if is_over:
                    raise
            except BaseException:
                self._keep(call_id, None)
                raise
            else:
                self._keep(call_id, None)
                return result

    def _kept(self, call_id: str) -> Handle | None:
        with self._lock:
            return self._waiting.get(call_id)

    def _keep(self, call_id: str, handle: Handle | None) -> None:
        with self._lock:
            self._waiting.pop(call_id, None)
            if handle is not None:
                self._waiting[call_id] = handle


class _GovernedTool(BaseTool):
    """A governed tool. The framework calls `_run` with the arguments as the model wrote them."""

    _inner: BaseTool = PrivateAttr()
    _own: GovernedTools = PrivateAttr()
    _reader: Reader = PrivateAttr()

    def _run(self, **arguments: Any) -> Any:
        try:
            read = self._reader.read("", arguments)
        except InvalidPayload as error:
            return str(error)
        run = ApprovedRun(read.objects, self._called)
        return self._own.call(f"{self._own.governed.prefix}{self.name}", read.payload, run)

    async def _arun(self, **arguments: Any) -> Any:
        return await asyncio.to_thread(self._run, **arguments)

    def _called(self, objects: Objects) -> Any:
        """Runs the inner tool as the framework does, with the objects instead of a dump of them."""
        limit = self._inner._claim_usage()
        if limit:
            return limit
        function = self._inner.func if isinstance(self._inner, Tool) else self._inner._run
        placed, named = in_places(function, objects)
        result = function(*placed, **named)
        return asyncio.run(cast("Any", result)) if asyncio.iscoroutine(result) else result


def _as_written(schema: type[BaseModel]) -> type[BaseModel]:
    """Returns the schema for the model, which leaves the arguments as they are.

    The framework would give `_run` a dump of them, which serializers and `exclude` change.
    """

    class AsWritten(schema):  # type: ignore[valid-type, misc]
        @model_validator(mode="wrap")
        @classmethod
        def keep(cls, given: Any, _: Any) -> Any:
            kept = cls.__new__(cls)
            object.__setattr__(kept, "__dict__", dict(given))
            for name in ("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__"):
                object.__setattr__(kept, name, None)
            return kept

        @model_serializer(mode="plain")
        def written(self) -> dict[str, Any]:
            return dict(self.__dict__)

    AsWritten.__name__ = schema.__name__
    AsWritten.__doc__ = schema.__doc__
    return AsWritten


def _never(_arguments: object = None, _result: object = None) -> bool:
    return False
