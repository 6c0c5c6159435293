"""CrewAI: calls wait in memory for some seconds, and a later kickoff of the task continues them."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "CREWAI_TRACING_ENABLED": "false"}

import driver
from crewai import Agent, Crew, Task
from crewai.hooks import clear_before_tool_call_hooks, register_before_tool_call_hook
from crewai.llms.base_llm import BaseLLM
from driver import DONE, PREFIX, Script, Turn, synchronous
from pydantic import PrivateAttr

from countersign_sdk import Countersign
from countersign_sdk.crewai import GovernedTools

WAIT_SECONDS = 5.0


class ScriptedModel(BaseLLM):
    """Makes the calls of the first turn that is not in the conversation yet.

    `told`: the results that the model read, by call id.
    """

    _script: Script = PrivateAttr(default_factory=list)
    _told: dict[str, str] = PrivateAttr(default_factory=dict)

    def __init__(self, script: Script, told: dict[str, str]) -> None:
        super().__init__(model="scripted")
        self._script = script
        self._told = told

    def supports_function_calling(self) -> bool:
        return True

    def call(self, messages: Any, *_: Any, **__: Any) -> Any:
        given: list[Any] = [] if isinstance(messages, str) else messages
        self._told |= {one["tool_call_id"]: str(one["content"]) for one in given if one["role"] == "tool"}
        seen = {call["id"] for one in given for call in one.get("tool_calls") or []}
        calls: list[driver.Call] = next((turn for turn in self._script if turn[0].id not in seen), [])
        made = [
            {"id": call.id, "function": {"name": call.tool, "arguments": json.dumps(call.arguments)}} for call in calls
        ]
        return made or DONE

    async def acall(self, messages: Any, *_: Any, **__: Any) -> Any:
        return self.call(messages)


class Driver(driver.Driver):
    packages = ["crewai"]  # noqa: RUF012
    cancels_at_once = True
    oldest = ["crewai==1.15.20"]  # noqa: RUF012
    not_applicable = {  # noqa: RUF012
        "substituted": "other arguments make another call",
        "outage": "the next kickoff proposes the call again",
        "row_edited": "other arguments make another call",
        "row_kwargs": "the framework has no schema for them",
        "row_middleware_after": "nothing runs between the adapter and the function",
    }

    def agent(self, script: Script, governed: GovernedTools, told: dict[str, str], **more: Any) -> Agent:
        tools = [governed.tool(synchronous(one)) for one in self.functions()]
        model = ScriptedModel(script, told)
        return Agent(role="clerk", goal="work", backstory="works", llm=model, tools=tools, **more)

    def governed(self, gate: Countersign, wait: float = WAIT_SECONDS) -> GovernedTools:
        return GovernedTools(gate, prefix=PREFIX, task_id=self.where.task_id, wait=wait)

    def crew(self, agents: list[Agent], **more: Any) -> Crew:
        os.environ["CREWAI_STORAGE_DIR"] = str(Path(self.where.directory) / "crew")
        task = Task(description="go", expected_output="what was done", agent=agents[0])
        return Crew(agents=[*agents], tasks=[task], **more)

    def turn(self, governed: GovernedTools, result: Any, told: dict[str, str]) -> Turn:
        if governed.waiting:
            return Turn(False, told, "the next kickoff continues")
        return Turn(result.raw == DONE, told)

    def start(self, script: Script) -> Turn:
        if "before" in self.changes:
            register_before_tool_call_hook(lambda context: context.tool_input.update(self.changes["before"]))
        try:
            return self._start(script)
        finally:
            clear_before_tool_call_hooks()

    def _start(self, script: Script) -> Turn:
        told: dict[str, str] = {}
        with Countersign(self.where.url, self.where.key) as gate:
            governed = self.governed(gate)
            return self.turn(governed, self.crew([self.agent(script, governed, told)]).kickoff(), told)

    def resume(self, script: Script, saved: str, change: dict[str, Any] | None = None) -> Turn:
        return self.start(script)

    def stream(self, script: Script) -> Turn:
        told: dict[str, str] = {}
        with Countersign(self.where.url, self.where.key) as gate:
            governed = self.governed(gate)
            stream: Any = self.crew([self.agent(script, governed, told)], stream=True).kickoff()
            for _ in stream:
                pass
            return self.turn(governed, stream.result, told)

    def sub_agent(self, script: Script) -> Turn:
        told: dict[str, str] = {}
        with Countersign(self.where.url, self.where.key) as gate:
            governed = self.governed(gate, wait=60.0)
            orders = {"task": "go", "context": "none", "coworker": "clerk"}
            calls = [[driver.Call("delegate_work_to_coworker", orders, "outer_1")]]
            model = ScriptedModel(calls, {})
            boss = Agent(role="boss", goal="lead", backstory="leads", llm=model, allow_delegation=True)
            crew = self.crew([boss, self.agent(script, governed, told)])
            return self.turn(governed, crew.kickoff(), told)

    async def wait(self, script: Script) -> Turn:
        told: dict[str, str] = {}
        with Countersign(self.where.url, self.where.key) as gate:
            governed = self.governed(gate, wait=60.0)
            work = asyncio.ensure_future(self.crew([self.agent(script, governed, told)]).kickoff_async())
            try:
                return self.turn(governed, await asyncio.shield(work), told)
            except asyncio.CancelledError:
                governed.cancel()
                await work
                raise
