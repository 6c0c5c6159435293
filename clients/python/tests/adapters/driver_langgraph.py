"""LangChain agents on LangGraph. The processes of a test share a SQLite checkpointer."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import driver
from driver import DONE, PREFIX, Script, Turn, synchronous
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from countersign_sdk import AsyncCountersign, Countersign
from countersign_sdk.langgraph import CountersignMiddleware, resume_command

GOVERNED = ["allowed", "held", "rejected", "failing"]


class ScriptedModel(BaseChatModel):
    """Makes the calls of the conversation's current turn."""

    script: list[list[dict[str, Any]]]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        turn = sum(isinstance(message, AIMessage) for message in messages)
        calls = self.script[turn] if turn < len(self.script) else []
        message = AIMessage("" if calls else DONE, tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


def model_of(script: Script) -> ScriptedModel:
    turns = [[{"name": call.tool, "args": call.arguments, "id": call.id} for call in turn] for turn in script]
    return ScriptedModel(script=turns)


class Driver(driver.Driver):
    packages = ["langchain", "langgraph", "langgraph-checkpoint-sqlite"]  # noqa: RUF012
    oldest = ["langchain==1.3.0", "langgraph==1.2.0", "langgraph-checkpoint-sqlite==3.1.0"]  # noqa: RUF012

    not_applicable = {  # noqa: RUF012
        "row_kwargs": "the framework makes one argument of them, so the call is refused",
        "row_positional": "the framework has no schema for it, so the call is refused",
        "row_middleware_before": "the call is proposed before, so it is refused",
    }

    @property
    def config(self) -> dict[str, Any]:
        return {"configurable": {"thread_id": self.where.task_id}}

    def tools(self) -> list[Any]:
        return [tool(synchronous(one)) for one in self.functions()]

    def changed(self, side: str) -> list[Any]:
        if side not in self.changes:
            return []

        @wrap_tool_call
        def change(request: Any, handler: Any) -> Any:
            return handler(request.override(tool_call={**request.tool_call, "args": self.changes[side]}))

        return [change]

    def agent(self, script: Script, *, delegates: bool = False) -> Any:
        gate = Countersign(self.where.url, self.where.key)
        database = sqlite3.connect(Path(self.where.directory) / "checkpoints.sqlite", check_same_thread=False)
        saver = SqliteSaver(database)
        guarded: list[Any] = [CountersignMiddleware(gate, prefix=PREFIX)]
        guarded = self.changed("before") + guarded + self.changed("after")
        if not delegates:
            return create_agent(model_of(script), self.tools(), middleware=guarded, checkpointer=saver)
        inner: Any = create_agent(model_of(script), self.tools(), middleware=guarded)

        @tool
        def delegate(task: str) -> str:
            """Asks another agent."""
            return str(inner.invoke({"messages": [("user", task)]})["messages"][-1].content)

        outer = model_of([[driver.Call("delegate", {"task": "go"}, "outer_1")]])
        return create_agent(outer, [delegate], checkpointer=saver)

    def _turn(self, agent: Any) -> Turn:
        state = agent.get_state(self.config)
        messages = state.values["messages"]
        told = {one.tool_call_id: str(one.content) for one in messages if isinstance(one, ToolMessage)}
        ended = not state.next and messages[-1].content == DONE
        return Turn(ended, told, None if ended else "checkpoint")

    def start(self, script: Script) -> Turn:
        agent = self.agent(script)
        agent.invoke({"messages": [("user", "go")]}, self.config)
        return self._turn(agent)

    def resume(self, script: Script, saved: str, change: dict[str, Any] | None = None) -> Turn:
        agent = self.agent(script, delegates=saved == "delegates")
        if change is not None:
            message = agent.get_state(self.config).values["messages"][-1]
            message.tool_calls[0]["args"] = change
            agent.update_state(self.config, {"messages": [message]}, as_node="CountersignMiddleware.after_model")
            agent.invoke(None, self.config)
        agent.invoke(resume_command(agent, self.config), self.config)
        turn = self._turn(agent)
        return Turn(turn.ended, turn.told, turn.saved and saved)

    def stream(self, script: Script) -> Turn:
        agent = self.agent(script)
        for _ in agent.stream({"messages": [("user", "go")]}, self.config, stream_mode=["updates", "messages"]):
            pass
        return self._turn(agent)

    def sub_agent(self, script: Script) -> Turn:
        agent = self.agent(script, delegates=True)
        agent.invoke({"messages": [("user", "go")]}, self.config)
        turn = self._turn(agent)
        return Turn(turn.ended, turn.told, turn.saved and "delegates")

    async def wait(self, script: Script) -> Turn:
        async with AsyncCountersign(self.where.url, self.where.key) as gate:
            middleware = CountersignMiddleware(gate, prefix=PREFIX, wait=60)
            agent: Any = create_agent(
                model_of(script), self.tools(), middleware=[middleware], checkpointer=InMemorySaver()
            )
            await agent.ainvoke({"messages": [("user", "go")]}, self.config)
            return self._turn(agent)
