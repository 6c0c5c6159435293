"""OpenAI Agents: a held call interrupts the run, and the saved `RunState` continues it.

```python
governed = GovernedTools(gate, prefix="payments.")
agent = Agent(name="clerk", tools=[governed.tool(refund)])
result = await Runner.run(agent, "Refund order 7", context={})
state = result.to_state()  # when result.interruptions: save state.to_json()
await governed.settle(state)  # after the decision, in any process
result = await Runner.run(agent, state)
```
"""

from __future__ import annotations

import json
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, replace
from typing import Any, cast

from agents import FunctionTool, RunState, function_tool
from agents.function_schema import FuncSchema, function_schema
from agents.items import ToolApprovalItem
from agents.run_context import RunContextWrapper
from agents.tool_context import ToolContext
from pydantic import ValidationError

from ._adapter import Governed, handle_for
from ._approved import checked, running
from ._call import Permit
from ._function import require_equal
from ._json import JsonObject, as_object
from .aio import AsyncCountersign
from .errors import ArgumentsChanged, ChangesRequested, GatewayUnavailable, InvalidPayload, NotExecuted, StillPending
from .handle import Handle

_MEMBER = "countersign"


class _Failed(Exception):
    """The function raised an error, and the framework turned the error into a result for the model."""

    def __init__(self, told: object) -> None:
        super().__init__()
        self.told = told


@dataclass
class _Tool:
    name: str
    schema: FuncSchema
    inner: FunctionTool


