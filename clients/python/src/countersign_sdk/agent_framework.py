"""Microsoft Agent Framework: a held call asks for an approval, and a later run continues it.

```python
agent = Agent(client, tools=[refund], middleware=[CountersignMiddleware(gate, prefix="payments.")])
result = await agent.run("Refund order 7", session=session)
requests = result.user_input_requests  # when there are any: save them, and the session
await agent.run(resume_message(requests), session=session)  # after the decision, in any process
```
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from agent_framework import Content, FunctionInvocationContext, FunctionMiddleware, FunctionTool, Message
from pydantic import BaseModel

from ._adapter import Governed, handle_for, still_waits
from ._approved import Attempt
from ._arguments import Objects
from ._function import Parameters, in_places, require_equal
from ._json import JsonObject, as_object
from ._threads import in_thread
from .aio import AsyncCountersign
from .errors import ChangesRequested, GatewayUnavailable, NotExecuted, StillPending
from .handle import Handle

_MEMBER = "countersign"


class CountersignMiddleware(FunctionMiddleware):
    """Runs a tool only if policy or reviewers allow it.

    prefix, tools: the governed tools and their names, as in `Governed`.
    task_id: the task of every conversation; the session's id by default. Without a session, each run is a
    task.
    wait: seconds to wait in memory before the run asks for an approval. A cancelled wait withdraws
    its call after two minutes. An agent that is another agent's tool must wait, because its session is not saved.
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
        self._gate = gate
        self._governed = Governed(prefix, tools, task_id)
        self._wait = wait

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        name = self._governed.name_of(context.function.name)
        self._require_known(context)
        if name is None:
            await call_next()
            return
        payload: JsonObject = {}
        try:
            given, objects = as_object(_arguments(context)), _read(context)
            payload = as_object(objects)
            handle = _saved(context, name)
            if handle is None:
                handle = await self._proposed(context, name, payload)
                if self._wait is None and handle["status"] == "pending_review":
                    context.result = _request(context, handle)
                    return
            else:
                self._governed.continues(_run_of(context), handle)
            wait = self._wait or 0.0
            attempt = Attempt(functools.partial(self._gate.resume, handle, payload=payload, max_wait=wait))
            _guard_function(context.function)
            await self._called(context, handle, _Call(given, objects, attempt), call_next)
        except NotExecuted as error:
            if isinstance(error, ChangesRequested):
                self._governed.ask_again(error, payload)
            context.result = str(error)

    async def _called(
        self, context: FunctionInvocationContext, handle: Handle, call: _Call, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        """Calls the next middleware, and at the end the function, which redeems the proof."""
        token = _running.set({**_running.get(), id(context.function): call})
        try:
            with call.attempt.ended():
                await call_next()
        except (StillPending, GatewayUnavailable) as error:
            if not still_waits(error):
                raise
            context.result = _request(context, handle)
        finally:
            _running.reset(token)

    def _require_known(self, context: FunctionInvocationContext) -> None:
        """Refuses a misspelt name before the first tool of the agent runs. The framework shows its tools only then."""
        given = getattr(context, "tools", None)
        names = {str(getattr(tool, "name", "")) for tool in given or ()}
        if names:
            self._governed.require_known({*names, context.function.name})

    async def _proposed(self, context: FunctionInvocationContext, name: str, payload: JsonObject) -> Handle:
        session = None if context.session is None else context.session.session_id
        task = self._governed.task(self._gate, session, _run_of(context))
        return await self._governed.apropose(self._gate, name, payload, str(context.metadata["call_id"]), task)


def _run_of(context: FunctionInvocationContext) -> object:
    """Returns what all calls of a run share: the list of its tools."""
    return getattr(context, "tools", None)


def resume_message(requests: Sequence[Content]) -> Message:
    """Returns the message that continues every held call.

    A call without a decision asks for an approval again. The message approves no call: each call
    asks the gateway. Answer the requests of other tools yourself.
    """
    ours = [one for one in requests if one.type == "function_approval_request" and _MEMBER in one.additional_properties]
    return Message(role="user", contents=[one.to_function_approval_response(approved=True) for one in ours])


@dataclass(frozen=True)
class _Call:
    """A call on its way to its function.

    given: what the framework made of the model's arguments, when the adapter saw it.
    objects: the arguments, with the types that the function declares.
    """

    given: JsonObject
    objects: Objects
    attempt: Attempt


# by the id of the tool, because a tool may run an agent with tools of its own
_running: ContextVar[Mapping[int, _Call]] = ContextVar("countersign_running", default=MappingProxyType({}))
_MARK = "__countersign_checked__"


def _guard_function(tool: FunctionTool) -> None:
    """Lets the function of a tool redeem the proof of its call. Calls of other agents run as before."""
    function = tool.func
    if function is None or hasattr(function, _MARK):
        return
    runs = in_thread(function)

    @functools.wraps(function)
    async def checked(*args: Any, **given: Any) -> Any:
        call = _running.get().get(id(tool))
        if call is None:
            return await runs(*args, **given)
        own = tool._context_parameter_name
        context = {own: given.pop(own)} if own is not None and own in given else {}
        try:
            require_equal(given, call.given)
        except NotExecuted as error:
            raise call.attempt.refuse(error) from error

        def run(objects: Objects) -> Awaitable[Any]:
            placed, named = in_places(function, {**objects, **context})
            return runs(*args, *placed, **named)

        return await call.attempt.arun(call.objects, run)

    setattr(checked, _MARK, True)
    tool.func = checked


def _read(context: FunctionInvocationContext) -> Objects:
    """Returns the arguments with the types that the function declares.

    The framework parsed the model's arguments, and gives a dump of the result. A tool with its own schema has no
    defaults.

    :raises TypeError: no payload can hold an argument of the function
    :raises InvalidPayload: the arguments do not fit the tool
    """
    given, tool = as_object(_arguments(context)), context.function
    function = inspect.unwrap(tool.func) if tool.func is not None else None
    if function is None or tool._schema_supplied:
        return {**given}
    own = [tool._context_parameter_name] if tool._context_parameter_name is not None else []
    parameters = Parameters(function, own)
    return parameters.payload(parameters.typed(given))


def _arguments(context: FunctionInvocationContext) -> dict[str, Any]:
    given = context.arguments
    return given.model_dump(exclude_unset=True) if isinstance(given, BaseModel) else dict(given)


def _saved(context: FunctionInvocationContext, name: str) -> Handle | None:
    """Returns the handle from the request that the program saved, or None."""
    answer = context.metadata.get("approval_response")
    saved = answer.additional_properties.get(_MEMBER) if isinstance(answer, Content) else None
    return None if saved is None else handle_for(name, saved)


def _request(context: FunctionInvocationContext, handle: Handle) -> Content:
    """Returns the `function_approval_request` that ends this run and contains the handle."""
    call_id, tool = str(context.metadata["call_id"]), context.function
    occurrence = context.metadata.get("function_call_occurrence_id")
    call = Content.from_function_call(
        call_id=call_id, name=tool.name, arguments=as_object(_arguments(context)), id=occurrence
    )
    return Content.from_function_approval_request(
        id=occurrence or call_id, function_call=call, additional_properties={_MEMBER: dict(handle)}
    )
