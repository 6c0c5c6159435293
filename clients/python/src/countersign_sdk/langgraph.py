"""LangChain agents and LangGraph: a held call pauses the graph through `interrupt`.

```python
agent = create_agent(model, tools, middleware=[CountersignMiddleware(gate)], checkpointer=checkpointer)
agent.invoke({"messages": [...]}, config)
agent.invoke(resume_command(agent, config), config)  # after the decision, in any process
```
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Annotated, Any, TypeAlias, cast

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import AgentState, ModelRequest, ToolCallRequest
from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.types import Command, interrupt
from pydantic import BaseModel, ValidationError
from typing_extensions import NotRequired

from ._adapter import Governed, handle_for, still_waits, task_of
from ._call import Options
from ._function import require_equal
from ._json import JsonObject, as_object
from .aio import AsyncCountersign
from .client import Countersign
from .errors import ChangesRequested, GatewayUnavailable, InvalidPayload, NotExecuted, StillPending
from .handle import Handle

Result: TypeAlias = "ToolMessage | Command[Any]"
Proposals: TypeAlias = "dict[str, Any]"


def _merged(old: Proposals | None, new: Proposals | None) -> Proposals:
    return {**(old or {}), **(new or {})}


class CountersignState(AgentState[Any]):
    """The state of the graph, with the handle or refusal of each proposed call. Checkpoints keep it."""

    countersign: NotRequired[Annotated[Proposals, _merged]]


class CountersignMiddleware(AgentMiddleware[Any, Any, Any]):
    """Runs a tool only if policy or reviewers allow it.

    Put it last, so that no other middleware changes a call after it. A pause needs a
    checkpointer. The `thread_id` of the conversation is the task.

    gate: a `Countersign` for `invoke` and `stream`, or an `AsyncCountersign` for `ainvoke` and
    `astream`.
    prefix, tools: the governed tools and their names, as in `Governed`.
    wait: seconds to wait in memory before the graph pauses.
    """

    state_schema = CountersignState

    def __init__(
        self,
        gate: Countersign | AsyncCountersign,
        *,
        prefix: str = "",
        tools: Collection[str] | None = None,
        wait: float | None = None,
    ) -> None:
        super().__init__()
        self._gate = gate
        self._governed = Governed(prefix, tools)
        self._wait = wait
        self._tools: dict[str, BaseTool] = {}

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        self._learn(request)
        return handler(request)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        self._learn(request)
        return await handler(request)

    def _learn(self, request: ModelRequest[Any]) -> None:
        self._tools.update({tool.name: tool for tool in request.tools if isinstance(tool, BaseTool)})

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Proposes the calls of the model, and saves their handles in the checkpoint."""
        made: Proposals = {}
        for call, name, tool in self._calls(state):
            try:
                payload = payload_of(call, tool)
                made[str(call["id"])] = self._governed.propose(self._sync(), name, payload, str(call["id"]), _task())
            except NotExecuted as error:
                made[str(call["id"])] = {"refused": str(error), "code": error.code}
        return {"countersign": made} if made else None

    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        made: Proposals = {}
        for call, name, tool in self._calls(state):
            try:
                payload, call_id = payload_of(call, tool), str(call["id"])
                made[call_id] = await self._governed.apropose(self._async(), name, payload, call_id, _task())
            except NotExecuted as error:
                made[str(call["id"])] = {"refused": str(error), "code": error.code}
        return {"countersign": made} if made else None

    def _calls(self, state: Any) -> list[tuple[ToolCall, str, BaseTool]]:
        """Returns the governed calls of the last message that are not proposed yet."""
        message, known = state["messages"][-1], state.get("countersign") or {}
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        named = [(call, self._governed.name_of(call["name"]), self._tools.get(call["name"])) for call in calls]
        return [
            (call, name, tool)
            for call, name, tool in named
            if name is not None and tool is not None and call["id"] not in known
        ]

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Result]) -> Result:
        call, name = request.tool_call, self._governed.name_of(request.tool_call["name"])
        if name is None:
            return handler(request)
        payload: JsonObject = {}
        try:
            payload = payload_of(call, request.tool)
            proposed = _proposed(request, name)
            if proposed is not None and "refused" in proposed:
                return _message(call, proposed["refused"], proposed["code"])
            handle = proposed or self._sync().propose(name, payload, **_named(call))
            wait = self._first_wait(handle)
            while True:
                try:
                    return self._sync().resume(
                        handle, lambda approved: handler(_equal(request, approved)), payload=payload, max_wait=wait
                    )
                except (StillPending, GatewayUnavailable) as error:
                    if not still_waits(error):
                        raise
                    wait = self._pause(handle)
        except NotExecuted as error:
            return self._told(call, error, payload)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]
    ) -> Result:
        call, name = request.tool_call, self._governed.name_of(request.tool_call["name"])
        if name is None:
            return await handler(request)
        payload: JsonObject = {}
        try:
            payload = payload_of(call, request.tool)
            proposed = _proposed(request, name)
            if proposed is not None and "refused" in proposed:
                return _message(call, proposed["refused"], proposed["code"])
            handle = proposed or await self._async().propose(name, payload, **_named(call))
            wait = self._first_wait(handle)
            while True:
                try:
                    return await self._async().resume(
                        handle, lambda approved: handler(_equal(request, approved)), payload=payload, max_wait=wait
                    )
                except (StillPending, GatewayUnavailable) as error:
                    if not still_waits(error):
                        raise
                    wait = self._pause(handle)
        except NotExecuted as error:
            return self._told(call, error, payload)

    def _first_wait(self, handle: Handle) -> float:
        """Returns the seconds to wait. Without `wait`, a held call pauses the graph immediately."""
        if self._wait is None and handle["status"] == "pending_review":
            return self._pause(handle)
        return self._wait or 0.0

    def _pause(self, handle: Handle) -> float:
        """Ends this run of the graph. After a resume, returns 0, so that the next poll does not wait."""
        page = self._gate.page_of(handle)
        interrupt({"countersign": handle, "tool": handle["tool_name"], "console_url": page})
        return 0.0

    def _told(self, call: ToolCall, error: NotExecuted, payload: JsonObject) -> ToolMessage:
        if isinstance(error, ChangesRequested):
            self._governed.ask_again(error, payload)
        return _message(call, str(error), error.code)

    def _sync(self) -> Countersign:
        if not isinstance(self._gate, Countersign):
            raise TypeError("invoke and stream need a Countersign: an AsyncCountersign is for ainvoke and astream")
        return self._gate

    def _async(self) -> AsyncCountersign:
        if not isinstance(self._gate, AsyncCountersign):
            raise TypeError("ainvoke and astream need an AsyncCountersign: a Countersign is for invoke and stream")
        return self._gate