class GovernedTools:
    """Tools that run only if policy or reviewers allow it.

    Give the run a dictionary as its context, because the tools save the handles of held calls there.

    prefix: precedes every tool name.
    task_id: the task of the conversation, instead of the client's.
    wait: seconds to wait in memory instead of interrupting the run.
    """

    def __init__(
        self, gate: AsyncCountersign, *, prefix: str = "", task_id: str | None = None, wait: float | None = None
    ) -> None:
        self._gate = gate
        self._governed = Governed(prefix)
        self._task_id = task_id
        self._wait = wait
        self._tools: dict[str, _Tool] = {}
        self._handles: dict[str, Handle] = {}
        self._permits: dict[str, Permit] = {}
        self._refusals: dict[str, NotExecuted] = {}

    def tool(self, function: Callable[..., Any], **options: Any) -> FunctionTool:
        """Returns a governed `function_tool` of the framework.

        options: the options of `function_tool`, except `needs_approval`.

        :raises TypeError: for a finished tool, which would parse its arguments again
        """
        if isinstance(function, FunctionTool):
            raise TypeError(f"{function.name} is a finished tool: write `@governed.tool` in place of `@function_tool`")
        inner = function_tool(checked(function, RunContextWrapper), **options)
        name = f"{self._governed.prefix}{inner.name}"
        known = _Tool(name, function_schema(function), inner)
        self._tools[inner.name] = known

        async def needs_approval(context: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:
            return await self._is_held(known, context, arguments, call_id)

        async def invoke(context: ToolContext[Any], arguments: str) -> Any:
            return await self._invoke(known, context, arguments)

        return replace(inner, on_invoke_tool=invoke, needs_approval=False if self._wait is not None else needs_approval)

    async def settle(self, state: RunState[Any, Any], max_wait: float = 0.0) -> None:
        """Applies decisions to an interrupted run. A call without a decision stays interrupted.

        max_wait: seconds to wait for each decision.

        :raises ArgumentsChanged: the saved arguments differ from the proposed ones
        """
        for item in state.get_interruptions():
            known = self._tools.get(item.tool_name or "")
            if known is not None:
                await self._settle(state, item, known, max_wait)

    async def _settle(self, state: RunState[Any, Any], item: ToolApprovalItem, known: _Tool, max_wait: float) -> None:
        call_id, payload = str(item.call_id), cast("JsonObject", {})
        try:
            payload = _payload(known, str(item.arguments))
            handle = self._handles.get(call_id) or _saved(state, call_id, known.name)
            if handle is None:
                handle = await self._governed.apropose(self._gate, known.name, payload, call_id, self._task_id)
            self._handles[call_id] = handle
            permit = await self._gate.permit_handle(handle, payload=payload, max_wait=max_wait)
        except (StillPending, GatewayUnavailable):
            return  # the call stays interrupted
        except ArgumentsChanged:
            raise
        except NotExecuted as error:
            self._handles.pop(call_id, None)
            self._changes(error, payload)
            state.reject(item, rejection_message=str(error))
            return
        del self._handles[call_id]
        self._permits[call_id] = permit
        state.approve(item)

    async def _is_held(
        self, known: _Tool, context: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str
    ) -> bool:
        """Proposes the call. Returns whether the call is held; a held call interrupts the run."""
        if call_id in self._handles:
            return self._handles[call_id]["status"] == "pending_review"
        try:
            payload = _payload(known, json.dumps(arguments))
            handle = await self._governed.apropose(self._gate, known.name, payload, call_id, self._task_id)
        except NotExecuted as error:
            self._refusals[call_id] = error
            return False
        self._handles[call_id] = handle
        if isinstance(context.context, MutableMapping):
            kept = cast("MutableMapping[str, Any]", context.context)
            kept[_MEMBER] = {**kept.get(_MEMBER, {}), call_id: handle}
        return handle["status"] == "pending_review"

    async def _invoke(self, known: _Tool, context: ToolContext[Any], arguments: str) -> Any:
        call_id, payload = context.tool_call_id, cast("JsonObject", {})

        async def run(approved: JsonObject) -> Any:
            return await _run(known, context, arguments, approved)

        try:
            payload = _payload(known, arguments)
            refusal, permit = self._refusals.pop(call_id, None), self._permits.pop(call_id, None)
            if refusal is not None:
                raise refusal
            if permit is not None:
                return await self._permitted(permit, payload, run)
            handle = self._handles.pop(call_id, None)
            if handle is None:
                handle = await self._governed.apropose(self._gate, known.name, payload, call_id, self._task_id)
            return await self._gate.resume(handle, run, payload=payload, max_wait=self._wait or 0.0)
        except NotExecuted as error:
            self._changes(error, payload)
            return str(error)
        except _Failed as failed:
            return failed.told

    async def _permitted(self, permit: Permit, payload: JsonObject, run: Callable[[JsonObject], Any]) -> Any:
        try:
            require_equal(payload, permit.payload)
            result = await run(permit.payload)
        except BaseException as error:
            await self._gate.report(permit, error)
            raise
        await self._gate.report(permit)
        return result

    def _changes(self, error: NotExecuted, payload: JsonObject) -> None:
        if isinstance(error, ChangesRequested):
            self._governed.ask_again(error, payload)


async def _run(known: _Tool, context: ToolContext[Any], arguments: str, approved: JsonObject) -> Any:
    with running(approved) as run:
        told = await known.inner.on_invoke_tool(context, arguments)
    if isinstance(run.error, ArgumentsChanged):
        raise _Failed(str(run.error)) from run.error
    if run.error is not None:
        raise _Failed(told) from run.error
    return told


def _payload(known: _Tool, arguments: str) -> JsonObject:
    """Returns the arguments that the function will receive, including defaults.

    :raises InvalidPayload: the arguments do not fit the tool
    """
    try:
        parsed = known.schema.params_pydantic_model.model_validate_json(arguments or "{}")
    except ValidationError as error:
        raise InvalidPayload(f"the arguments do not fit the tool: {error}") from error
    return as_object({name: getattr(parsed, name) for name in type(parsed).model_fields})


def _saved(state: RunState[Any, Any], call_id: str, tool: str) -> Handle | None:
    context = state.to_json().get("context", {}).get("context")
    kept = context.get(_MEMBER, {}) if isinstance(context, dict) else {}
    handle = cast("dict[str, Any]", kept).get(call_id)
    return None if handle is None else handle_for(tool, handle)
