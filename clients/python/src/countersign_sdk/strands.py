"""Strands: a held call interrupts the agent, and `agent.state` keeps its handle.

```python
agent = Agent(model, tools=[refund], hooks=[CountersignHooks(gate, prefix="payments.")])
result = await agent.invoke_async("Refund order 7")
prompt = resume_prompt(result)  # when result.stop_reason == "interrupt": save it with the agent's session
await agent.invoke_async(prompt)  # after the decision, in any process
```
"""

from __future__ import annotations

import copy
from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass
from typing import Any, NoReturn, cast

from strands.agent import AgentResult
from strands.hooks import AgentInitializedEvent, BeforeToolCallEvent, HookProvider, HookRegistry
from strands.types._events import ToolResultEvent
from strands.types.tools import AgentTool, ToolSpec, ToolUse

from ._adapter import Governed, handle_for, still_waits
from ._arguments import Objects, Reader, plain_reader, reader_of_model
from ._call import AuthorizedCall
from ._function import require_equal
from ._json import JsonObject
from .aio import AsyncCountersign
from .errors import ArgumentsChanged, ChangesRequested, GatewayUnavailable, NotExecuted, StillPending
from .handle import Handle

_MEMBER = "countersign"
# run after every other hook, so that no hook changes or replaces a proposed call
_LAST = 1e9


class CountersignHooks(HookProvider):
    """Runs a tool only if policy or reviewers allow it.

    prefix, tools: the governed tools and their names, as in `Governed`.
    task_id: the task of every conversation. Default: the id of the agent's session; without one, each
    invocation of the agent is a task.
    wait: seconds to wait in memory before the agent is interrupted. A cancelled wait withdraws its
    call after two minutes. An agent that is another agent's tool must wait, because its state is not saved.
    """

    def __init__(
        self,
        gate: AsyncCountersign,
        *,
        prefix: str = "",
        tools: Collection[str] | None = None,
        task_id: str | None = None,
        wait: float | None = None,
    ) -> None:
        self.gate = gate
        self.governed = Governed(prefix, tools, task_id)
        self._readers: dict[str, tuple[AgentTool, Reader]] = {}
        self.wait = wait

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        registry.add_callback(AgentInitializedEvent, self._initialized)
        registry.add_callback(BeforeToolCallEvent, self._before, order=_LAST)

    def _initialized(self, event: AgentInitializedEvent[Any]) -> None:
        self.governed.require_known(event.agent.tool_registry.registry)

    async def _before(self, event: BeforeToolCallEvent[Any]) -> None:
        """Proposes the call. Interrupts the agent, or replaces the tool with a governed tool."""
        inner = event.selected_tool
        if event.cancel_tool or inner is None:
            return
        name, runs = self.governed.name_of(event.tool_use["name"]), self.governed.name_of(inner.tool_name)
        if name is None and runs is None:
            return
        saved = _Saved(event)
        try:
            if name is None or name != runs:
                raise ArgumentsChanged(f"a hook put the tool {inner.tool_name} in the place of the one that was called")
            handle, call_id = saved.handle(name), event.tool_use["toolUseId"]
            reader = self._reader(inner)
            if handle is None:
                read = reader.read(call_id, event.tool_use["input"])
                task = self.governed.task(self.gate, _session_of(event.agent), event.invocation_state)
                handle = await self.governed.apropose(self.gate, name, read.payload, read.nonce, task)
                if self.wait is None and handle["status"] == "pending_review":
                    saved.interrupt(handle, self.gate.page_of(handle))
            else:
                self.governed.continues(event.invocation_state, handle)
        except NotExecuted as error:
            event.cancel_tool = str(error)
            return
        event.selected_tool = _GovernedTool(inner, self, saved, handle)

    def _reader(self, tool: AgentTool) -> Reader:
        known = self._readers.get(tool.tool_name)
        if known is None or known[0] is not tool:
            known = self._readers[tool.tool_name] = (tool, reader_of(tool))
        return known[1]


def _session_of(agent: Any) -> object:
    return getattr(agent._session_manager, "session_id", None)


@dataclass
class _Saved:
    """The handle of a held call in the agent's state, with the number of its interrupts."""

    event: BeforeToolCallEvent[Any]

    def _all(self) -> dict[str, Any]:
        return cast("dict[str, Any]", self.event.agent.state.get(_MEMBER) or {})

    def handle(self, tool: str) -> Handle | None:
        found = self._all().get(self.event.tool_use["toolUseId"])
        return None if found is None else handle_for(tool, found["handle"])

    def interrupt(self, handle: Handle, page: str | None) -> NoReturn:
        """Pauses the agent.

        Each pause has a new name, because the framework keeps the answer to an earlier one.
        """
        kept, call_id = self._all(), self.event.tool_use["toolUseId"]
        pauses = kept[call_id]["pauses"] + 1 if call_id in kept else 1
        self.event.agent.state.set(_MEMBER, {**kept, call_id: {"handle": handle, "pauses": pauses}})
        reason = {_MEMBER: handle, "tool": handle["tool_name"], "console_url": page}
        self.event.interrupt(f"{_MEMBER}-{pauses}", reason=reason)
        raise RuntimeError("the framework did not pause")

    def forget(self) -> None:
        kept = self._all()
        if kept.pop(self.event.tool_use["toolUseId"], None) is not None:
            self.event.agent.state.set(_MEMBER, kept)


