"""Strands, with a snapshot of the agent's session as JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import driver
import pytest
from driver import DONE, PREFIX, Script, Turn
from strands import Agent, Snapshot, tool
from strands.hooks import BeforeToolCallEvent
from strands.models import Model

from countersign_sdk import AsyncCountersign
from countersign_sdk.strands import CountersignHooks, resume_prompt


class ScriptedModel(Model):
    """Makes the calls of the first turn that is not in the conversation yet."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def update_config(self, **_: Any) -> None:
        pass

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        blocks = [block for message in messages for block in message["content"]]
        seen = {block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block}
        calls: list[driver.Call] = next((turn for turn in self._script if turn[0].id not in seen), [])
        yield {"messageStart": {"role": "assistant"}}
        for call in calls:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": call.tool, "toolUseId": call.id}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(call.arguments)}}}}
            yield {"contentBlockStop": {}}
        if not calls:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": DONE}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}


class Driver(driver.Driver):
    packages = ["strands-agents"]  # noqa: RUF012
    oldest = ["strands-agents==1.60.0"]  # noqa: RUF012

    not_applicable = {  # noqa: RUF012
        "row_kwargs": "the framework makes one argument of them, so the call is refused",
        "row_positional": "the framework passes arguments by name",
    }

    def agent(self, script: Script, gate: AsyncCountersign, wait: float | None = None) -> Agent:
        hooks = CountersignHooks(gate, prefix=PREFIX, task_id=self.where.task_id, wait=wait)
        tools: list[Any] = [tool(one) for one in self.functions()]
        agent = Agent(ScriptedModel(script), tools=tools, hooks=[hooks], callback_handler=None, name="clerk")
        if "before" in self.changes:
            agent.add_hook(self.change, BeforeToolCallEvent)
        if "after" in self.changes:
            middleware = pytest.importorskip("strands.middleware", reason="strands has middleware from 1.62 on")
            agent.add_middleware(middleware.ExecuteToolStage.Input, self.changed)
        return agent

    def changed(self, context: Any) -> Any:
        return replace(context, tool_use={**context.tool_use, "input": self.changes["after"]})

    def change(self, event: BeforeToolCallEvent[Any]) -> None:
        event.tool_use["input"] = self.changes["before"]

    def turn(self, agent: Agent, result: Any) -> Turn:
        blocks: list[Any] = [block for message in agent.messages for block in message["content"]]
        results = [block["toolResult"] for block in blocks if "toolResult" in block]
        told = {one["toolUseId"]: one["content"][0]["text"] for one in results}
        if result.stop_reason == "interrupt":
            snapshot = agent.take_snapshot(preset="session").to_dict()
            return Turn(False, told, json.dumps({"snapshot": snapshot, "prompt": resume_prompt(result)}))
        return Turn(DONE in str(result), told)

    async def _start(self, script: Script, wait: float | None = None) -> Turn:
        async with AsyncCountersign(self.where.url, self.where.key) as gate:
            agent = self.agent(script, gate, wait)
            return self.turn(agent, await agent.invoke_async("go"))

    def start(self, script: Script) -> Turn:
        return asyncio.run(self._start(script))

    def resume(self, script: Script, saved: str, change: dict[str, Any] | None = None) -> Turn:
        text = saved if change is None else saved.replace('"input": {"n": 1}', f'"input": {json.dumps(change)}')
        kept = json.loads(text)

        async def play() -> Turn:
            async with AsyncCountersign(self.where.url, self.where.key) as gate:
                agent = self.agent(script, gate)
                agent.load_snapshot(Snapshot.from_dict(kept["snapshot"]))
                return self.turn(agent, await agent.invoke_async(kept["prompt"]))

        return asyncio.run(play())

    def stream(self, script: Script) -> Turn:
        async def play() -> Turn:
            async with AsyncCountersign(self.where.url, self.where.key) as gate:
                agent = self.agent(script, gate)
                results = [event["result"] async for event in agent.stream_async("go") if "result" in event]
                return self.turn(agent, results[0])

        return asyncio.run(play())

    def sub_agent(self, script: Script) -> Turn:
        async def play() -> Turn:
            async with AsyncCountersign(self.where.url, self.where.key) as gate:
                inner = self.agent(script, gate, wait=60).as_tool(name="delegate", description="Asks another agent.")
                calls = [[driver.Call("delegate", {"input": "go"}, "outer_1")]]
                outer = Agent(ScriptedModel(calls), tools=[inner], callback_handler=None)
                return self.turn(outer, await outer.invoke_async("go"))

        return asyncio.run(play())

    async def wait(self, script: Script) -> Turn:
        return await self._start(script, wait=60)
