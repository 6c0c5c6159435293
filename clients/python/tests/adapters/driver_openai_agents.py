"""OpenAI Agents, with the state of an interrupted run as JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import driver
from agents import Agent, Model, ModelResponse, Runner, RunState, set_tracing_disabled
from agents.usage import Usage
from driver import DONE, PREFIX, Script, Turn
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from countersign_sdk import AsyncCountersign
from countersign_sdk.openai_agents import GovernedTools

set_tracing_disabled(True)


class ScriptedModel(Model):
    """Makes the calls of the first turn that is not in the conversation yet."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def _output(self, items: Any) -> list[Any]:
        seen = {item.get("call_id") for item in items if isinstance(item, dict)} if isinstance(items, list) else set()
        for turn in self._script:
            if turn[0].id not in seen:
                return [
                    ResponseFunctionToolCall(
                        type="function_call", call_id=call.id, name=call.tool, arguments=json.dumps(call.arguments)
                    )
                    for call in turn
                ]
        text = ResponseOutputText(type="output_text", text=DONE, annotations=[])
        return [ResponseOutputMessage(type="message", id="m", role="assistant", status="completed", content=[text])]

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        return ModelResponse(output=self._output(input), usage=Usage(), response_id=None)

    async def stream_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        response = Response(
            id="r",
            created_at=0,
            model="scripted",
            object="response",
            output=self._output(input),
            tool_choice="auto",
            tools=[],
            parallel_tool_calls=True,
        )
        yield ResponseCompletedEvent(type="response.completed", response=response, sequence_number=0)


class Driver(driver.Driver):
    packages = ["openai-agents"]  # noqa: RUF012
    oldest = ["openai-agents==0.22.0"]  # noqa: RUF012

    not_applicable = {  # noqa: RUF012
        "row_middleware_before": "the framework has no such middleware",
        "row_middleware_after": "the framework has no such middleware",
    }

    @classmethod
    def written(cls, row: str, given: dict[str, Any]) -> dict[str, Any]:
        # the framework's schema has a member for `**more`
        return {"n": given["n"], "more": {"tip": given["tip"]}} if row == "kwargs" else given

    def governed(self, gate: AsyncCountersign, wait: float | None = None) -> tuple[GovernedTools, list[Any]]:
        governed = GovernedTools(gate, prefix=PREFIX, task_id=self.where.task_id, wait=wait)
        # a strict schema cannot hold extra members
        options: dict[str, Any] = {} if self.own is None else {"strict_mode": False}
        return governed, [governed.tool(one, **options) for one in self.functions()]

    def agent(self, script: Script, tools: list[Any], delegates: bool = False) -> Agent[Any]:
        agent: Agent[Any] = Agent(name="clerk", model=ScriptedModel(script), tools=tools)
        if not delegates:
            return agent
        inner = agent.as_tool("delegate", "Asks another agent.")
        outer = [[driver.Call("delegate", {"input": "go"}, "outer_1")]]
        return Agent(name="boss", model=ScriptedModel(outer), tools=[inner])

    def turn(self, result: Any) -> Turn:
        told = {
            item["call_id"]: str(item["output"])
            for item in result.to_input_list()
            if item.get("type") == "function_call_output"
        }
        if result.interruptions:
            return Turn(False, told, json.dumps(result.to_state().to_json()))
        return Turn(result.final_output == DONE, told)

    def start(self, script: Script) -> Turn:
        return asyncio.run(self._start(script))

    async def _start(self, script: Script, delegates: bool = False, wait: float | None = None) -> Turn:
        async with AsyncCountersign(self.where.url, self.where.key) as gate:
            _, tools = self.governed(gate, wait)
            return self.turn(await Runner.run(self.agent(script, tools, delegates), "go", context={}))

    def resume(self, script: Script, saved: str, change: dict[str, Any] | None = None) -> Turn:
        return asyncio.run(self._resume(script, saved, change))

    async def _resume(self, script: Script, saved: str, change: dict[str, Any] | None) -> Turn:
        text = saved if change is None else saved.replace(r"{\"n\": 1}", json.dumps(json.dumps(change))[1:-1])
        async with AsyncCountersign(self.where.url, self.where.key) as gate:
            governed, tools = self.governed(gate)
            agent = self.agent(script, tools, '"delegate"' in saved)
            state = await RunState.from_json(agent, json.loads(text))
            await governed.settle(state)
            return self.turn(await Runner.run(agent, state))

    def stream(self, script: Script) -> Turn:
        async def play() -> Turn:
            async with AsyncCountersign(self.where.url, self.where.key) as gate:
                _, tools = self.governed(gate)
                result = Runner.run_streamed(self.agent(script, tools), "go", context={})
                async for _event in result.stream_events():
                    pass
                return self.turn(result)

        return asyncio.run(play())

    def sub_agent(self, script: Script) -> Turn:
        return asyncio.run(self._start(script, delegates=True))

    async def wait(self, script: Script) -> Turn:
        return await self._start(script, wait=60)
