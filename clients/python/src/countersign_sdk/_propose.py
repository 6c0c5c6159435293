"""The first half of a call: its contract, its proposal and the decision on it."""

from __future__ import annotations

import difflib

from ._call import Core, Progress, Proposal
from ._contract import misfits
from ._json import JsonObject
from ._steps import Patience, Steps, attempt
from ._wire import resolution, submission
from .errors import GatewayUnavailable, InvalidPayload, NotExecuted, UnexpectedAnswer, UnknownTool

# a gateway that replays more allow verdicts for one id does not separate old answers from new answers
_MOST_REPLAYED = 1_000


def checked(core: Core, proposal: Proposal, patience: Patience) -> Steps[None]:
    """Checks the payload against the tool's contract.

    A cached contract may be out of date, so the client resolves the contract again before it refuses the payload.

    :raises InvalidPayload: the payload does not fit the contract
    :raises UnknownTool: the gateway does not let this agent use the tool
    """
    known = core.contracts.get(proposal.tool)
    if known is not None and not any(misfits(proposal.payload, known)):
        return
    schema = yield from _contract(core, proposal.tool, patience)
    found = list(misfits(proposal.payload, schema))
    if found:
        places = "; ".join(f"{place or 'the payload'} {message}" for place, message in found)
        raise InvalidPayload(
            f"the payload does not fit the contract of {proposal.tool}: {places}", places=[place for place, _ in found]
        )


def _contract(core: Core, tool: str, patience: Patience) -> Steps[JsonObject]:
    members, _ = yield from attempt(resolution(tool), patience)
    tools = members.get("tools")
    for one in tools if isinstance(tools, list) else []:
        if isinstance(one, dict) and one.get("name") == tool and isinstance(one.get("input_schema"), dict):
            schema = one["input_schema"]
            assert isinstance(schema, dict)
            core.contracts[tool] = schema
            return schema
    suggested = yield from _suggestion(tool, patience)
    raise UnknownTool(f"the gateway does not let this agent use {tool}{suggested}")


def _suggestion(tool: str, patience: Patience) -> Steps[str]:
    """The tool of this agent with the nearest name, as a question. Empty without such a tool, or without an answer."""
    try:
        members, _ = yield from attempt(resolution(), patience)
    except NotExecuted:
        return ""
    tools = members.get("tools")
    names = [str(one.get("name")) for one in tools if isinstance(one, dict)] if isinstance(tools, list) else []
    near = difflib.get_close_matches(tool, names, n=1, cutoff=0.75)
    return f" (did you mean {near[0]}?)" if near else ""


def proposed(core: Core, progress: Progress, patience: Patience) -> Steps[JsonObject]:
    """Proposes the call, and returns the decision. Saves the decided proposal in `progress`.

    An allow verdict permits one run. Under the same id, policy evaluates the next run again, with current
    limits. The client cannot know whether a first answer was lost or used by another process.
    It would rather count a call twice than run it twice.
    """
    first = progress.proposal
    for _ in range(_MOST_REPLAYED + 1):
        again = core.allows.used(first.action_hash) if first.comes_again else 0
        progress.proposal = first.another(again)
        decision, replayed = yield from submitted(progress, patience)
        if decision.get("status") != "allow":
            return decision
        fresh = not first.comes_again or core.allows.use(first.action_hash, again)
        if fresh and not (replayed and first.comes_again):
            return decision
    raise GatewayUnavailable("allowed, but the gateway marks every answer as given before")


def submitted(progress: Progress, patience: Patience) -> Steps[tuple[JsonObject, bool]]:
    proposal = progress.proposal
    progress.phase = "proposing"
    body: JsonObject = {**proposal.claims, "tool_name": proposal.tool, "payload": proposal.payload}
    decision, answer = yield from attempt(submission(proposal.task_id, body, proposal.action_hash), patience)
    thread_id = decision.get("thread_id")
    if decision.get("status") == "pending_review" and not isinstance(thread_id, str):
        raise UnexpectedAnswer("a pending decision without a thread")
    progress.thread_id = thread_id if isinstance(thread_id, str) else None
    progress.phase = "proposed"
    return decision, answer.replayed


def check_echo(proposal: Proposal, decision: JsonObject) -> None:
    """Checks that the decision is about this action.

    :raises UnexpectedAnswer: the task or the action hash differs
    """
    if decision.get("action_hash") != proposal.action_hash or decision.get("task_id") != proposal.task_id:
        raise UnexpectedAnswer("the decision is about another action")