class _GovernedTool(AgentTool):
    """One call of a tool, which redeems its proof immediately before it runs."""

    def __init__(self, inner: AgentTool, hooks: CountersignHooks, saved: _Saved, handle: Handle) -> None:
        super().__init__()
        self._inner = inner
        self._hooks = hooks
        self._saved = saved
        self._handle = handle

    @property
    def tool_name(self) -> str:
        return self._inner.tool_name

    @property
    def tool_spec(self) -> ToolSpec:
        return self._inner.tool_spec

    @property
    def tool_type(self) -> str:
        return self._inner.tool_type

    async def stream(
        self, tool_use: ToolUse, invocation_state: dict[str, Any], **kwargs: Any
    ) -> AsyncGenerator[Any, None]:
        payload: JsonObject = {}
        try:
            # a middleware after the hooks may have changed the call
            reader = self._hooks._reader(self._inner)
            read = reader.again(self._handle, tool_use["toolUseId"], tool_use["input"])
            payload = read.payload
            require_equal(read.objects, payload)
            call = await self._authorize(payload)
        except NotExecuted as error:
            if isinstance(error, ChangesRequested):
                self._hooks.governed.ask_again(error, payload)
            self._saved.forget()
            yield _refusal(tool_use, str(error))
            return
        self._saved.forget()
        tool = _tool_with(self._inner, read.objects)
        async for event in self._reported(call, tool.stream(tool_use, invocation_state, **kwargs)):
            yield event

    async def _authorize(self, payload: JsonObject) -> AuthorizedCall:
        gate, wait = self._hooks.gate, self._hooks.wait or 0.0
        try:
            return await gate.authorize_handle(self._handle, payload=payload, max_wait=wait)
        except (StillPending, GatewayUnavailable) as pending:
            if not still_waits(pending):
                raise
            self._saved.interrupt(self._handle, pending.console_url)

    async def _reported(self, call: AuthorizedCall, events: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        """Reports the outcome before it yields the result, because the framework then stops reading."""
        last, reported = None, False
        try:
            async for event in events:
                last = event
                if isinstance(event, ToolResultEvent):
                    reported = True
                    await self._hooks.gate.report(call, _error_of(event))
                yield event
        except BaseException as error:
            if not reported:
                await self._hooks.gate.report(call, error)
            raise
        if not reported:
            await self._hooks.gate.report(call, _error_of(last))


def resume_prompt(result: AgentResult) -> list[Any]:
    """Returns the prompt that continues every held call, as plain JSON.

    A call without a decision interrupts the agent again.
    """
    ours = [one for one in result.interrupts or () if isinstance(one.reason, dict) and _MEMBER in one.reason]
    return [{"interruptResponse": {"interruptId": one.id, "response": True}} for one in ours]


def reader_of(tool: AgentTool) -> Reader:
    """Returns the reader of a tool's arguments. A decorated function has a schema.

    :raises TypeError: no payload can hold an argument of the function
    """
    metadata = getattr(tool, "_metadata", None)
    return plain_reader() if metadata is None else reader_of_model(tool.tool_name, metadata.input_model)


class _Parsed:
    """The metadata of a decorated function whose arguments are parsed already."""

    def __init__(self, metadata: Any, objects: Objects) -> None:
        self._metadata = metadata
        self._objects = objects

    def validate_input(self, _: dict[str, Any]) -> Objects:
        return {**self._objects}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._metadata, name)


def _tool_with(tool: AgentTool, objects: Objects) -> AgentTool:
    """Returns the tool of one call, whose function gets these objects instead of a dump of them."""
    metadata = getattr(tool, "_metadata", None)
    if metadata is None:
        return tool
    made: Any = copy.copy(tool)
    made._metadata = _Parsed(metadata, objects)
    return cast("AgentTool", made)


def _refusal(tool_use: ToolUse, text: str) -> ToolResultEvent:
    return ToolResultEvent({"toolUseId": tool_use["toolUseId"], "status": "error", "content": [{"text": text}]})


def _error_of(event: Any) -> BaseException | None:
    """Returns the error of a tool that the framework turned into a result, or None."""
    result: Any = event.tool_result if isinstance(event, ToolResultEvent) else event
    raised = getattr(event, "exception", None)
    if raised is None and isinstance(result, dict) and cast("dict[str, Any]", result).get("status") == "error":
        return RuntimeError("the tool answered with an error")
    return raised
