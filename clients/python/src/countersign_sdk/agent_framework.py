"""Microsoft Agent Framework: a held call asks for an approval, and a later run continues it.

```python
agent = Agent(client, tools=[refund], middleware=[CountersignMiddleware(gate, prefix="payments.")])
result = await agent.run("Refund order 7", session=session)
requests = result.user_input_requests  # when there are any: save them, and the session
await agent.run(resume_message(requests), session=session)  # after the decision, in any process
```
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

from agent_framework import Content, FunctionInvocationContext, FunctionMiddleware, Message
from agent_framework._tools import (  # the framework's own refusal of arguments that change after a check
    _SECURITY_ARGUMENTS_SNAPSHOT_CONTEXT_KEY,
    _argument_authority_token,
)
from pydantic import BaseModel, ValidationError

from ._adapter import Governed, handle_for, still_waits, task_of
from ._function import require_equal
from ._json import JsonObject, as_object
from .aio import AsyncCountersign
from .errors import ChangesRequested, GatewayUnavailable, InvalidPayload, NotExecuted, StillPending
from .handle import Handle

_MEMBER = "countersign"


class CountersignMiddleware(FunctionMiddleware):
    """Runs a tool only if policy or reviewers allow it.

    prefix, tools: the governed tools and their names, as in `Governed`.
    task_id: the task of the conversation; the session's id by default.
    wait: seconds to wait in memory before the run asks for an approval. A cancelled wait withdraws
    its call. An agent that is another agent's tool must wait, because its session is not saved.
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
        self._governed = Governed(prefix, tools)
        self._task_id = task_id
        self._wait = wait

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        name = self._governed.name_of(context.function.name)
        if name is None:
            await call_next()
            return
        payload: JsonObject = {}

        async def run(approved: JsonObject) -> None:
            require_equal(payload_of(context), approved)
            # if a later middleware changes the arguments, the run fails
            token = _argument_authority_token(_arguments(context), boundary="approval")
            context.metadata[_SECURITY_ARGUMENTS_SNAPSHOT_CONTEXT_KEY] = token
            await call_next()

        try:
            payload = payload_of(context)
            handle = _saved(context, name)
            if handle is None:
                handle = await self._proposed(context, name, payload)
                if self._wait is None and handle["status"] == "pending_review":
                    context.result = _request(context, handle)
                    return
            await self._resumed(context, handle, run, payload)
        except NotExecuted as error:
            if isinstance(error, ChangesRequested):
                self._governed.ask_again(error, payload)
            context.result = str(error)

    async def _proposed(self, context: FunctionInvocationContext, name: str, payload: JsonObject) -> Handle:
        session = None if context.session is None else context.session.session_id
        task_id = self._task_id or task_of(session)
        return await self._governed.apropose(self._gate, name, payload, str(context.metadata["call_id"]), task_id)

    async def _resumed(
        self, context: FunctionInvocationContext, handle: Handle, run: Callable[[JsonObject], Any], payload: JsonObject
    ) -> None:
        try:
            await self._gate.resume(handle, run, payload=payload, max_wait=self._wait or 0.0)
        except (StillPending, GatewayUnavailable) as error:
            if not still_waits(error):
                raise
            context.result = _request(context, handle)


def resume_message(requests: Sequence[Content]) -> Message:
    """Returns the message that continues every held call.

    A call without a decision asks for an approval again. The message approves no call: each call
    asks the gateway. Answer the requests of other tools yourself.
    """
    ours = [one for one in requests if one.type == "function_approval_request" and _MEMBER in one.additional_properties]
    return Message(role="user", contents=[one.to_function_approval_response(approved=True) for one in ours])


def payload_of(context: FunctionInvocationContext) -> JsonObject:
    """Returns the arguments that the function receives, including defaults.

    A tool with its own schema has no defaults.

    :raises InvalidPayload: the arguments do not fit the tool
    """
    arguments, model = _arguments(context), context.function.input_model
    if model is None:
        return as_object(arguments)
    try:
        parsed = model.model_validate(arguments)
    except ValidationError as error:
        raise InvalidPayload(f"the arguments do not fit the tool: {error}") from error
    return as_object({name: getattr(parsed, name) for name in model.model_fields})


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
    call = Content.from_function_call(call_id=call_id, name=tool.name, arguments=_arguments(context), id=occurrence)
    return Content.from_function_approval_request(
        id=occurrence or call_id, function_call=call, additional_properties={_MEMBER: dict(handle)}
    )
