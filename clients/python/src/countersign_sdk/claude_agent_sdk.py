"""Claude Agent SDK: a `PreToolUse` hook defers a held call, and a later run continues it.

```python
governed = GovernedSession(gate)
options = governed.options(ClaudeAgentOptions(mcp_servers={"payments": server}))
async with ClaudeSDKClient(options) as client: ...
save(result.session_id, governed.handles)  # when result.stop_reason == "tool_deferred"
governed = GovernedSession(gate, handles=saved)  # after the decision, in any process
options = governed.options(ClaudeAgentOptions(mcp_servers=..., resume=session_id))
```
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, cast

from claude_agent_sdk import (
    CanUseTool,
    ClaudeAgentOptions,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
)
from claude_agent_sdk.types import HookContext, HookEvent, HookInput, SyncHookJSONOutput

from ._adapter import Governed, handle_for, still_waits
from ._call import AuthorizedCall
from ._function import require_equal
from ._json import JsonObject, as_object
from .aio import AsyncCountersign
from .errors import Aborted, ArgumentsChanged, ChangesRequested, GatewayUnavailable, NotExecuted, StillPending
from .handle import Handle, checked_handle, payload_of

_MCP = "mcp__"
# precedes the id of a held call that the model has to repeat
_AGAIN = "again:"


class GovernedSession:
    """A session whose tools run only if policy or reviewers allow it.

    prefix, tools: the governed tools and their names, as in `Governed`. The tool `refund` of the
    MCP server `payments` is `payments.refund`.
    handles: the handles of held calls, from an earlier run.
    task_id: the task of every conversation; the session's id by default.
    wait: seconds to wait in memory instead of ending the run. A cancelled wait withdraws its call after two minutes.
    """

    def __init__(
        self,
        gate: AsyncCountersign,
        *,
        prefix: str = "",
        tools: Collection[str] | None = None,
        handles: Mapping[str, Any] | None = None,
        task_id: str | None = None,
        wait: float | None = None,
    ) -> None:
        self.handles: dict[str, Handle] = {call: checked_handle(one) for call, one in (handles or {}).items()}
        self._gate = gate
        self._governed = Governed(prefix, tools, task_id)
        self._session: object = None
        self._wait = wait
        self._authorized: dict[str, AuthorizedCall] = {}
        self._agents: dict[str, str | None] = {}
        self._deferred: str | None = None

    def options(self, options: ClaudeAgentOptions) -> ClaudeAgentOptions:
        """Returns the options with the gateway's hooks.

        The given `can_use_tool` decides on tools that are not governed.

        :raises ValueError: `tools` names an MCP server that the options do not have, or a tool that it does not have
        """
        self._require_known(options)
        hooks = {**(options.hooks or {})}
        own: dict[HookEvent, Any] = {
            "PreToolUse": self._before,
            "PostToolUse": self._after,
            "PostToolUseFailure": self._after,
            "Stop": self._stopped,
            "SubagentStop": self._stopped,
            "UserPromptSubmit": self._begun,
        }
        for event, callback in own.items():
            # a hook that fails blocks the call
            hooks[event] = [*hooks.get(event, []), HookMatcher(hooks=[callback], on_failure="block")]
        return replace(options, hooks=hooks, can_use_tool=self._permission(options.can_use_tool))

    def _require_known(self, options: ClaudeAgentOptions) -> None:
        servers = options.mcp_servers
        if not isinstance(servers, dict):
            return
        for name in sorted(self._governed.tools or ()):
            server, _, tool = name.removeprefix(_MCP).partition("__")
            if not name.startswith(_MCP):
                continue
            if server not in servers:
                raise ValueError(f"`tools` names {name}, and the options have no MCP server {server}")
            tools = _tools_of(servers[server])
            if tools is not None and tool not in tools:
                raise ValueError(f"`tools` names {name}, and the MCP server {server} has the tools {', '.join(tools)}")

    async def _before(self, given: HookInput, call_id: str | None, context: HookContext) -> SyncHookJSONOutput:
        """Proposes the call.

        `ask` leads to `can_use_tool` in every permission mode, with the final arguments.
        """
        call = cast("Mapping[str, Any]", given)
        name = self._name_of(call["tool_name"])
        if name is None:
            return {}
        self._session = call["session_id"]
        self._agents[call["tool_use_id"]] = call.get("agent_id")
        try:
            waits = self._wait is None and await self._waits(call, name)
        except NotExecuted as error:
            return _decision("deny", self._refused(error, call["tool_use_id"], call["tool_input"]))
        return _decision("defer" if waits else "ask", "the gateway decides")

    def _task(self) -> str:
        return self._governed.task(self._gate, self._session, self)

    async def _waits(self, call: Mapping[str, Any], name: str) -> bool:
        call_id, payload = call["tool_use_id"], as_object(call["tool_input"])
        known = self._known(call_id, name, payload)
        if known is None:
            handle = await self._governed.apropose(self._gate, name, payload, call_id, self._task())
            self.handles[call_id] = handle
            return handle["status"] == "pending_review" and self._defer(call_id)
        try:
            self._authorized[call_id] = await self._gate.authorize_handle(known, payload=payload, max_wait=0)
        except (StillPending, GatewayUnavailable) as error:
            if not still_waits(error):
                raise
            return self._defer(call_id)
        return False

    def _known(self, call_id: str, name: str, payload: JsonObject) -> Handle | None:
        """Returns the handle of this held call or of the call that it repeats, or None."""
        if call_id not in self.handles:
            again = (key for key, one in self.handles.items() if key.startswith(_AGAIN) and _fits(one, name, payload))
            old = next(again, None)
            if old is None:
                return None
            self.handles[call_id] = self.handles.pop(old)
        return handle_for(name, self.handles[call_id])

    def _defer(self, call_id: str) -> bool:
        """Defers the call. The SDK can continue only one call of a message.

        :raises StillPending: another call is deferred; the model has to repeat this one
        """
        if self._deferred in (None, call_id):
            self._deferred = call_id
            return True
        self.handles[f"{_AGAIN}{call_id}"] = self.handles.pop(call_id)
        raise StillPending(
            "this call waits for review, too: once the other call has ended, make it again with the same arguments"
        )

    def _refused(self, error: NotExecuted, call_id: str, given: object) -> str:
        self.handles.pop(call_id, None)
        if isinstance(error, ChangesRequested):
            self._governed.ask_again(error, given)
        return str(error)

    def _permission(self, free: CanUseTool | None) -> CanUseTool:
        async def can_use_tool(
            tool: str, given: dict[str, Any], context: ToolPermissionContext
        ) -> PermissionResultAllow | PermissionResultDeny:
            name = self._name_of(tool)
            if name is not None:
                return await self._permitted(name, given, str(context.tool_use_id))
            if free is not None:
                return await free(tool, given, context)
            message = f"{tool} needs a permission, and this program has no way to ask for it."
            return PermissionResultDeny(message=message)

        return can_use_tool

    async def _permitted(
        self, name: str, given: dict[str, Any], call_id: str
    ) -> PermissionResultAllow | PermissionResultDeny:
        """Allows the tool to run with the approved arguments, and refuses other arguments."""
        try:
            authorized = self._authorized.get(call_id) or await self._redeemed(name, given, call_id)
            await self._require(given, authorized, call_id)
        except NotExecuted as error:
            return PermissionResultDeny(message=self._refused(error, call_id, given))
        self.handles.pop(call_id, None)
        return PermissionResultAllow(updated_input=cast("dict[str, Any]", authorized.payload))

    async def _redeemed(self, name: str, given: dict[str, Any], call_id: str) -> AuthorizedCall:
        payload, handle = as_object(given), self.handles.get(call_id)
        if handle is None:
            handle = await self._governed.apropose(self._gate, name, payload, call_id, self._task())
        authorized = await self._gate.authorize_handle(handle, payload=payload, max_wait=self._wait or 0.0)
        self._authorized[call_id] = authorized
        return authorized

    async def _require(self, given: dict[str, Any], authorized: AuthorizedCall, call_id: str) -> None:
        try:
            require_equal(given, authorized.payload)
        except NotExecuted as changed:
            self._authorized.pop(call_id, None)
            await self._gate.report(authorized, changed)
            raise

    async def _after(self, given: HookInput, call_id: str | None, context: HookContext) -> SyncHookJSONOutput:
        """Reports the outcome of a tool that ran."""
        call = cast("Mapping[str, Any]", given)
        self._agents.pop(call["tool_use_id"], None)
        authorized = self._authorized.pop(call["tool_use_id"], None)
        if authorized is not None:
            error = RuntimeError(call["error"]) if "error" in call else None
            await self._gate.report(authorized, error)
        return {}

    async def _stopped(self, given: HookInput, call_id: str | None, context: HookContext) -> SyncHookJSONOutput:
        """Reports the calls that an agent did not run because another hook refused their calls."""
        agent = cast("Mapping[str, Any]", given).get("agent_id")
        for call, authorized in list(self._authorized.items()):
            if self._agents.get(call) == agent:
                del self._authorized[call]
                await self._gate.report(authorized, Aborted("another hook refused the call"))
        return {}

    async def _begun(self, given: HookInput, call_id: str | None, context: HookContext) -> SyncHookJSONOutput:
        self._deferred = None
        return {}

    def _name_of(self, tool: str) -> str | None:
        """Returns the gateway's name: `payments.refund` for `mcp__payments__refund`."""
        name = self._governed.name_of(tool)
        if name is None or not tool.startswith(_MCP):
            return name
        return self._governed.prefix + tool.removeprefix(_MCP).replace("__", ".", 1)


def _tools_of(server: Any) -> list[str] | None:
    """Returns the tools of an MCP server of this process, or None for another server."""
    instance: Any = cast("dict[str, Any]", server).get("instance") if isinstance(server, dict) else None
    if instance is None:
        return None
    try:
        # the handler of such a server answers without waiting
        _listing(instance).send(None)
    except StopIteration as ended:
        return [str(tool.name) for tool in getattr(ended.value, "root", ended.value).tools]
    except (AttributeError, ImportError, KeyError, TypeError):
        return None  # another version of MCP
    return None


def _listing(instance: Any) -> Any:
    if hasattr(instance, "get_request_handler"):
        return instance.get_request_handler("tools/list").handler(None, None)
    from mcp.types import ListToolsRequest

    return instance.request_handlers[ListToolsRequest](ListToolsRequest(method="tools/list"))


def _fits(handle: Handle, name: str, payload: JsonObject) -> bool:
    """Returns whether the handle belongs to this call."""
    try:
        payload_of(handle_for(name, handle), payload)
    except ArgumentsChanged:
        return False
    return True


def _decision(decision: Any, reason: str) -> SyncHookJSONOutput:
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        }
    }
