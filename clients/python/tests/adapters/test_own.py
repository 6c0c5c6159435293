"""Cases of one framework only."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from driver import NAME, Call, Where, driver_named
from test_adapter import bundle_of_the_suite

from countersign import AsyncCountersign, Countersign
from countersign._steps import Clock
from countersign.testing import Gateway, Reviewer
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

    from countersign.openai_agents import GovernedTools

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
    assert reviewer.outcomes() == [("demo.held", "not run")]


@pytest.mark.skipif(NAME != "crewai", reason="CrewAI waits inside the tool")
def test_a_call_waits_through_an_outage() -> None:
    from countersign.crewai import GovernedTools

    gateway = FakeGateway(outage=9)
    governed = GovernedTools(quick(gateway), wait=30)
    assert governed.call("pay", {}, lambda _: "ran") == "ran"
    assert (len(gateway.threads), governed.waiting) == (1, [])


@pytest.mark.skipif(NAME != "crewai", reason="CrewAI waits inside the tool")
def test_a_call_that_waits_at_the_end_of_an_outage_continues_its_thread() -> None:
    from countersign.crewai import GovernedTools

    gateway = FakeGateway(outage=4)
    governed = GovernedTools(quick(gateway), wait=0)
    assert "Not executed" in governed.call("pay", {}, lambda _: pytest.fail("it ran"))
    assert [one.get("thread_id") for one in governed.waiting] == ["thr_0"]
    assert governed.call("pay", {}, lambda _: "ran") == "ran"
    assert (len(gateway.threads), governed.waiting) == (1, [])


def quick(gateway: FakeGateway) -> Countersign:
    gate = gateway.gate()
    gate._core.clock = Clock(jitter=lambda: 0.0)
    return gate


@pytest.mark.skipif(NAME != "agent_framework", reason="is about middleware of the Microsoft Agent Framework")
def test_a_middleware_that_changes_an_allowed_call_fails_the_run(where: Where) -> None:
    from agent_framework import MiddlewareFailure, function_middleware

    @function_middleware
    async def change(context: Any, call_next: Any) -> None:
        context.arguments = {"n": 99}
        await call_next()

    async def play() -> None:
        async with AsyncCountersign(where.url, where.key) as gate:
            agent: Any = driver_named(NAME)(where)
            await agent.agent([[Call("allowed", {"n": 1})]], gate, after=[change]).run("go")

    with pytest.raises(MiddlewareFailure):
        asyncio.run(play())
    assert where.ran() == []