def resume_command(agent: Any, config: Any) -> Command[Any]:
    """Returns the command that continues every held call.

    A call without a decision pauses the graph again.
    """
    waiting = agent.get_state(config, subgraphs=True).interrupts
    ours = [one for one in waiting if isinstance(one.value, Mapping) and "countersign" in one.value]
    return Command(resume={one.id: True for one in ours})


def payload_of(call: ToolCall, tool: BaseTool | None) -> JsonObject:
    """Returns the arguments that the tool will receive.

    The tool's schema parses them and adds defaults. Injected arguments are left out.

    :raises InvalidPayload: the arguments do not fit the schema
    """
    schema = None if tool is None else tool.tool_call_schema
    if not isinstance(schema, type) or not issubclass(schema, BaseModel):
        return as_object(call["args"])
    try:
        parsed = schema.model_validate(call["args"])
    except ValidationError as error:
        raise InvalidPayload(f"the arguments do not fit the tool: {error}") from error
    return as_object({name: getattr(parsed, name) for name in schema.model_fields})


def _proposed(request: ToolCallRequest, tool: str) -> Any:
    state = request.state if isinstance(request.state, Mapping) else {}
    proposed = (cast("Mapping[str, Any]", state).get("countersign") or {}).get(request.tool_call["id"])
    return proposed if proposed is None or "refused" in proposed else handle_for(tool, proposed)


def _equal(request: ToolCallRequest, approved: JsonObject) -> ToolCallRequest:
    require_equal(payload_of(request.tool_call, request.tool), approved)
    return request


def _task() -> str | None:
    return task_of(get_config().get("configurable", {}).get("thread_id"))


def _named(call: ToolCall) -> Options:
    """Returns the options of a call without a saved handle. After a pause, its id finds the same thread again.

    Such a call opens its own thread: a revision would not be found by the id.
    """
    task = _task()
    return {"call_id": str(call["id"])} if task is None else {"call_id": str(call["id"]), "task_id": task}


def _message(call: ToolCall, text: str, code: str) -> ToolMessage:
    artifact = {"countersign": {"code": code}}
    return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error", artifact=artifact)
