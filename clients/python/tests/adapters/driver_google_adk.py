"""Google ADK, with a session in SQLite."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import driver
from driver import DONE, PREFIX, Script, Turn
from google.adk.agents import LlmAgent
from google.adk.agents._streaming_mode import StreamingMode
from google.adk.agents.run_config import RunConfig
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.agent_tool import AgentTool
from google.genai import types
from pydantic import PrivateAttr

from countersign_sdk import AsyncCountersign
from countersign_sdk.google_adk import GovernedTools

APP = "clerk"
USER = "user"


class ScriptedModel(BaseLlm):
    """Makes the calls of the first turn that is not in the conversation yet."""

    _script: Script = PrivateAttr(default_factory=list)

    def __init__(self, script: Script) -> None:
        super().__init__(model="scripted")
        self._script = script

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents for part in content.parts or []]
        seen = {part.function_call.id for part in parts if part.function_call}
        calls: list[driver.Call] = next((turn for turn in self._script if turn[0].id not in seen), [])
        made = [
            types.Part(function_call=types.FunctionCall(id=call.id, name=call.tool, args=call.arguments))
            for call in calls
        ]
        yield LlmResponse(content=types.Content(role="model", parts=made or [types.Part(text=DONE)]))


class Driver(driver.Driver):
    packages = ["google-adk", "aiosqlite"]  # noqa: RUF012
    oldest = ["google-adk==2.12.0", "aiosqlite"]  # noqa: RUF012

    not_applicable = {  # noqa: RUF012
        "row_middleware_after": "nothing runs between the adapter and the function",
    }

    def agent(self, script: Script, governed: GovernedTools) -> LlmAgent:
        tools: list[Any] = [governed.tool(one) for one in self.functions()]

        def change(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
            args.update(self.changes["before"])

        before = change if "before" in self.changes else None
        return LlmAgent(name="clerk", model=ScriptedModel(script), tools=tools, before_tool_callback=before)

    @asynccontextmanager
    async def governed(self, wait: float | None = None) -> AsyncGenerator[GovernedTools, None]:
        async with AsyncCountersign(self.where.url, self.where.key) as gate:
            yield GovernedTools(gate, prefix=PREFIX, task_id=self.where.task_id, wait=wait)

    def path(self) -> Path:
        return Path(self.where.directory) / "sessions.sqlite"

    async def play(self, agent: LlmAgent, governed: GovernedTools | None = None, **more: Any) -> Turn:
        """Starts a session, or continues it with the answer of `governed`."""
        sessions = SqliteSessionService(str(self.path()))
        runner = Runner(app_name=APP, agent=agent, session_service=sessions)
        where: dict[str, Any] = {"app_name": APP, "user_id": USER, "session_id": "session"}
        message: types.Content | None = types.Content(role="user", parts=[types.Part(text="go")])
        if governed is None:
            await sessions.create_session(**where)
        else:
            session = await sessions.get_session(**where)
            assert session is not None
            message = await governed.answer(session)
        texts: list[str] = []
        if message is not None:
            run = runner.run_async(user_id=USER, session_id="session", new_message=message, **more)
            async for event in run:
                parts = event.content.parts or [] if event.content else []
                texts += [part.text for part in parts if part.text]
        await runner.close()
        session = await sessions.get_session(**where)
        assert session is not None
        told = {
            str(one.id): json.dumps(one.response) for event in session.events for one in event.get_function_responses()
        }
        return Turn(True, told) if texts[-1:] == [DONE] else Turn(False, told, "the session is in its file")

    async def _start(self, script: Script, wait: float | None = None, **more: Any) -> Turn:
        async with self.governed(wait) as governed:
            return await self.play(self.agent(script, governed), **more)

    def start(self, script: Script) -> Turn:
        return asyncio.run(self._start(script))

    def resume(self, script: Script, saved: str, change: dict[str, Any] | None = None) -> Turn:
        if change is not None:
            self.substitute(change)

        async def play() -> Turn:
            async with self.governed() as governed:
                return await self.play(self.agent(script, governed), governed)

        return asyncio.run(play())

    def substitute(self, change: dict[str, Any]) -> None:
        with closing(sqlite3.connect(self.path())) as database:
            rows = database.execute("select rowid, event_data from events").fetchall()
            for row, text in rows:
                other = str(text).replace('"args":{"n":1}', f'"args":{json.dumps(change)}')
                database.execute("update events set event_data = ? where rowid = ?", (other, row))
            database.commit()

    def stream(self, script: Script) -> Turn:
        return asyncio.run(self._start(script, run_config=RunConfig(streaming_mode=StreamingMode.SSE)))

    def sub_agent(self, script: Script) -> Turn:
        async def play() -> Turn:
            async with self.governed(60) as governed:
                inner = self.agent(script, governed)
                calls = [[driver.Call("clerk", {"request": "go"}, "outer_1")]]
                return await self.play(LlmAgent(name="boss", model=ScriptedModel(calls), tools=[AgentTool(inner)]))

        return asyncio.run(play())

    async def wait(self, script: Script) -> Turn:
        return await self._start(script, wait=60)
