"""Pydantic AI: a held call ends the run with `DeferredToolRequests`, and a later run continues it.

```python
toolset = GovernedToolset(FunctionToolset([refund]), gate, prefix="payments.")
agent = Agent(model, toolsets=[toolset], output_type=[str, DeferredToolRequests])
result = await agent.run("Refund order 7")
requests = result.output  # when it is a DeferredToolRequests: save it, and result.all_messages()
await agent.run(message_history=messages, deferred_tool_results=deferred_results(requests))
```
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

from pydantic_ai import ApprovalRequired, DeferredToolRequests, DeferredToolResults, RunContext
from pydantic_ai._function_schema import FunctionSchema
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.toolsets import ToolsetTool, WrapperToolset
from pydantic_ai.toolsets.function import FunctionToolsetTool

from ._adapter import Governed, handle_for, still_waits
from ._approved import Attempt
from ._arguments import Objects, Reader, plain_reader, reader_of_function
from ._json import JsonObject
from .aio import AsyncCountersign
from .errors import ChangesRequested, GatewayUnavailable, NotExecuted, StillPending
from .handle import Handle

_MEMBER = "countersign"


@dataclass
class GovernedToolset(WrapperToolset[Any]):
    """A toolset whose tools run only if policy or reviewers allow it.

    prefix: precedes every tool name.
    task_id: the task of every conversation. Default: the framework's id of the conversation.
    wait: seconds to wait in memory before the run ends with a deferred request. A cancelled wait
    withdraws its call after two minutes. An agent inside a tool must wait, because it cannot end the outer run.
    """

    gate: AsyncCountersign
    _: KW_ONLY
    prefix: str = ""
    task_id: str | None = None
    wait: float | None = None
    governed: Governed = field(default_factory=Governed)
    readers: dict[str, tuple[Any, Reader]] = field(default_factory=dict[str, tuple[Any, Reader]])

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Returns the tools.

        :raises TypeError: no payload can hold an argument of a tool
        """
        tools = await super().get_tools(ctx)
        for tool in tools.values():
            self._reader(tool)
        return tools

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        payload: JsonObject = {}
        known_as, call_id = f"{self.prefix}{name}", str(ctx.tool_call_id)
        try:
            handle, reader, wait = _known(ctx, known_as), self._reader(tool), 0.0
            if handle is None:
                read = reader.read(call_id, _written(ctx, tool_args), tool_args)
                handle = await self.governed.apropose(self.gate, known_as, read.payload, read.nonce, self._task(ctx))
                wait = self._first_wait(handle)
            else:
                read = reader.again(handle, call_id, _written(ctx, tool_args), tool_args)
            payload = read.payload
            attempt = Attempt(functools.partial(self.gate.resume, handle, payload=payload, max_wait=wait))
            return await self._ended(handle, attempt, self._called(name, read.objects, ctx, tool, attempt))
        except NotExecuted as error:
            if isinstance(error, ChangesRequested):
                self.governed.ask_again(error, payload)
            return str(error)

    def _task(self, ctx: RunContext[Any]) -> str:
        # an older version has no conversations
        conversation = getattr(ctx, "conversation_id", None)
        self.governed.task_id = self.task_id
        return self.governed.task(self.gate, conversation, ctx.run_id)

    def _called(
        self, name: str, objects: Objects, ctx: RunContext[Any], tool: ToolsetTool[Any], attempt: Attempt
    ) -> Awaitable[Any]:
        """Calls the tool. Toolsets between may change the arguments, so its function compares them and redeems."""
        if _function_tool(tool) is not None:
            return self.wrapped.call_tool(name, {**objects}, ctx, _checked(tool, attempt))
        return attempt.arun(objects, lambda made: self.wrapped.call_tool(name, made, ctx, tool))

    def _reader(self, tool: ToolsetTool[Any]) -> Reader:
        inner = _function_tool(tool)
        schema = getattr(getattr(inner, "call_func", None), "__self__", None)
        if not isinstance(schema, FunctionSchema):
            return self.readers.setdefault("", (None, plain_reader()))[1]
        known = self.readers.get(schema.name)
        if known is None or known[0] is not schema.function:
            context = [next(iter(inspect.signature(schema.function).parameters))] if schema.takes_ctx else []
            known = (schema.function, reader_of_function(schema.function, dict, context))
            self.readers[schema.name] = known
        return known[1]

    def _first_wait(self, handle: Handle) -> float:
        """Returns the seconds to wait.

        :raises ApprovalRequired: the call is held, and `wait` is not set
        """
        if self.wait is None and handle["status"] == "pending_review":
            raise self._required(handle)
        return self.wait or 0.0

    async def _ended(self, handle: Handle, attempt: Attempt, call: Awaitable[Any]) -> Any:
        try:
            with attempt.ended():
                return await call
        except (StillPending, GatewayUnavailable) as pending:
            if not still_waits(pending):
                raise
            raise self._required(handle) from pending

    def _required(self, handle: Handle) -> ApprovalRequired:
        return ApprovalRequired(metadata={_MEMBER: handle, "console_url": self.gate.page_of(handle)})


def deferred_results(requests: DeferredToolRequests) -> DeferredToolResults:
    """Returns the results that continue a run.

    Each governed call asks the gateway when it runs. Add results for other calls yourself.
    """
    own = {call_id: given for call_id, given in requests.metadata.items() if _MEMBER in given}
    return DeferredToolResults(approvals=dict.fromkeys(own, True), metadata=own)


def _function_tool(tool: ToolsetTool[Any]) -> FunctionToolsetTool[Any] | None:
    """Returns the tool of a function, which toolsets of toolsets hide."""
    inner: Any = tool
    while hasattr(inner, "source_tool"):
        inner = inner.source_tool
    return inner if isinstance(inner, FunctionToolsetTool) else None


def _checked(tool: Any, attempt: Attempt) -> Any:
    """Returns the tool of one call, whose function redeems the proof."""
    if hasattr(tool, "source_tool"):
        return replace(tool, source_tool=_checked(tool.source_tool, attempt))
    call_func = tool.call_func

    async def call(args: dict[str, Any], ctx: RunContext[Any]) -> Any:
        return await attempt.arun(args, lambda objects: call_func(objects, ctx))

    return replace(tool, call_func=call)


def _written(ctx: RunContext[Any], parsed: dict[str, Any]) -> Any:
    """Returns the arguments of the call as the model wrote them."""
    for message in reversed(ctx.messages):
        for part in message.parts:
            if isinstance(part, ToolCallPart) and part.tool_call_id == ctx.tool_call_id:
                return part.args_as_dict()
    return parsed


def _known(ctx: RunContext[Any], tool: str) -> Handle | None:
    """Returns the handle of a deferred call, or None for a call that has to be proposed.

    A call that the program itself approved has no handle.
    """
    given = ctx.tool_call_metadata
    return handle_for(tool, given[_MEMBER]) if isinstance(given, dict) and _MEMBER in given else None
