"""A refund agent in LangGraph that you may kill during the review.

    python refund_agent.py start    proposes the refund, and ends with a held call
    python refund_agent.py resume   continues in a new process after the decision

Set COUNTERSIGN_URL and COUNTERSIGN_AGENT_KEY. The agent keeps its state in agent.sqlite.
Its model is scripted, so that it runs anywhere.
"""

from __future__ import annotations

import sqlite3
import sys
from typing import Any

from countersign_sdk import Countersign
from countersign_sdk.langgraph import CountersignMiddleware, resume_command
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver


class ScriptedModel(BaseChatModel):
    """Calls the refund tool, then repeats the tool's result. Replace this class with a real model."""

    _llm_type = "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: list[Any], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        if isinstance(messages[-1], ToolMessage):
            answer = AIMessage(f"The tool answered: {messages[-1].content}")
        else:
            call = {"name": "refund", "args": {"order": "A-7", "amount_cents": 12_500}, "id": "call_1"}
            answer = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=answer)])


@tool
def refund(order: str, amount_cents: int) -> str:
    """Refunds an order."""
    return f"refunded {amount_cents / 100:.2f} for {order}"


def main(what: str) -> None:
    checkpoints = SqliteSaver(sqlite3.connect("agent.sqlite", check_same_thread=False))
    with Countersign() as gate:
        guarded = CountersignMiddleware(gate, prefix="payments.")
        agent: Any = create_agent(ScriptedModel(), [refund], middleware=[guarded], checkpointer=checkpoints)
        config = {"configurable": {"thread_id": "case-7"}}
        given = {"messages": [("user", "Refund order A-7")]} if what == "start" else resume_command(agent, config)
        agent.invoke(given, config)
        state = agent.get_state(config)
        print("held: people have to decide" if state.next else state.values["messages"][-1].content)


if __name__ == "__main__":
    main(sys.argv[1])
