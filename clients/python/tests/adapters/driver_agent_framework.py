"""Microsoft Agent Framework, with a run's session and `user_input_requests` as JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Any

import driver
from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    function_middleware,
)
from driver import DONE, PREFIX, Script, Turn

from countersign_sdk import AsyncCountersign
from countersign_sdk.agent_framework import CountersignMiddleware, resume_message


class ScriptedModel(BaseChatClient[Any]):
    """Makes the calls of the first turn that is not in the conversation yet."""

    script: Script

    def answer(self, messages: Sequence[Message]) -> list[Content]:
        contents = [content for message in messages for content in message.contents]
        seen = {content.call_id for content in contents if content.type == "function_call"}
        calls: list[driver.Call] = next((turn for turn in self.script if turn[0].id not in seen), [])
        made = [Content.from_function_call(call.id, call.tool, arguments=call.arguments) for call in calls]
        return made or [Content.from_text(DONE)]

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        contents = self.answer(messages)

        async def whole() -> ChatResponse[Any]:
            return ChatResponse(messages=[Message(role="assistant", contents=contents)])

        async def updates() -> AsyncIterator[ChatResponseUpdate]:
            for content in contents:
                yield ChatResponseUpdate(role="assistant", contents=[content])

        return self._build_response_stream(updates()) if stream else whole()


class Model(FunctionInvocationLayer[Any], ScriptedModel):
    """The framework's layer that calls functions, around the scripted model."""


def model_of(script: Script) -> Model:
    model = Model(function_invocation_configuration={"include_detailed_errors": True})
    model.script = script
    return model


class Driver(driver.Driver):
    packages = ["agent-framework-core"]  # noqa: RUF012
    oldest = ["agent-framework-core==1.22.0"]  # noqa: RUF012

    not_applicable = {  # noqa: RUF012
        "killed_model": "no held call with an `Enum` continues",
        "row_exclude": "the framework leaves the field out before it asks an adapter",
        "row_serializer": "the framework runs what the serializer made",
        "row_edited": "the framework runs what the serializer made",
        "row_middleware_after": "the framework asks for another approval",
        "row_kwargs": "the framework has no schema for them",
    }

    def agent(
        self, script: Script, gate: AsyncCountersign, wait: float | None = None, after: Sequence[Any] = ()
    ) -> Agent[Any]:
        governed = CountersignMiddleware(gate, prefix=PREFIX, task_id=self.where.task_id, wait=wait)
        middleware = [*self.changed("before"), governed, *self.changed("after"), *after]
        return Agent(model_of(script), name="clerk", tools=self.functions(), middleware=middleware)

    def changed(self, side: str) -> list[Any]:
        if side not in self.changes:
            return []

        @function_middleware
        async def change(context: Any, call_next: Any) -> None:
            context.arguments = self.changes[side]
            await call_next()

        return [change]

    def play_rows(self, script: Script) -> Turn:
        return asyncio.run(self._start(script, wait=60))

    def turn(self, result: Any, session: AgentSession, told: dict[str, str]) -> Turn:
        contents = [content for message in result.messages for content in message.contents]
        told |= {str(one.call_id): str(one.result) for one in contents if one.type == "function_result"}
        if result.user_input_requests:
            requests = [one.to_dict() for one in result.user_input_requests]
            return Turn(False, told, json.dumps({"session": session.to_dict(), "requests": requests, "told": told}))
        return Turn(result.text.endswith(DONE), told)

    async def _start(self, script: Script, wait: float | None = None) -> Turn:
        async with AsyncCountersign(self.where.url, self.where.key) as gate:
            session = AgentSession()
            result = await self.agent(script, gate, wait).run("go", session=session)
            return self.turn(result, session, {})

    def start(self, script: Script) -> Turn:
        return asyncio.run(self._start(script))

    def resume(self, script: Script, saved: str, change: dict[str, Any] | None = None) -> Turn:
        kept = json.loads(saved if change is None else saved.replace('"arguments": {"n": 1}', _arguments(change)))

        async def play() -> Turn:
            async with AsyncCountersign(self.where.url, self.where.key) as gate:
                session = AgentSession.from_dict(kept["session"])
                message = resume_message([Content.from_dict(one) for one in kept["requests"]])
                result = await self.agent(script, gate).run(message, session=session)
                return self.turn(result, session, kept["told"])

        return asyncio.run(play())

    def stream(self, script: Script) -> Turn:
        async def play() -> Turn:
            async with AsyncCountersign(self.where.url, self.where.key) as gate:
                session = AgentSession()
                stream = self.agent(script, gate).run("go", session=session, stream=True)
                async for _ in stream:
                    pass
                return self.turn(await stream.get_final_response(), session, {})

        return asyncio.run(play())

    def sub_agent(self, script: Script) -> Turn:
        async def play() -> Turn:
            async with AsyncCountersign(self.where.url, self.where.key) as gate:
                inner = self.agent(script, gate, wait=60).as_tool(name="delegate", description="Asks another agent.")
                outer = Agent(model_of([[driver.Call("delegate", {"task": "go"}, "outer_1")]]), tools=[inner])
                session = AgentSession()
                return self.turn(await outer.run("go", session=session), session, {})

        return asyncio.run(play())

    async def wait(self, script: Script) -> Turn:
        return await self._start(script, wait=60)


def _arguments(change: dict[str, Any]) -> str:
    return f'"arguments": {json.dumps(change)}'
