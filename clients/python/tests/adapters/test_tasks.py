"""The task of a call belongs to its run: conversations never mix, although one agent object serves them all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Any

import httpx
import pytest
from driver import NAME, Call, Script

from countersign_sdk import AsyncCountersign
from fake import FakeGateway

# reviewers ask for changes of the first call, and the model then makes the second one
SCRIPT: Script = [[Call("pay", {"n": 1}, "call_1")], [Call("pay", {"n": 2}, "call_2")]]


class Changing(FakeGateway):
    """A gateway whose reviewers ask for changes of each new thread, and approve its revision."""

    def _decisions(self, request: httpx.Request, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        thread = self.threads[request.url.params["thread_id"]]
        if thread.message == "look" and thread.status == "pending_review":
            thread.status, thread.message = "changes_requested", "make it two"
        return super()._decisions(request, body)

    def _events(self, request: httpx.Request, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        revision = body["payload"].get("revision")
        if revision is None:
            return super()._events(request, body)
        thread = self.threads[body["event_type"].rpartition(".")[2]]
        thread.status, thread.action_hash, thread.message = "approved", revision["action_hash"], "fine"
        return 201, {"status": "pending_review"}

    def client(self) -> AsyncCountersign:
        async def answer(request: httpx.Request) -> httpx.Response:
            return self.answer(request)

        http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
        return AsyncCountersign("http://127.0.0.1:1", "csk_test", http=http)


ran: list[int] = []


def pay(n: int) -> str:
    """Pays.

    Args:
        n: how much
    """
    ran.append(n)
    return "paid"


# plays one run of a new conversation with the one agent object
Play = Callable[[], Awaitable[object]]


def langgraph(gate: Any, tools: Collection[str] | None) -> Play:
    from driver_langgraph import model_of
    from langchain.agents import create_agent
    from langchain_core.tools import tool

    from countersign_sdk.langgraph import CountersignMiddleware

    guard = CountersignMiddleware(gate, tools=tools, wait=5)
    agent: Any = create_agent(model_of(SCRIPT), [tool(pay)], middleware=[guard])
    return lambda: agent.ainvoke({"messages": [("user", "go")]})


def pydantic_ai(gate: Any, _: Collection[str] | None) -> Play:
    from driver_pydantic_ai import model_of
    from pydantic_ai import Agent
    from pydantic_ai.toolsets import FunctionToolset

    from countersign_sdk.pydantic_ai import GovernedToolset

    agent: Any = Agent(model_of(SCRIPT), toolsets=[GovernedToolset(FunctionToolset([pay]), gate, wait=5)])
    return lambda: agent.run("go")


def openai_agents(gate: Any, _: Collection[str] | None) -> Play:
    from agents import Agent, Runner
    from driver_openai_agents import ScriptedModel

    from countersign_sdk.openai_agents import GovernedTools

    agent: Any = Agent(name="clerk", model=ScriptedModel(SCRIPT), tools=[GovernedTools(gate, wait=5).tool(pay)])
    contexts: list[Any] = [{}, None, {}, None]
    return lambda: Runner.run(agent, "go", context=contexts.pop())


def strands(gate: Any, tools: Collection[str] | None) -> Play:
    from driver_strands import ScriptedModel
    from strands import Agent, tool

    from countersign_sdk.strands import CountersignHooks

    hooks: Any = CountersignHooks(gate, tools=tools, wait=5)
    agent: Any = Agent(ScriptedModel(SCRIPT), tools=[tool(pay)], hooks=[hooks], callback_handler=None)

    def play() -> Any:
        agent.messages.clear()
        return agent.invoke_async("go")

    return play


def agent_framework(gate: Any, tools: Collection[str] | None) -> Play:
    from agent_framework import Agent
    from driver_agent_framework import model_of

    from countersign_sdk.agent_framework import CountersignMiddleware

    guard = CountersignMiddleware(gate, tools=tools, wait=5)
    agent: Any = Agent(model_of(SCRIPT), name="clerk", tools=[pay], middleware=[guard])
    return lambda: agent.run("go")


FRAMEWORKS: dict[str, Callable[[Any, Collection[str] | None], Play]] = {
    one.__name__: one for one in (langgraph, pydantic_ai, openai_agents, strands, agent_framework)
}
only = pytest.mark.skipif(NAME not in FRAMEWORKS, reason="its conversations have ids, or it has none")


def played(gateway: Changing, count: int, **block: Any) -> None:
    ran.clear()
    gate = gateway.client()
    play = FRAMEWORKS[NAME](gate, None)

    async def runs() -> None:
        for _ in range(count):
            with gate.call(**block):
                await play()

    asyncio.run(runs())


@only
def test_each_run_without_a_conversation_is_a_task_and_revises_only_its_own_call() -> None:
    gateway = Changing()
    played(gateway, 2)
    tasks = [thread.task_id for thread in gateway.threads.values()]
    assert (len(tasks), len(set(tasks))) == (2, 2)
    assert [thread.message for thread in gateway.threads.values()] == ["fine", "fine"]
    assert ran == [2, 2]


@only
def test_the_task_of_a_block_is_the_task_of_the_calls_inside() -> None:
    gateway = Changing()
    played(gateway, 1, task_id="case-7")
    assert [thread.task_id for thread in gateway.threads.values()] == ["case-7"]
    assert ran == [2]


@pytest.mark.skipif(NAME not in ("langgraph", "strands", "agent_framework"), reason="it takes no `tools`")
def test_a_name_that_no_tool_has_is_refused_before_a_tool_runs() -> None:
    ran.clear()
    gateway = Changing()
    said = ""
    try:
        said = str(asyncio.run(_once(FRAMEWORKS[NAME](gateway.client(), {"pai"}))))
    except ValueError as error:
        said = str(error)
    assert ran == []
    # this framework turns an error of a middleware into the text of the call
    assert "no tool is named pai" in said or NAME == "agent_framework"


async def _once(play: Play) -> object:
    return await play()


@pytest.mark.skipif(NAME != "claude_agent_sdk", reason="is about MCP servers of the Claude Agent SDK")
def test_a_name_of_an_mcp_tool_that_no_server_has_is_refused_at_once() -> None:
    from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, tool

    from countersign_sdk.claude_agent_sdk import GovernedSession

    @tool("refund", "Refunds.", {"order": int})
    async def refund(given: Any) -> dict[str, Any]:
        return {"content": []}

    servers: Any = {"orders": create_sdk_mcp_server("orders", tools=[refund])}
    options = ClaudeAgentOptions(mcp_servers=servers)
    gate = Changing().client()
    GovernedSession(gate, tools=["mcp__orders__refund", "Bash"]).options(options)
    for wrong in ("mcp__orders__refnd", "mcp__order__refund"):
        with pytest.raises(ValueError, match=wrong):
            GovernedSession(gate, tools=[wrong]).options(options)


@pytest.mark.skipif(NAME != "langgraph", reason="is about the channel of LangGraph")
def test_the_channel_keeps_no_handle_of_a_call_that_has_ended() -> None:
    from driver_langgraph import model_of
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langgraph.checkpoint.memory import InMemorySaver

    from countersign_sdk.langgraph import CountersignMiddleware

    gateway = Changing()
    guard = CountersignMiddleware(gateway.client(), wait=5)
    agent: Any = create_agent(model_of(SCRIPT), [tool(pay)], middleware=[guard], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "conversation-1"}}
    asyncio.run(agent.ainvoke({"messages": [("user", "go")]}, config))
    assert [thread.task_id for thread in gateway.threads.values()] == ["conversation-1"]
    kept = [one.values.get("countersign") for one in agent.get_state_history(config)]
    assert max(len(one) for one in kept if one is not None) == 1
    assert kept[0] == {}
