"""LangChain agents and LangGraph: a held call pauses the graph through `interrupt`.

```python
agent = create_agent(model, tools, middleware=[CountersignMiddleware(gate)], checkpointer=checkpointer)
agent.invoke({"messages": [...]}, config)
agent.invoke(resume_command(agent, config), config)  # after the decision, in any process
```
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Annotated, Any, TypeAlias, cast, get_args

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import AgentState, ModelRequest, ToolCallRequest
from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolCallId
from langchain_core.tools.base import get_all_basemodel_annotations
from langgraph.config import get_config
from langgraph.graph import END
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel, PrivateAttr, create_model
from typing_extensions import NotRequired

from ._adapter import Governed, handle_for, still_waits
from ._approved import Attempt
from ._arguments import Arguments, Reader, plain_reader, reader_of_model
from ._call import Options
from ._function import require_equal
from ._json import JsonObject, as_object
from .aio import AsyncCountersign
from .client import Countersign
from .errors import ChangesRequested, GatewayUnavailable, NotExecuted, StillPending
from .handle import Handle

Result: TypeAlias = "ToolMessage | Command[Any]"
Proposals: TypeAlias = "dict[str, Any]"


# the member of the channel that holds the task of a run without a conversation; no call has this id
_TASK = ""


def _merged(old: Proposals | None, new: Proposals | None) -> Proposals:
    """Merges the proposals of a node into the channel. None removes the handle of a call that has ended."""
    return {call: one for call, one in {**(old or {}), **(new or {})}.items() if one is not None}


class CountersignState(AgentState[Any]):
    """The state of the graph, with the handle or refusal of each proposed call. Checkpoints keep it."""

    countersign: NotRequired[Annotated[Proposals, _merged]]


class CountersignMiddleware(AgentMiddleware[Any, Any, Any]):
    """Runs a tool only if policy or reviewers allow it.

    A middleware after it that changes a call has the call refused. A pause needs a checkpointer. The `thread_id` of
    the conversation is the task; without one, each run is a task.

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
        self._names: set[str] = set()
        self._readers: dict[str, tuple[BaseTool, Reader]] = {}

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        self._learn(request)
        return handler(request)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        self._learn(request)
        return await handler(request)

    def _learn(self, request: ModelRequest[Any]) -> None:
        """Notes the tools of the agent.

        :raises ValueError: `tools` has a name that no tool of the agent has
        """
        self._tools.update({tool.name: tool for tool in request.tools if isinstance(tool, BaseTool)})
        self._names |= {str(one.get("name") if isinstance(one, dict) else one.name) for one in request.tools}
        self._governed.require_known(self._names)

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Proposes the calls of the model, and saves their handles in the checkpoint."""
        made, task = self._begun(state)
        for call, name, tool in self._calls(state):
            try:
                read = self._reader(tool).read(str(call["id"]), call["args"])
                made[str(call["id"])] = self._governed.propose(self._sync(), name, read.payload, read.nonce, task)
            except NotExecuted as error:
                made[str(call["id"])] = {"refused": str(error), "code": error.code}
        return {"countersign": made} if made else None

    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        made, task = self._begun(state)
        for call, name, tool in self._calls(state):
            try:
                read, call_id = self._reader(tool).read(str(call["id"]), call["args"]), str(call["id"])
                made[call_id] = await self._governed.apropose(self._async(), name, read.payload, read.nonce, task)
            except NotExecuted as error:
                made[str(call["id"])] = {"refused": str(error), "code": error.code}
        return {"countersign": made} if made else None

    def _begun(self, state: Any) -> tuple[Proposals, str]:
        """Returns what the next proposals change in the channel, and their task. The earlier calls have ended."""
        message, known = state["messages"][-1], cast("Proposals", state.get("countersign") or {})
        now = {call["id"] for call in message.tool_calls} if isinstance(message, AIMessage) else set[str | None]()
        ended: Proposals = {call: None for call in known if call != _TASK and call not in now}
        conversation = _conversation()
        task = self._governed.task(self._gate, conversation or known.get(_TASK))
        # the state of a run without a conversation is its only memory
        return ({**ended, _TASK: task} if conversation is None and now else ended), task

    def _named(self, read: Arguments) -> Options:
        """Returns the options of a call without a saved handle. After a pause, its id finds the same thread again.

        Such a call opens its own thread: a revision would not be found by the id.
        """
        return {"call_id": read.nonce, "task_id": self._governed.task(self._gate, _conversation())}

    def _reader(self, tool: BaseTool) -> Reader:
        known = self._readers.get(tool.name)
        if known is None or known[0] is not tool:
            known = self._readers[tool.name] = (tool, reader_of(tool))
        return known[1]

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
        call, name, tool = request.tool_call, self._governed.name_of(request.tool_call["name"]), request.tool
        if name is None or tool is None:
            return handler(request)
        payload: JsonObject = {}
        try:
            proposed = _proposed(request, name)
            if proposed is not None and "refused" in proposed:
                return _message(call, proposed["refused"], proposed["code"])
            read = self._read(request, tool, proposed)
            payload = read.payload
            handle = proposed or self._sync().propose(name, payload, **self._named(read))
            wait = self._first_wait(handle)
            while True:
                attempt = Attempt(functools.partial(self._sync().resume, handle, payload=payload, max_wait=wait))
                try:
                    with attempt.ended():
                        return handler(_checked(request, tool, read, attempt))
                except (StillPending, GatewayUnavailable) as error:
                    if not still_waits(error):
                        raise
                    wait = self._pause(handle)
        except NotExecuted as error:
            return self._told(call, error, payload)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]
    ) -> Result:
        call, name, tool = request.tool_call, self._governed.name_of(request.tool_call["name"]), request.tool
        if name is None or tool is None:
            return await handler(request)
        payload: JsonObject = {}
        try:
            proposed = _proposed(request, name)
            if proposed is not None and "refused" in proposed:
                return _message(call, proposed["refused"], proposed["code"])
            read = self._read(request, tool, proposed)
            payload = read.payload
            handle = proposed or await self._async().propose(name, payload, **self._named(read))
            wait = self._first_wait(handle)
            while True:
                attempt = Attempt(functools.partial(self._async().resume, handle, payload=payload, max_wait=wait))
                try:
                    with attempt.ended():
                        return await handler(_checked(request, tool, read, attempt))
                except (StillPending, GatewayUnavailable) as error:
                    if not still_waits(error):
                        raise
                    wait = self._pause(handle)
        except NotExecuted as error:
            return self._told(call, error, payload)

    def _read(self, request: ToolCallRequest, tool: BaseTool, proposed: Handle | None) -> Arguments:
        """Returns the arguments of the call: those that were proposed, or new ones."""
        call_id, given = str(request.tool_call["id"]), request.tool_call["args"]
        if proposed is not None:
            return self._reader(tool).again(proposed, call_id, given)
        _require_own_task(request)
        return self._reader(tool).read(call_id, given)

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


def send_tool_calls(state: Any, node: str = "tools") -> list[Send] | str:
    """Sends each call of the last message to a `ToolNode` of its own, or ends.

    For `add_conditional_edges` of a graph of your own. A node begins anew after a pause, so a node that holds several
    calls would make the others again.

    node: the name of the `ToolNode`.
    """
    calls = state["messages"][-1].tool_calls
    sent = [Send(node, {"__type": "tool_call_with_context", "tool_call": call, "state": state}) for call in calls]
    return sent or END


def _require_own_task(request: ToolCallRequest) -> None:
    """Refuses a call that shares its node with others.

    :raises RuntimeError: the node was not reached by `Send`, and its message has several calls
    """
    path = get_config().get("metadata", {}).get("langgraph_path") or ()
    state = cast("Mapping[str, Any]", request.state) if isinstance(request.state, Mapping) else {}
    calls = getattr((state.get("messages") or [None])[-1], "tool_calls", ())
    if len(calls) > 1 and "__pregel_push" not in path[:1]:
        raise RuntimeError(
            "this ToolNode holds several calls, and would make them again after a pause:"
            " send each call, with `add_conditional_edges(node, send_tool_calls)` of countersign_sdk.langgraph"
        )


def reader_of(tool: BaseTool) -> Reader:
    """Returns the reader of a tool's arguments. Injected arguments are left out.

    :raises TypeError: no payload can hold an argument of the tool
    """
    schema = tool.args_schema
    if not isinstance(schema, type) or not issubclass(schema, BaseModel):
        return plain_reader()
    injected = _injected(tool)
    # validators of the whole model run, too; its injected arguments do not exist before the run
    absent: dict[str, Any] = {name: (Any, None) for name in injected & schema.model_fields.keys()}
    model = create_model(schema.__name__, __base__=schema, **absent) if absent else schema
    # LangChain's names for `*args` and `**kwargs` of a function
    synthetic = {name for name in ("args", "kwargs") if _is_synthetic(schema, name)}
    return reader_of_model(tool.name, model, frozenset({*injected, *synthetic}))


def _is_synthetic(schema: type[BaseModel], name: str) -> bool:
    return name in schema.model_fields and "validate_arguments" in str(schema.__module__)


def _injected(tool: BaseTool) -> frozenset[str]:
    """Returns the names of the arguments that the framework adds."""
    shown = tool.tool_call_schema
    fields = set(shown.model_fields) if isinstance(shown, type) and issubclass(shown, BaseModel) else set[str]()
    every = set(get_all_basemodel_annotations(tool.get_input_schema())) if fields or tool.args else set[str]()
    return frozenset({*(every - fields), *tool._injected_args_keys})


class _CheckedTool(BaseTool):
    """The tool of one call. Its function gets the arguments that were proposed, and no schema parses them again."""

    _inner: BaseTool = PrivateAttr()
    _read: Arguments = PrivateAttr()
    _attempt: Attempt = PrivateAttr()
    _call: ToolCall = PrivateAttr()

    def _run(self, *, config: RunnableConfig, run_manager: Any = None, **given: Any) -> Any:
        run = functools.partial(self._inner._run, **self._context(self._inner._run, config, run_manager))
        injected = self._taken(given)
        return self._attempt.run(self._read.objects, lambda objects: run(**objects, **injected))

    async def _arun(self, *, config: RunnableConfig, run_manager: Any = None, **given: Any) -> Any:
        run = functools.partial(self._inner._arun, **self._context(self._inner._arun, config, run_manager))
        injected = self._taken(given)
        return await self._attempt.arun(self._read.objects, lambda objects: run(**objects, **injected))

    def _context(self, run: Callable[..., Any], config: RunnableConfig, run_manager: Any) -> dict[str, Any]:
        """Returns what the inner tool wants to know of its run."""
        known = {"config": config, "run_manager": run_manager}
        wanted = inspect.signature(run).parameters
        return {name: value for name, value in known.items() if name in wanted}

    def _taken(self, given: dict[str, Any]) -> dict[str, Any]:
        """Compares what the model wrote with what reaches the tool, and returns the injected arguments.

        :raises ArgumentsChanged: a middleware changed the call
        """
        names = _injected(self._inner)
        injected = {name: given.pop(name) for name in names & given.keys()}
        try:
            require_equal(given, as_object(self._call["args"]))
        except NotExecuted as error:
            raise self._attempt.refuse(error) from error
        return {**injected, **dict.fromkeys(_ids_in(self._inner), self._call["id"])}


def _ids_in(tool: BaseTool) -> list[str]:
    """Returns the arguments that get the id of the call."""
    kinds = get_all_basemodel_annotations(tool.get_input_schema()) if tool.args or tool._injected_args_keys else {}
    return [name for name, kind in kinds.items() if any(_is_id(one) for one in get_args(kind)[1:])]


def _is_id(mark: Any) -> bool:
    return isinstance(mark, InjectedToolCallId) or mark is InjectedToolCallId


def _checked(request: ToolCallRequest, tool: BaseTool, read: Arguments, attempt: Attempt) -> ToolCallRequest:
    """Returns the request with a tool of its own, which redeems the proof."""
    made = _CheckedTool(
        name=tool.name,
        description=tool.description,
        args_schema={"type": "object", "properties": {}},
        response_format=tool.response_format,
        handle_tool_error=tool.handle_tool_error,
        callbacks=tool.callbacks,
        tags=tool.tags,
        metadata=tool.metadata,
    )
    made._inner, made._read, made._attempt, made._call = tool, read, attempt, request.tool_call
    return dataclasses.replace(request, tool=made)


def _proposed(request: ToolCallRequest, tool: str) -> Any:
    state = request.state if isinstance(request.state, Mapping) else {}
    proposed = (cast("Mapping[str, Any]", state).get("countersign") or {}).get(request.tool_call["id"])
    return proposed if proposed is None or "refused" in proposed else handle_for(tool, proposed)


def _conversation() -> object:
    """Returns the id of the conversation, or None without one."""
    return get_config().get("configurable", {}).get("thread_id")


def _message(call: ToolCall, text: str, code: str) -> ToolMessage:
    artifact = {"countersign": {"code": code}}
    return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error", artifact=artifact)
