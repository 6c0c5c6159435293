"""Claude Agent SDK: the SDK's own program, which calls a scripted model."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import driver
from claude_agent_sdk import (
    AgentDefinition,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ResultMessage,
    SdkMcpTool,
    create_sdk_mcp_server,
)
from driver import DONE, PREFIX, Script, Turn

from countersign_sdk import AsyncCountersign
from countersign_sdk.claude_agent_sdk import GovernedSession

SERVER = PREFIX.removesuffix(".")
GOVERNED = {f"mcp__{SERVER}__{name}" for name in ("allowed", "held", "rejected", "failing")}
TYPES = {"n": {"type": "integer"}, "memo": {"type": ["string", "null"]}}


# the prompt of an agent that delegates, and its only call
DELEGATE = "let the clerk do it"
ORDERS = {"description": "work", "prompt": "go", "subagent_type": "clerk", "run_in_background": False}
DELEGATION: list[dict[str, Any]] = [{"type": "tool_use", "id": "outer_1", "name": "Agent", "input": ORDERS}]


class ScriptedModel(ThreadingHTTPServer):
    """Makes the calls of the first turn that is not in the conversation yet.

    `told`: the results that the model read, by call id.
    """

    daemon_threads = True

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = script
        self.told: dict[str, str] = {}

    def answer(self, messages: list[Any]) -> list[dict[str, Any]]:
        blocks = [one for message in messages if isinstance(message["content"], list) for one in message["content"]]
        seen = {one["id"] for one in blocks if one["type"] == "tool_use"}
        self.told |= {one["tool_use_id"]: json.dumps(one["content"]) for one in blocks if one["type"] == "tool_result"}
        if DELEGATE in json.dumps(messages[0]):
            return DELEGATION if DELEGATION[0]["id"] not in seen else [{"type": "text", "text": DONE}]
        calls: list[driver.Call] = next((turn for turn in self.script if turn[0].id not in seen), [])
        return [
            {"type": "tool_use", "id": call.id, "name": f"mcp__{SERVER}__{call.tool}", "input": call.arguments}
            for call in calls
        ] or self.again(blocks, seen)

    def again(self, blocks: list[Any], seen: set[str]) -> list[dict[str, Any]]:
        """Repeats a call if its result asks for it."""
        made = [
            {**one, "id": f"{one['id']}_again"}
            for one in blocks
            if one["type"] == "tool_use" and "make it again" in self.told.get(one["id"], "")
        ]
        return [one for one in made if one["id"] not in seen] or [{"type": "text", "text": DONE}]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ScriptedModel

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self.send(b"", "application/json")

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        content = self.server.answer(asked["messages"])
        stop = {"stop_reason": "tool_use" if content[0]["type"] == "tool_use" else "end_turn", "stop_sequence": None}
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "m", "type": "message", "role": "assistant", "model": asked["model"], "usage": usage}
        events: list[dict[str, Any]] = [{"type": "message_start", "message": {**message, "content": []}}]
        for index, block in enumerate(content):
            empty: dict[str, Any] = {"text": ""}
            if block["type"] == "text":
                delta = {"type": "text_delta", "text": block["text"]}
            else:
                empty = {"input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events.append({"type": "content_block_start", "index": index, "content_block": {**block, **empty}})
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
            events.append({"type": "content_block_stop", "index": index})
        events += [{"type": "message_delta", "delta": stop, "usage": usage}, {"type": "message_stop"}]
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self.send(text.encode(), "text/event-stream")

    def send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def model_of(script: Script) -> Iterator[ScriptedModel]:
    with ScriptedModel(script) as model:
        threading.Thread(target=model.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield model
        finally:
            model.shutdown()


class Driver(driver.Driver):
    packages = ["claude-agent-sdk"]  # noqa: RUF012
    oldest = ["claude-agent-sdk==0.2.186"]  # noqa: RUF012
    not_applicable = dict.fromkeys(("rows", "killed_model"), "a tool of the SDK gets JSON, as the model wrote it")

    def tool(self, name: str, **optional: Any) -> SdkMcpTool[Any]:
        async def run(arguments: Any) -> dict[str, Any]:
            return {"content": [{"type": "text", "text": self.where.run(name, **arguments)}]}

        schema = {"type": "object", "properties": {"n": TYPES["n"], **optional}, "required": ["n"]}
        return SdkMcpTool(name, "Is governed.", schema, run)

    def options(self, url: str, **more: Any) -> ClaudeAgentOptions:
        home = str(Path(self.where.directory) / "home")
        names = ("allowed", "rejected", "failing")
        tools = [self.tool("held", memo=TYPES["memo"]), *(self.tool(name) for name in names)]
        env = {
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CONFIG_DIR": home,
            "HOME": home,
        }
        server = create_sdk_mcp_server(SERVER, tools=tools)
        options = ClaudeAgentOptions(env=env, cwd=self.where.directory, model="claude-sonnet-4-5")
        return replace(options, **{"tools": [], "setting_sources": [], "mcp_servers": {SERVER: server}, **more})

    async def _play(
        self, script: Script, kept: Any = None, wait: float | None = None, prompt: str = "go", **more: Any
    ) -> Turn:
        handles = kept["handles"] if kept else None
        with model_of(script) as model:
            async with AsyncCountersign(self.where.url, self.where.key) as gate:
                governed = GovernedSession(gate, tools=GOVERNED, handles=handles, task_id=self.where.task_id, wait=wait)
                options = self.options(f"http://127.0.0.1:{model.server_port}", **more)
                async with ClaudeSDKClient(governed.options(options)) as client:
                    if kept is None:
                        await client.query(prompt)
                    found = [one async for one in client.receive_response() if isinstance(one, ResultMessage)]
            if found[0].stop_reason == "tool_deferred":
                saved = {"session": found[0].session_id, "handles": governed.handles}
                return Turn(False, model.told, json.dumps(saved))
            return Turn(found[0].result == DONE, model.told)

    def start(self, script: Script) -> Turn:
        return asyncio.run(self._play(script))

    def resume(self, script: Script, saved: str, change: dict[str, Any] | None = None) -> Turn:
        kept = json.loads(saved)
        if change is not None:
            for path in Path(self.where.directory).glob("home/projects/*/*.jsonl"):
                path.write_text(path.read_text().replace('"input":{"n":1}', f'"input":{json.dumps(change)}'))
        return asyncio.run(self._play(script, kept, resume=kept["session"]))

    def stream(self, script: Script) -> Turn:
        return asyncio.run(self._play(script, include_partial_messages=True))

    def sub_agent(self, script: Script) -> Turn:
        clerk = AgentDefinition(description="Does the work.", prompt="Work.", tools=[f"mcp__{SERVER}__held"])
        more: dict[str, Any] = {"agents": {"clerk": clerk}, "tools": ["Agent"], "allowed_tools": ["Agent(clerk)"]}
        return asyncio.run(self._play(script, wait=60, prompt=DELEGATE, **more))

    async def wait(self, script: Script) -> Turn:
        return await self._play(script, wait=60)
