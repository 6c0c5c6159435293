"""The code of a framework's page runs as printed, against the gateway that the page starts."""

from __future__ import annotations

import ast
import asyncio
import functools
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from driver import NAME, Call
from test_adapter import PAGE_TOOL, bundle_of_the_suite

from countersign_sdk.testing import Gateway, Reviewer

ROOT = Path(__file__).resolve().parents[4]
PAGE = ROOT / f"docs/python/{NAME.replace('_', '-')}.md"
SCRIPT = [[Call("refund", {"order": 7})]]
RUN_BY_CI = ("langgraph", "openai_agents", "pydantic_ai")


@pytest.fixture
def countersign_bundle() -> dict[str, str]:
    return bundle_of_the_suite()


def set_model(monkeypatch: pytest.MonkeyPatch, names: dict[str, Any]) -> None:
    """Replaces the model of the page with a scripted model."""
    if NAME == "langgraph":
        from driver_langgraph import model_of

        names["model"] = model_of(SCRIPT)
    elif NAME == "openai_agents":
        import agents
        from driver_openai_agents import ScriptedModel

        monkeypatch.setattr(agents, "Agent", functools.partial(agents.Agent, model=ScriptedModel(SCRIPT)))
    else:
        import pydantic_ai
        from driver_pydantic_ai import model_of as scripted

        agent = pydantic_ai.Agent
        monkeypatch.setattr(pydantic_ai, "Agent", lambda _, **options: agent(scripted(SCRIPT), **options))


@pytest.mark.skipif(NAME not in RUN_BY_CI, reason="the page names parts that a reader has already")
def test_the_page_runs_as_printed(
    countersign_gateway: Gateway, reviewer: Reviewer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COUNTERSIGN_URL", countersign_gateway.url)
    monkeypatch.setenv("COUNTERSIGN_AGENT_KEY", countersign_gateway.agent_key)
    monkeypatch.chdir(tmp_path)
    ran: list[int] = []
    saved: list[Any] = []

    def refund(order: int) -> str:
        """Refunds an order."""
        ran.append(order)
        return "refunded"

    text = PAGE.read_text().replace("-> str: ...", '-> str:\n    """Refunds an order."""\n    return body(order)')
    quickstart, governed, resumed = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[:3]
    names = {"refund": refund, "body": refund, "save": lambda *given: saved.extend(given), "saved": saved}
    names["load"] = lambda: saved[0]
    set_model(monkeypatch, names)
    loop = asyncio.new_event_loop()

    def run(code: str) -> None:
        result = eval(compile(code, str(PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
        if inspect.isawaitable(result):
            loop.run_until_complete(result)

    run(quickstart)
    assert ran == [7]
    run(governed)
    assert ran == [7]
    reviewer.approve(PAGE_TOOL).wait()
    run(resumed)
    loop.close()
    assert ran == [7, 7]
    reviewer.assert_held(PAGE_TOOL)
    reviewer.assert_redeemed(PAGE_TOOL)


def test_a_reader_can_add_the_tool_of_the_page() -> None:
    assert PAGE_TOOL in (ROOT / "docs/python/README.md").read_text()
    assert not (ROOT / f"policies/tools/{PAGE_TOOL}.yaml").exists()
