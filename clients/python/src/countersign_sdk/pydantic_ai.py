"""Pydantic AI: a held call ends the run with `DeferredToolRequests`, and a later run continues it.

```python
toolset = GovernedToolset(FunctionToolset([refund]), gate, prefix="payments.")
agent = Agent(model, toolsets=[toolset], output_type=[str, DeferredToolRequests])
result = await agent.run("Refund order 7")
requests = result.output  # when it is a DeferredToolRequests: save it, and result.all_messages()
await agent.run(message_history=messages, deferred_tool_results=deferred_results(requests))
```
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from pydantic_ai import ApprovalRequired, DeferredToolRequests, DeferredToolResults, RunContext
from pydantic_ai.toolsets import ToolsetTool, WrapperToolset

from ._adapter import Governed, handle_for, still_waits
from ._function import require_equal
from ._json import JsonObject, as_object
from .aio import AsyncCountersign
from .errors import ChangesRequested, GatewayUnavailable, NotExecuted, StillPending
from .handle import Handle

_MEMBER = "countersign"


@dataclass
class GovernedToolset(WrapperToolset[Any]):
    """A toolset whose tools run only if policy or reviewers allow it.

    prefix: precedes every tool name.
    task_id: the task of the conversation, instead of the client's.
    wait: seconds to wait in memory before the run ends with a deferred request. A cancelled wait
    withdraws its call. An agent inside a tool must wait, because it cannot end the outer run.
    """

    gate: AsyncCountersign
    _: KW_ONLY
    prefix: str = ""
    task_id: str | None = None
    wait: float | None = None
    governed: Governed = field(default_factory=Governed)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        payload: JsonObject = {}
        known_as = f"{self.prefix}{name}"

        async def run(approved: JsonObject) -> Any:
            require_equal(tool_args, approved)
            return await self.wrapped.call_tool(name, tool_args, ctx, tool)

        try:
            payload = as_object(tool_args)
            handle = _known(ctx, known_as)
            wait = 0.0
            if handle is None:
                call_id = str(ctx.tool_call_id)
                handle = await self.governed.apropose(self.gate, known_as, payload, call_id, self.task_id)
                wait = self._first_wait(handle)
            return await self._resumed(handle, run, payload, wait)
        except NotExecuted as error:
            if isinstance(error, ChangesRequested):
                self.governed.ask_again(error, payload)
            return str(error)

    def _first_wait(self, handle: Handle) -> float:
        """Returns the seconds to wait.

        :raises ApprovalRequired: the call is held, and `wait` is not set
        """
        if self.wait is None and handle["status"] == "pending_review":
            raise self._required(handle)
        return self.wait or 0.0

    async def _resumed(self, handle: Handle, run: Any, payload: JsonObject, wait: float) -> Any:
        try:
            return await self.gate.resume(handle, run, payload=payload, max_wait=wait)
        except (StillPending, GatewayUnavailable) as pending:
            if not still_waits(pending):
                raise
            raise self._required(handle) from pending

    def _required(self, handle: Handle) -> ApprovalRequired:
        return ApprovalRequired(metadata={_MEMBER: handle, "console_url": self.gate.page_of(handle)})


def deferred_results(requests: DeferredToolRequests) -> DeferredToolResults:
    """Returns the results that continue a run.

    Each governed call asks the gateway when it runs. Add results for other calls yourself.
    """
    own = {call_id: given for call_id, given in requests.metadata.items() if _MEMBER in given}
    return DeferredToolResults(approvals=dict.fromkeys(own, True), metadata=own)


def _known(ctx: RunContext[Any], tool: str) -> Handle | None:
    """Returns the handle of a deferred call, or None for a call that has to be proposed.

    A call that the program itself approved has no handle.
    """
    given = ctx.tool_call_metadata
    return handle_for(tool, given[_MEMBER]) if isinstance(given, dict) and _MEMBER in given else None
