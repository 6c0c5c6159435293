"""Pydantic AI, with the messages and the deferred requests of a run as JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import driver
from driver import DONE, PREFIX, Script, Turn
from pydantic import TypeAdapter
from pydantic_ai import Agent, AgentRunResultEvent, DeferredToolRequests
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.toolsets import FunctionToolset, WrapperToolset

from countersign_sdk import AsyncCountersign
from countersign_sdk.pydantic_ai import GovernedToolset, deferred_results

REQUESTS: TypeAdapter[DeferredToolRequests] = TypeAdapter(DeferredToolRequests)


def model_of(script: Script) -> FunctionModel:
    """Makes the calls of the first turn that is not in the conversation yet."""

    def turn_of(messages: list[ModelMessage]) -> list[driver.Call]:
        parts = [part for message in messages for part in message.parts]
        seen = {part.tool_call_id for part in parts if isinstance(part, ToolCallPart)}
        return next((turn for turn in script if turn[0].id not in seen), [])

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        calls: list[Any] = [ToolCallPart(call.tool, call.arguments, call.id) for call in turn_of(messages)]
        return ModelResponse(parts=calls or [TextPart(DONE)])

    async def stream(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[Any]:
        calls = turn_of(messages)
        if not calls:
            yield DONE
        for index, call in enumerate(calls):
            yield {index: DeltaToolCall(call.tool, json.dumps(call.arguments), tool_call_id=call.id)}

    return FunctionModel(answer, stream_function=stream)


@dataclass
class Changing(WrapperToolset[Any]):
    """A toolset that changes the arguments of each call."""

    other: dict[str, Any]

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        return await self.wrapped.call_tool(name, {**tool_args, **self.other}, ctx, tool)


class Driver(driver.Driver):
    packages = ["pydantic-ai-slim"]  # noqa: RUF012
    oldest = ["pydantic-ai-slim==2.32.0"]  # noqa: RUF012

    def agent(self, script: Script, gate: AsyncCountersign, wait: float | None = None) -> Agent[None, Any]:
        tools: Any = FunctionToolset(self.functions())
        if "after" in self.changes:
            tools = Changing(tools, self.changes["after"])
        governed: Any = GovernedToolset(tools, gate, prefix=PREFIX, task_id=self.where.task_id, wait=wait)
        if "before" in self.changes:
            governed = Changing(governed, self.changes["before"])
        return Agent(model_of(script), toolsets=[governed], output_type=[str, DeferredToolRequests])

    def turn(self, result: Any) -> Turn:
        parts = [part for message in result.all_messages() for part in message.parts]
        told = {part.tool_call_id: str(part.content) for part in parts if isinstance(part, ToolReturnPart)}
        if isinstance(result.output, DeferredToolRequests):
            messages = json.loads(result.all_messages_json())
            requests = REQUESTS.dump_python(result.output, mode="json")
            return Turn(False, told, json.dumps({"messages": messages, "requests": requests}))
        return Turn(result.output == DONE, told)

    async def _start(self, script: Script, wait: float | None = None) -> Turn:
        async with AsyncCountersign(self.where.url, self.where.key) as gate:
            return self.turn(await self.agent(script, gate, wait).run("go"))

    def start(self, script: Script) -> Turn:
        return asyncio.run(self._start(script))

    def resume(self, script: Script, saved: str, change: dict[str, Any] | None = None) -> Turn:
        kept = json.loads(saved)
        if change is not None:
            kept["messages"][-1]["parts"][0]["args"] = change

        async def play() -> Turn:
            async with AsyncCountersign(self.where.url, self.where.key) as gate:
                result = await self.agent(script, gate).run(
                    message_history=ModelMessagesTypeAdapter.validate_python(kept["messages"]),
                    deferred_tool_results=deferred_results(REQUESTS.validate_python(kept["requests"])),
                )
                return self.turn(result)

        return asyncio.run(play())

    def stream(self, script: Script) -> Turn:
        async def play() -> Turn:
            async with AsyncCountersign(self.where.url, self.where.key) as gate, self.agent(script, gate) as agent:
                found: list[Turn] = []
                async with agent.run_stream_events("go") as events:
                    async for event in events:
                        if isinstance(event, AgentRunResultEvent):
                            found.append(self.turn(event.result))
                return found[0]

        return asyncio.run(play())

    def sub_agent(self, script: Script) -> Turn:
        async def play() -> Turn:
            async with AsyncCountersign(self.where.url, self.where.key) as gate:
                inner = self.agent(script, gate, wait=60)

                async def delegate() -> str:
                    """Asks another agent."""
                    return str((await inner.run("go")).output)

                outer = Agent(model_of([[driver.Call("delegate", {}, "outer_1")]]), tools=[delegate])
                return self.turn(await outer.run("go"))

        return asyncio.run(play())

    async def wait(self, script: Script) -> Turn:
        return await self._start(script, wait=60)
