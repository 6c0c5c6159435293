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

import functools
import inspect
import json
from collections.abc import Callable, MutableMapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, cast, overload

from agents import FunctionTool, RunState, function_tool
from agents.function_schema import FuncSchema, function_schema
from agents.items import ToolApprovalItem
from agents.run_context import RunContextWrapper
from agents.tool_context import ToolContext
from agents.tracing import get_current_trace
from pydantic import ValidationError

from ._adapter import Governed, handle_for
from ._approved import ApprovedRun
from ._arguments import Arguments, Objects, Reader, reader_of_function
from ._flow import Approval
from ._function import Parameters
from ._json import JsonObject
from ._threads import in_thread
from ._tool import refuse_generator
from .aio import AsyncCountersign
from .errors import ArgumentsChanged, ChangesRequested, GatewayUnavailable, InvalidPayload, NotExecuted, StillPending
from .handle import Handle

_MEMBER = "countersign"
_TASK = "countersign_task"


@dataclass
class _Tool:
    """A governed tool.

    context: the parameter for the framework's context.
    runner: the framework's tool that runs the function of one call, without parsing its arguments again.
    """

    name: str
    reader: Reader
    function: Callable[..., Any]
    parameters: Parameters
    context: str | None
    runner: FunctionTool


@dataclass
class _Call:
    """The call that a runner runs, and the error of its function, which the framework may turn into a string."""

    bound: Callable[[ToolContext[Any]], Any]
    error: BaseException | None = None


_running: ContextVar[_Call] = ContextVar("countersign_running")


class _Failed(Exception):
    """The function raised an error, and the framework turned the error into a result for the model."""

    def __init__(self, told: object) -> None:
        super().__init__()
        self.told = told


