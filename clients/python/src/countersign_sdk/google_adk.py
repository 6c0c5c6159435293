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

from ._adapter import Governed, handle_for, task_of
from ._approved import checked, running
from ._call import Permit
from ._function import require_equal
from ._json import JsonObject, as_object
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
    task_id: the task of the conversation; the session's id by default.
    wait: seconds to wait in memory instead of asking for a confirmation. A cancelled wait withdraws
    its call. An agent inside an `AgentTool` must wait, because its session is not saved.
    """

    def __init__(
        self, gate: AsyncCountersign, *, prefix: str = "", task_id: str | None = None, wait: float | None = None
    ) -> None:
        self.gate = gate
        self.governed = Governed(prefix)
        self.wait = wait
        self.permits: dict[str, Permit] = {}
        self._task_id = task_id
        self._tools: dict[str, _GovernedTool] = {}

    def tool(self, tool: Callable[..., Any] | BaseTool) -> BaseTool:
        """Returns a governed tool for a function or for another tool, such as a tool of an MCP server.

        :raises TypeError: for a tool that runs at the provider, yields results or asks for a
            confirmation itself
        """
        made = _GovernedTool(tool, self)
        self._tools[made.name] = made
        return made

    async def answer(self, session: Session, max_wait: float = 0.0) -> types.Content | None:
        """Returns the message that continues a session with new decisions, or None if there are no new decisions.

        Redeems the proofs. Therefore run the agent immediately afterwards, in this process.

        max_wait: seconds to wait for each decision.
        """
        parts: list[types.Part] = []
        for call, original, saved in _waiting(session):
            known = self._tools.get(str(original.name))
            if known is None:
                continue
            payload: JsonObject = {}
            try:
                payload = known.payload_of(original.args or {})
                handle = handle_for(f"{self.governed.prefix}{known.name}", saved)
                permit = await self.gate.permit_handle(handle, payload=payload, max_wait=max_wait)
            except (StillPending, GatewayUnavailable):
                continue  # the confirmation stays open
            except NotExecuted as error:
                self.refused(error, payload)
                parts.append(_confirmation(call, {"confirmed": False, "payload": {_MEMBER: str(error)}}))
                continue
            self.permits[str(original.id)] = permit
            parts.append(_confirmation(call, {"confirmed": True}))
        return types.Content(role="user", parts=parts) if parts else None

    def task_of(self, context: ToolContext) -> str | None:
        return self._task_id or task_of(context.session.id)

    def refused(self, error: NotExecuted, payload: object) -> str:
        if isinstance(error, ChangesRequested):
            self.governed.ask_again(error, payload)
        return str(error)


class _GovernedTool(BaseTool):
    """A governed tool. The framework calls `run_async` again after an answered confirmation."""

    def __init__(self, tool: Callable[..., Any] | BaseTool, own: GovernedTools) -> None:
        inner = tool if isinstance(tool, BaseTool) else FunctionTool(checked(_supported(tool), ToolContext))
        if inner._get_declaration() is None:
            raise TypeError(f"{inner.name} runs at the provider: the gateway cannot decide about it")
        if getattr(inner, "_require_confirmation", False):
            raise TypeError(f"leave require_confirmation of {inner.name} out: policy says when people decide")
        super().__init__(name=inner.name, description=inner.description, custom_metadata=inner.custom_metadata)
        self._inner = inner
        self._own = own
        self._parameters = {} if isinstance(tool, BaseTool) else _parameters(tool)
        self._is_function = not isinstance(tool, BaseTool)

    def _get_declaration(self) -> types.FunctionDeclaration | None:
        return self._inner._get_declaration()

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        own, call_id, answer = self._own, str(tool_context.function_call_id), tool_context.tool_confirmation
        permit = own.permits.pop(call_id, None)
        try:
            payload = self.payload_of(args)
        except InvalidPayload as error:
            if permit is not None:
                await own.gate.report(permit, error)
            return {"error": str(error)}
        try:
            if permit is not None:
                return await self._permitted(permit, payload, tool_context)
            if answer is not None and not answer.confirmed:
                return {"error": _reason(answer.payload)}
            handle = await own.governed.apropose(
                own.gate, f"{own.governed.prefix}{self.name}", payload, call_id, own.task_of(tool_context)
            )
            if own.wait is None and answer is None and handle["status"] == "pending_review":
                return _pause(tool_context, handle)

            async def run(approved: JsonObject) -> Any:
                return await self._run(approved, tool_context)

            return await own.gate.resume(handle, run, payload=payload, max_wait=own.wait or 0.0)
        except NotExecuted as error:
            return {"error": own.refused(error, payload)}

    async def _permitted(self, permit: Permit, payload: JsonObject, context: ToolContext) -> Any:
        try:
            require_equal(payload, permit.payload)
        except NotExecuted as changed:
            await self._own.gate.report(permit, changed)
            raise
        try:
            result = await self._run(permit.payload, context)
        except BaseException as error:
            ran = RuntimeError(f"{self.name} ran, and failed: {error}") if isinstance(error, NotExecuted) else error
            await self._own.gate.report(permit, ran)
            raise ran from error
        await self._own.gate.report(permit)
        return result

    async def _run(self, approved: JsonObject, context: ToolContext) -> Any:
        if not self._is_function:
            return await self._inner.run_async(args=cast("dict[str, Any]", approved), tool_context=context)
        with running(approved):
            return await self._inner.run_async(args=cast("dict[str, Any]", approved), tool_context=context)

    def payload_of(self, args: Mapping[str, Any]) -> JsonObject:
        """Returns the arguments that the function receives, including defaults.

        A tool of another kind receives the model's arguments unchanged.

        :raises InvalidPayload: the arguments do not fit the function
        """
        if not self._is_function:
            return as_object(args)
        found: dict[str, Any] = {}
        for name, (kind, default) in self._parameters.items():
            if name in args:
                found[name] = _parsed(name, kind, args[name])
            elif default is not inspect.Parameter.empty:
                found[name] = default
            else:
                raise InvalidPayload(f"the arguments do not fit the tool: `{name}` is missing", places=[f"/{name}"])
        return as_object(found)


def _supported(function: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError("a function that yields its results cannot be governed: return them")
    return function


def _parameters(function: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """Returns the type and the default of each argument that the model provides."""
    hints = typing.get_type_hints(function, include_extras=True)
    given = inspect.signature(function).parameters
    kinds = {name: (hints.get(name, Any), one.default) for name, one in given.items() if name not in _OWN}
    return {name: kind for name, kind in kinds.items() if kind[0] is not ToolContext}


def _parsed(name: str, kind: Any, value: Any) -> Any:
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise InvalidPayload(f"the arguments do not fit the tool: `{name}`: {error}", places=[f"/{name}"]) from error


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
