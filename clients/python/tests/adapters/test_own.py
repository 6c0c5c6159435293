"""Cases of one framework only."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from driver import NAME, Call, Where, driver_named
from test_adapter import bundle_of_the_suite

from countersign_sdk import AsyncCountersign, Countersign
from countersign_sdk._steps import Clock
from countersign_sdk.testing import Gateway, Reviewer
from fake import FakeGateway


@pytest.fixture
def countersign_bundle() -> dict[str, str]:
    return bundle_of_the_suite()


@pytest.fixture
def where(countersign_gateway: Gateway, tmp_path: Path) -> Where:
    return Where(countersign_gateway.url, countersign_gateway.agent_key, str(tmp_path), f"task-{tmp_path.name}")


@pytest.mark.skipif(NAME not in ("langgraph", "pydantic_ai", "strands"), reason="its pause names no page")
def test_the_pause_names_the_console_page_of_the_call(where: Where, reviewer: Reviewer) -> None:
    driver: Any = driver_named(NAME)(where)
    script = [[Call("held", {"n": 1})]]
    paused = str(driver.start(script).saved)
    if NAME == "langgraph":
        paused = str(driver.agent(script).get_state(driver.config).interrupts)
    assert f"{where.url}/console/#/thread/{reviewer.held()[0]}" in paused


@pytest.mark.skipif(NAME != "openai_agents", reason="is about `function_tool` of OpenAI Agents")
def test_a_finished_tool_is_refused(where: Where) -> None:
    from agents import function_tool

    from countersign_sdk.openai_agents import GovernedTools

    governed = GovernedTools(AsyncCountersign(where.url, where.key))
    with pytest.raises(TypeError, match="in place of `@function_tool`"):
        governed.tool(function_tool(lambda n: n, name_override="held"))  # type: ignore[arg-type]


@pytest.mark.skipif(NAME != "claude_agent_sdk", reason="is about hooks of the Claude Agent SDK")
def test_the_gateway_hears_when_another_hook_refuses_an_approved_call(where: Where, reviewer: Reviewer) -> None:
    from claude_agent_sdk import HookMatcher

    async def deny(*_: Any) -> Any:
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}

    driver: Any = driver_named(NAME)(where)
    script = [[Call("held", {"n": 1})]]
    kept = json.loads(driver.start(script).saved)
    reviewer.approve("demo.held").wait()
    hooks = {"PreToolUse": [HookMatcher(hooks=[deny])]}
    assert asyncio.run(driver._play(script, kept, resume=kept["session"], hooks=hooks)).ended
    assert where.ran() == []
    assert reviewer.outcomes() == [("demo.held", "not_run")]


@pytest.mark.skipif(NAME != "crewai", reason="CrewAI waits inside the tool")
def test_a_call_waits_through_an_outage() -> None:
    from countersign_sdk.crewai import GovernedTools

    gateway = FakeGateway(outage=9)
    governed = GovernedTools(quick(gateway), wait=30)
    assert governed.call("pay", {}, lambda _: "ran") == "ran"
    assert (len(gateway.threads), governed.waiting) == (1, [])


@pytest.mark.skipif(NAME != "crewai", reason="CrewAI waits inside the tool")
def test_a_call_that_waits_at_the_end_of_an_outage_continues_its_thread() -> None:
    from countersign_sdk.crewai import GovernedTools

    gateway = FakeGateway(outage=4)
    governed = GovernedTools(quick(gateway), wait=0)
    assert "Not executed" in governed.call("pay", {}, lambda _: pytest.fail("it ran"))
    assert [one.get("thread_id") for one in governed.waiting] == ["thr_0"]
    assert governed.call("pay", {}, lambda _: "ran") == "ran"
    assert (len(gateway.threads), governed.waiting) == (1, [])


@pytest.mark.skipif(NAME != "crewai", reason="CrewAI makes the call again in the same process")
def test_a_revised_call_that_is_made_again_continues_its_thread() -> None:
    from countersign_sdk.crewai import GovernedTools

    gateway = Changing()
    governed = GovernedTools(quick(gateway), wait=0)
    refuses: Any = lambda _: pytest.fail("it ran")  # noqa: E731
    assert "make it two" in governed.call("pay", {"n": 1}, refuses)
    gateway.threads["thr_0"].status, gateway.polls = "pending_review", 1
    assert "no reviewer decided" in governed.call("pay", {"n": 2}, refuses)
    gateway.polls = 0
    assert governed.call("pay", {"n": 2}, lambda approved: approved["n"]) == 2
    assert (len(gateway.threads), governed.waiting) == (1, [])


@pytest.mark.skipif(NAME != "langgraph", reason="is about a graph of one's own in LangGraph")
def test_a_tool_node_opens_a_thread_for_each_call(where: Where, reviewer: Reviewer) -> None:
    from driver_langgraph import Driver, model_of
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    from countersign_sdk.langgraph import CountersignMiddleware, resume_command

    driver = Driver(where)
    model = model_of([[Call("held", {"n": 1})], [Call("held", {"n": 2}, "call_2")]])
    votes = [reviewer.request_changes("demo.held", comment="make it two"), reviewer.approve("demo.held")]
    with Countersign(where.url, where.key) as gate:
        middleware = CountersignMiddleware(gate, prefix="demo.")
        graph: Any = StateGraph(MessagesState)
        graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
        graph.add_node("tools", ToolNode(driver.tools(), wrap_tool_call=middleware.wrap_tool_call))
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", tools_condition)
        graph.add_edge("tools", "model")
        agent = graph.compile(checkpointer=InMemorySaver())
        agent.invoke({"messages": [("user", "go")]}, driver.config)
        for vote in votes:
            vote.wait()
            agent.invoke(resume_command(agent, driver.config), driver.config)
    assert [one["n"] for one in where.ran()] == [2]
    reviewer.assert_held("demo.held", 2)


def quick(gateway: FakeGateway) -> Countersign:
    gate = gateway.gate()
    gate._core.clock = Clock(jitter=lambda: 0.0)
    return gate


@pytest.mark.skipif(NAME != "google_adk", reason="is about the tools of Google ADK")
def test_arguments_that_are_no_json_are_an_answer_for_the_model() -> None:
    from types import SimpleNamespace

    from countersign_sdk.google_adk import GovernedTools

    def pay(n: Any) -> str:
        return pytest.fail("it ran")

    gateway = FakeGateway()
    governed = GovernedTools(gateway.async_gate())
    context: Any = SimpleNamespace(function_call_id="c", tool_confirmation=None)
    answer = asyncio.run(governed.tool(pay).run_async(args={"n": float("nan")}, tool_context=context))
    assert "/n" in answer["error"]
    assert gateway.asked == []


class Changing(FakeGateway):
    """A gateway whose reviewers ask for changes of each new thread, and whose events revise it."""

    def _requests(self, request: httpx.Request, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        status, answer = super()._requests(request, body)
        thread = self.threads[answer["thread_id"]]
        thread.status, thread.message = "changes_requested", "make it two"
        return status, answer

    def _events(self, request: httpx.Request, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        revision = body["payload"].get("revision")
        if revision is None:
            return super()._events(request, body)
        self.threads["thr_0"].action_hash = revision["action_hash"]
        return 201, {"status": "pending_review"}


@pytest.mark.skipif(NAME != "agent_framework", reason="is about middleware of the Microsoft Agent Framework")
def test_a_middleware_that_changes_an_allowed_call_has_it_refused(where: Where) -> None:
    from agent_framework import function_middleware

    @function_middleware
    async def change(context: Any, call_next: Any) -> None:
        context.arguments = {"n": 99}
        await call_next()

    async def play() -> str:
        async with AsyncCountersign(where.url, where.key) as gate:
            agent: Any = driver_named(NAME)(where)
            result = await agent.agent([[Call("allowed", {"n": 1})]], gate, after=[change]).run("go")
            return str([content.result for message in result.messages for content in message.contents])

    assert "not the arguments that were approved" in asyncio.run(play())
    assert where.ran() == []


@pytest.mark.skipif(NAME != "agent_framework", reason="is about a tool of the Microsoft Agent Framework with its model")
def test_a_model_of_the_tools_own_shows_its_extra_members(where: Where, reviewer: Reviewer) -> None:
    from agent_framework import FunctionTool
    from rows import Open

    def run(**given: Any) -> str:
        return where.run("row_extra", **given)

    def driver() -> Any:
        made: Any = driver_named(NAME)(where)
        made.functions = lambda: [FunctionTool(name="row_extra", description="Runs.", func=run, input_model=Open)]
        return made

    script = [[Call("row_extra", {"order": 1, "amount": 1000000})]]
    turn = driver().start(script)
    vote = reviewer.approve("demo.row_extra")
    vote.wait()
    assert vote.payload == {"order": 1, "amount": 1000000}
    assert driver().resume(script, turn.saved).ended
    assert where.ran() == [{"tool": "row_extra", "order": 1, "amount": 1000000}]


@pytest.mark.skipif(NAME != "langgraph", reason="is about `args_schema` of LangChain")
def test_an_args_schema_of_ones_own_shows_all_that_runs(where: Where, reviewer: Reviewer) -> None:
    from driver_langgraph import model_of
    from langchain.agents import create_agent
    from langchain_core.tools import StructuredTool
    from langgraph.checkpoint.memory import InMemorySaver
    from rows import Cents, Hidden, Open

    from countersign_sdk.langgraph import CountersignMiddleware, resume_command

    given: dict[str, tuple[Any, dict[str, Any]]] = {
        "row_extra": (Open, {"order": 1, "amount": 1000000}),
        "row_before": (Cents, {"cents": 5}),
        "row_exclude": (Hidden, {"order": 1, "force": True}),
    }

    def tool_of(name: str, schema: Any) -> Any:
        def run(**given: Any) -> str:
            return where.run(name, **given)

        return StructuredTool.from_function(run, name=name, description="Runs.", args_schema=schema)

    def agent(gate: Countersign) -> Any:
        tools = [tool_of(name, schema) for name, (schema, _) in given.items()]
        guarded = [CountersignMiddleware(gate, prefix="demo.")]
        return create_agent(model_of(script), tools, middleware=guarded, checkpointer=saver)

    script, saver = [[Call(name, args, name) for name, (_, args) in given.items()]], InMemorySaver()
    votes = {name: reviewer.approve(f"demo.{name}") for name in given}
    config: Any = {"configurable": {"thread_id": where.task_id}}
    with Countersign(where.url, where.key) as gate:
        agent(gate).invoke({"messages": [("user", "go")]}, config)
        for vote in votes.values():
            vote.wait()
        other = agent(gate)
        other.invoke(resume_command(other, config), config)
    approved = {name: vote.payload for name, vote in votes.items()}
    assert approved == {
        "row_extra": {"order": 1, "amount": 1000000},
        "row_before": {"cents": 500},
        "row_exclude": {"order": 1, "force": True},
    }
    assert {one.pop("tool"): one for one in where.ran()} == approved


def own_graph(driver: Any, gate: Countersign, script: Any, route: Any) -> Any:
    from driver_langgraph import model_of
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode

    from countersign_sdk.langgraph import CountersignMiddleware

    model, middleware = model_of(script), CountersignMiddleware(gate, prefix="demo.")
    graph: Any = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode(driver.tools(), wrap_tool_call=middleware.wrap_tool_call))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", route, ["tools", END])
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=InMemorySaver())


@pytest.mark.skipif(NAME != "langgraph", reason="is about a graph of one's own in LangGraph")
def test_a_tool_node_runs_each_call_once_if_each_is_sent(where: Where, reviewer: Reviewer) -> None:
    from countersign_sdk.langgraph import resume_command, send_tool_calls

    driver: Any = driver_named(NAME)(where)
    script = [[Call("allowed", {"n": 1}, "call_1"), Call("held", {"n": 2}, "call_2"), Call("held", {"n": 3}, "call_3")]]
    result: Any = {}
    with Countersign(where.url, where.key) as gate:
        graph = own_graph(driver, gate, script, send_tool_calls)
        graph.invoke({"messages": [("user", "go")]}, driver.config)
        for thread in reversed(reviewer.held("demo.held")):
            reviewer.decide(thread, "approve")
            result = graph.invoke(resume_command(graph, driver.config), driver.config)
    assert sorted((one["tool"], one["n"]) for one in where.ran()) == [("allowed", 1), ("held", 2), ("held", 3)]
    told = {one.tool_call_id: str(one.content) for one in result["messages"] if one.type == "tool"}
    assert ["ran with" in told[f"call_{n}"] for n in (1, 2, 3)] == [True, True, True]


@pytest.mark.skipif(NAME != "langgraph", reason="is about a graph of one's own in LangGraph")
def test_a_tool_node_with_several_calls_is_refused(where: Where) -> None:
    from langgraph.prebuilt import tools_condition

    driver: Any = driver_named(NAME)(where)
    script = [[Call("allowed", {"n": 1}, "call_1"), Call("held", {"n": 2}, "call_2")]]
    with Countersign(where.url, where.key) as gate, pytest.raises(RuntimeError, match="send each call"):
        own_graph(driver, gate, script, tools_condition).invoke({"messages": [("user", "go")]}, driver.config)
    assert where.ran() == []


@pytest.mark.skipif(NAME != "openai_agents", reason="is about options of `function_tool` of OpenAI Agents")
def test_the_options_of_the_decorator_reach_the_framework(where: Where) -> None:
    from countersign_sdk.openai_agents import GovernedTools

    governed = GovernedTools(AsyncCountersign(where.url, where.key), prefix="orders.")

    @governed.tool(name_override="pay", description_override="Pays.", strict_mode=False)
    def other(n: int, **more: int) -> str:
        """Is another text."""
        return ""

    assert (other.name, other.description, other.strict_json_schema) == ("pay", "Pays.", False)
    with pytest.raises(TypeError, match="needs_approval"):
        governed.tool(lambda n: n, needs_approval=True)


@pytest.mark.skipif(NAME not in ("google_adk", "crewai"), reason="is about checks of these adapters before the start")
def test_a_check_that_refuses_before_the_start_reports_no_run() -> None:
    from countersign_sdk import ArgumentsChanged
    from countersign_sdk._approved import ApprovedRun

    objects: dict[str, object] = {"n": 1}
    gateway = FakeGateway()
    gateway.change = lambda route, *_: objects.update(n=2) if route == "validate" else None
    with pytest.raises(ArgumentsChanged):
        gateway.gate().guard("pay", {"n": 1}, ApprovedRun(objects, lambda _: pytest.fail("it ran")))
    assert gateway.outcomes() == ["not_run"]
