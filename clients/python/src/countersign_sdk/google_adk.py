"""Google ADK: a held call asks for a confirmation, and a later run answers it from the session.

```python
governed = GovernedTools(gate, prefix="payments.")
agent = LlmAgent(name="clerk", model=..., tools=[governed.tool(refund)])
async for event in runner.run_async(user_id=user, session_id=session, new_message=message): ...
answer = await governed.answer(session)  # in any process; None without a decision
async for event in runner.run_async(user_id=user, session_id=session, new_message=answer): ...
```
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any, cast

from google.adk.sessions import Session
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from pydantic import TypeAdapter, ValidationError

from ._adapter import Governed, handle_for
from ._approved import ApprovedRun
from ._arguments import Arguments, Objects, plain_reader, reader_of_function
from ._flow import Approval
from ._function import Parameters
from ._json import JsonObject
from .aio import AsyncCountersign
from .errors import ChangesRequested, GatewayUnavailable, InvalidPayload, NotExecuted, StillPending
from .handle import Handle

_MEMBER = "countersign"
_CONFIRMATION = "adk_request_confirmation"
# arguments that the framework adds by name
_OWN = ("tool_context", "input_stream")


class GovernedTools:
    """Tools that run only if policy or reviewers allow it.

    prefix: precedes every tool name.
    task_id: the task of every conversation; the session's id by default.
    wait: seconds to wait in memory instead of asking for a confirmation. A cancelled wait withdraws
    its call after two minutes. An agent inside an `AgentTool` must wait, because its session is not saved.
    """

    def __init__(
        self, gate: AsyncCountersign, *, prefix: str = "", task_id: str | None = None, wait: float | None = None
    ) -> None:
        self.gate = gate
        self.governed = Governed(prefix, task_id=task_id)
        self.wait = wait
        self.approvals: dict[str, tuple[Handle, Approval]] = {}
        self._tools: dict[str, _GovernedTool] = {}

    def tool(self, tool: Callable[..., Any] | BaseTool) -> BaseTool:
        """Returns a governed tool for a function or for another tool, such as a tool of an MCP server.

        A tool must not run at the provider, yield results or ask for a confirmation itself.

        :raises TypeError: for such a tool, or for an argument that no payload can hold
        """
        made = _GovernedTool(tool, self)
        self._tools[made.name] = made
        return made

    async def answer(self, session: Session, max_wait: float = 0.0) -> types.Content | None:
        """Returns the message that continues a session with new decisions, or None if there are no new decisions.

        Run the agent immediately afterwards, in this process. Each call redeems its proof right before it runs.

        max_wait: seconds to wait for each decision.
        """
        parts: list[types.Part] = []
        for call, original, saved in _waiting(session):
            known = self._tools.get(str(original.name))
            if known is None:
                continue
            payload: JsonObject = {}
            try:
                handle = handle_for(f"{self.governed.prefix}{known.name}", saved)
                # `run_async` compares the arguments, which callbacks of the agent may have changed in between
                payload = handle.get("payload") or known.read(original.args or {}, str(original.id), handle).payload
                approval = await self.gate.approval(handle, payload=payload, max_wait=max_wait)
            except (StillPending, GatewayUnavailable):
                continue  # the confirmation stays open
            except NotExecuted as error:
                self.refused(error, payload)
                parts.append(_confirmation(call, {"confirmed": False, "payload": {_MEMBER: str(error)}}))
                continue
            self.approvals[str(original.id)] = (handle, approval)
            parts.append(_confirmation(call, {"confirmed": True}))
        return types.Content(role="user", parts=parts) if parts else None

    def task_of(self, context: ToolContext) -> str:
        return self.governed.task(self.gate, context.session.id)

    def refused(self, error: NotExecuted, payload: object) -> str:
        if isinstance(error, ChangesRequested):
            self.governed.ask_again(error, payload)
        return str(error)


class _GovernedTool(BaseTool):
    """A governed tool. The framework calls `run_async` again after an answered confirmation."""

    def __init__(self, tool: Callable[..., Any] | BaseTool, own: GovernedTools) -> None:
        inner = tool if isinstance(tool, BaseTool) else FunctionTool(_supported(tool))
        if inner._get_declaration() is None:
            raise TypeError(f"{inner.name} runs at the provider: the gateway cannot decide about it")
        if getattr(inner, "_require_confirmation", False):
            raise TypeError(f"leave require_confirmation of {inner.name} out: policy says when people decide")
        super().__init__(name=inner.name, description=inner.description, custom_metadata=inner.custom_metadata)
        self._inner = inner
        self._own = own
        self._function = None if isinstance(tool, BaseTool) else _Function(tool)
        self._reader = plain_reader() if self._function is None else self._function.reader

    def _get_declaration(self) -> types.FunctionDeclaration | None:
        return self._inner._get_declaration()

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        own, call_id, answer = self._own, str(tool_context.function_call_id), tool_context.tool_confirmation
        handle, approval = own.approvals.pop(call_id, (None, None))
        payload: JsonObject = {}
        try:
            if approval is None and answer is not None and not answer.confirmed:
                return {"error": _reason(answer.payload)}
            read = self.read(args, call_id, handle)
            payload = read.payload
            run = ApprovedRun(read.objects, functools.partial(self._run, tool_context))
            if approval is not None:
                return await own.gate.run_approved(approval, run)
            name, task = f"{own.governed.prefix}{self.name}", own.task_of(tool_context)
            handle = await own.governed.apropose(own.gate, name, payload, read.nonce, task)
            if own.wait is None and answer is None and handle["status"] == "pending_review":
                return _pause(tool_context, handle)
            return await own.gate.resume(handle, run, payload=payload, max_wait=own.wait or 0.0)
        except NotExecuted as error:
            return {"error": own.refused(error, payload)}

    def read(self, args: Mapping[str, Any], call_id: str, handle: Handle | None) -> Arguments:
        """Returns the arguments of a call: those of the handle, or new ones.

        :raises InvalidPayload: the arguments do not fit the function
        :raises ArgumentsChanged: they are not the arguments of the handle
        """
        return self._reader.read(call_id, args) if handle is None else self._reader.again(handle, call_id, args)

    def _run(self, context: ToolContext, objects: Objects) -> Any:
        if self._function is None:
            return self._inner.run_async(args=objects, tool_context=context)
        return self._function.call(context, objects)


class _Function:
    """A function with the parameters that the model provides, and those that the framework adds."""

    def __init__(self, function: Callable[..., Any]) -> None:
        hints = typing.get_type_hints(function, include_extras=True)
        given = inspect.signature(function).parameters
        self._call = function
        self._context = [name for name in given if name in _OWN or hints.get(name) is ToolContext]
        self._parameters = Parameters(function, self._context)
        self._types = {name: TypeAdapter(hints.get(name, Any)) for name in given if name not in self._context}
        self.reader = reader_of_function(function, self._parsed, self._context)

    def call(self, context: ToolContext, objects: Objects) -> Any:
        made = self._parameters.bound_to({**objects, **dict.fromkeys(self._context, context)})
        return self._call(*made.args, **made.kwargs)

    def _parsed(self, given: Any) -> Objects:
        made: Objects = {}
        for name, parameter in self._parameters.signature.parameters.items():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                more = {one: value for one, value in given.items() if one not in self._parameters.signature.parameters}
                made |= {one: self._value(name, value) for one, value in more.items()}
            elif name in given and name not in self._context:
                made[name] = self._value(name, given[name])
            elif parameter.default is not inspect.Parameter.empty and name not in self._context:
                made[name] = parameter.default
            elif name not in self._context:
                raise InvalidPayload(f"the arguments do not fit the tool: `{name}` is missing", places=[f"/{name}"])
        return made

    def _value(self, name: str, value: Any) -> Any:
        try:
            return self._types[name].validate_python(value)
        except ValidationError as error:
            place = f"the arguments do not fit the tool: `{name}`"
            raise InvalidPayload(f"{place}: {error}", places=[f"/{name}"]) from error


def _supported(function: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError("a function that yields its results cannot be governed: return them")
    return function


def _pause(context: ToolContext, handle: Handle) -> dict[str, str]:
    """Ends this run with a confirmation that contains the handle. The session saves the confirmation."""
    context.request_confirmation(hint=f"{handle['tool_name']} waits for its reviewers", payload={_MEMBER: handle})
    # otherwise the framework passes this result to the model immediately
    context.actions.skip_summarization = True
    return {"status": "this call waits for review"}


def _waiting(session: Session) -> list[tuple[types.FunctionCall, types.FunctionCall, Any]]:
    """Returns the open confirmations of governed calls, each with its call and saved handle."""
    calls = [call for event in session.events for call in event.get_function_calls() if call.name == _CONFIRMATION]
    answers = {one.id for event in session.events for one in event.get_function_responses()}
    found: list[tuple[types.FunctionCall, types.FunctionCall, Any]] = []
    for call in calls:
        given = call.args or {}
        kept = (given.get("toolConfirmation") or {}).get("payload")
        if call.id not in answers and isinstance(kept, Mapping) and _MEMBER in kept:
            original = types.FunctionCall.model_validate(given["originalFunctionCall"])
            found.append((call, original, cast("Mapping[str, Any]", kept)[_MEMBER]))
    return found


def _confirmation(call: types.FunctionCall, answer: dict[str, Any]) -> types.Part:
    return types.Part(function_response=types.FunctionResponse(id=call.id, name=_CONFIRMATION, response=answer))


def _reason(payload: object) -> str:
    given = cast("Mapping[str, Any]", payload).get(_MEMBER) if isinstance(payload, Mapping) else None
    return given if isinstance(given, str) else "Not executed: the confirmation was declined."