class GovernedTools:
    """Tools that run only if policy or reviewers allow it.

    Give the run a dictionary as its context, because the tools save the handles of held calls there.

    prefix: precedes every tool name.
    task_id: the task of every conversation. Default: the `group_id` of the run; without one, a task that
    the tools save in the run's context.
    wait: seconds to wait in memory instead of interrupting the run.
    """

    def __init__(
        self, gate: AsyncCountersign, *, prefix: str = "", task_id: str | None = None, wait: float | None = None
    ) -> None:
        self._gate = gate
        self._governed = Governed(prefix, task_id=task_id)
        self._wait = wait
        self._tools: dict[str, _Tool] = {}
        self._handles: dict[str, Handle] = {}
        self._approvals: dict[str, Approval] = {}
        self._refusals: dict[str, NotExecuted] = {}

    @overload
    def tool(self, function: Callable[..., Any], **options: Any) -> FunctionTool: ...

    @overload
    def tool(self, **options: Any) -> Callable[[Callable[..., Any]], FunctionTool]: ...

    def tool(self, function: Callable[..., Any] | None = None, **options: Any) -> Any:
        """Returns a governed `function_tool` of the framework, or a decorator that makes one.

        options: the options of `function_tool`, except `needs_approval`.

        :raises TypeError: for a finished tool, which would parse its arguments again
        :raises TypeError: no payload can hold an argument of the function
        """
        if function is None:
            return functools.partial(self.tool, **options)
        if isinstance(function, FunctionTool):
            raise TypeError(f"{function.name} is a finished tool: write `@governed.tool` in place of `@function_tool`")
        if "needs_approval" in options:
            raise TypeError("leave needs_approval out: policy says when people decide")
        refuse_generator(function)
        shown = function_tool(function, **options)
        known = _tool_of(f"{self._governed.prefix}{shown.name}", function, options)
        self._tools[shown.name] = known

        async def needs_approval(context: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:
            return await self._is_held(known, context, arguments, call_id)

        async def invoke(context: ToolContext[Any], arguments: str) -> Any:
            return await self._invoke(known, context, arguments)

        return replace(shown, on_invoke_tool=invoke, needs_approval=False if self._wait is not None else needs_approval)

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
            given = _json(str(item.arguments))
            handle = self._handles.get(call_id) or _saved(state, call_id, known.name)
            if handle is None:
                read = known.reader.read(call_id, given)
                handle = await self._proposed(known, read, state._context)
            else:
                read = known.reader.again(handle, call_id, given)
            payload = read.payload
            self._handles[call_id] = handle
            approval = await self._gate.approval(handle, payload=payload, max_wait=max_wait)
        except (StillPending, GatewayUnavailable):
            return  # the call stays interrupted
        except ArgumentsChanged:
            raise
        except NotExecuted as error:
            self._handles.pop(call_id, None)
            self._changes(error, payload)
            state.reject(item, rejection_message=str(error))
            return
        self._approvals[call_id] = approval
        state.approve(item)

    async def _proposed(self, known: _Tool, read: Arguments, context: RunContextWrapper[Any] | None) -> Handle:
        return await self._governed.apropose(self._gate, known.name, read.payload, read.nonce, self._task(context))

    def _task(self, context: RunContextWrapper[Any] | None) -> str:
        group = getattr(get_current_trace(), "group_id", None)
        kept = None if context is None else context.context
        if not isinstance(kept, MutableMapping):
            return self._governed.task(self._gate, group, None if context is None else context.usage)
        saved = cast("MutableMapping[str, Any]", kept)
        task = self._governed.task(self._gate, group or saved.get(_TASK))
        # the next run of this context is the same conversation
        saved.setdefault(_TASK, task)
        return task

    async def _is_held(
        self, known: _Tool, context: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str
    ) -> bool:
        """Proposes the call. Returns whether the call is held; a held call interrupts the run."""
        if call_id in self._handles:
            return self._handles[call_id]["status"] == "pending_review"
        try:
            handle = await self._proposed(known, known.reader.read(call_id, arguments), context)
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
        try:
            refusal, approval = self._refusals.pop(call_id, None), self._approvals.pop(call_id, None)
            if refusal is not None:
                raise refusal
            given, handle = _json(arguments), self._handles.pop(call_id, None)
            if handle is None:
                read = known.reader.read(call_id, given)
                handle = await self._proposed(known, read, context)
            else:
                read = known.reader.again(handle, call_id, given)
            payload = read.payload
            run = ApprovedRun(read.objects, functools.partial(_run, known, context))
            if approval is not None:
                return await self._gate.run_approved(approval, run)
            return await self._gate.resume(handle, run, payload=payload, max_wait=self._wait or 0.0)
        except NotExecuted as error:
            self._changes(error, payload)
            return str(error)
        except _Failed as failed:
            return failed.told

    def _changes(self, error: NotExecuted, payload: JsonObject) -> None:
        if isinstance(error, ChangesRequested):
            self._governed.ask_again(error, payload)


_OF_THE_SCHEMA = ("description_override", "docstring_style", "use_docstring_info", "strict_mode")


def _tool_of(name: str, function: Callable[..., Any], options: dict[str, Any]) -> _Tool:
    schema = function_schema(function, strict_json_schema=options.get("strict_mode", True))
    context = next(iter(inspect.signature(function).parameters)) if schema.takes_context else None
    left_out = () if context is None else (context,)
    parameters = Parameters(function, left_out)

    async def run(context: ToolContext[Any]) -> Any:
        call = _running.get()
        try:
            return await call.bound(context)
        except BaseException as error:
            call.error = error
            raise

    run.__annotations__["return"] = inspect.signature(function).return_annotation
    kept = {one: value for one, value in options.items() if one not in _OF_THE_SCHEMA}
    runner = function_tool(run, **{"name_override": schema.name, **kept})
    reader = reader_of_function(function, functools.partial(_parsed, schema, parameters), left_out)
    return _Tool(name, reader, function, parameters, context, runner)


def _parsed(schema: FuncSchema, parameters: Parameters, given: Any) -> Objects:
    """Returns what the framework makes of the model's arguments."""
    try:
        parsed = schema.params_pydantic_model.model_validate_json(json.dumps(given))
    except ValidationError as error:
        raise InvalidPayload(f"the arguments do not fit the tool: {error}") from error
    args, more = schema.to_call_args(parsed)
    context = (None,) if schema.takes_context else ()
    return parameters.payload(parameters.bind((*context, *args), more))


async def _run(known: _Tool, context: ToolContext[Any], objects: Objects) -> Any:
    """Runs the function as the framework does, with its limits and its texts for errors."""

    async def bound(context: ToolContext[Any]) -> Any:
        own = {} if known.context is None else {known.context: context}
        made = known.parameters.bound_to({**objects, **own})
        runs = in_thread(known.function)
        return await runs(*made.args, **made.kwargs)

    call = _Call(bound)
    token = _running.set(call)
    try:
        told = await known.runner.on_invoke_tool(context, "{}")
    finally:
        _running.reset(token)
    if call.error is not None:
        raise _Failed(told) from call.error
    return told


def _json(arguments: str) -> Any:
    """Returns what the model wrote.

    :raises InvalidPayload: it is no JSON
    """
    try:
        return json.loads(arguments or "{}")
    except ValueError as error:
        raise InvalidPayload(f"the arguments are no JSON: {error}") from error


def _saved(state: RunState[Any, Any], call_id: str, tool: str) -> Handle | None:
    context = state.to_json().get("context", {}).get("context")
    kept = context.get(_MEMBER, {}) if isinstance(context, dict) else {}
    handle = cast("dict[str, Any]", kept).get(call_id)
    return None if handle is None else handle_for(tool, handle)
