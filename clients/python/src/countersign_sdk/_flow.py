"""Whole calls as steps, for `guard`, `propose`, `resume` and the rest of a client. No I/O."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar, cast

from ._call import AuthorizedCall, Core, NotStarted, Options, Progress, Proposal, check_options, proposal_from
from ._contract_of import contract_of
from ._decide import approved, is_decided, permitted, redeem, refused, revision, tell_held
from ._differences import differences
from ._json import Json, JsonObject
from ._propose import check_echo, checked, proposed, submitted
from ._steps import Background, Invoke, Patience, Steps, attempt, quietly
from ._wire import Request, outcome_of, resolution, withdrawal
from .errors import ChangesRequested, ContractsDiffer, GatewayUnavailable, NotExecuted, StillPending
from .handle import Handle, payload_of, sized
from .tracing import span

T = TypeVar("T")
Ready: TypeAlias = Callable[[JsonObject], None]

_log = logging.getLogger("countersign")

# the time limit for reports, and for requests after the caller gave up, once no caller waits for them
_BACKGROUND_SECONDS = 10.0
# the most tool names in one request
_NAMES_AT_ONCE = 256


def guarded(core: Core, proposal: Proposal, run: Callable[[Any], object], options: Options) -> Steps[object]:
    """Proposes the call, waits, redeems the proof, runs the tool once and reports."""
    progress = _begun(core, proposal, options, getattr(run, "ready", None))
    call = yield from _governed(core, progress, _permitted(core, progress, options))
    return (yield from executed(core, call, run))


def authorize_steps(core: Core, proposal: Proposal, options: Options) -> Steps[AuthorizedCall]:
    """Proposes the call, waits, redeems the proof and returns the call that may run."""
    progress = _begun(core, proposal, options)
    return (yield from _governed(core, progress, _permitted(core, progress, options)))


def _permitted(core: Core, progress: Progress, options: Options) -> Steps[AuthorizedCall]:
    decision = yield from _proposed(core, progress)
    with span("countersign.decide", progress.proposal, progress.thread_id):
        decision = yield from approved(core, progress, decision, options)
        return (yield from permitted(core, progress, decision))


def _begun(core: Core, proposal: Proposal, options: Options, ready: Ready | None = None) -> Progress:
    return Progress(proposal, deadline=core.clock.now() + options.get("deadline", float("inf")), ready=ready)


def _proposed(core: Core, progress: Progress) -> Steps[JsonObject]:
    patience = progress.patience(core.clock)
    with span("countersign.propose", progress.proposal):
        yield from checked(core, progress.proposal, patience)
        return (yield from proposed(core, progress, patience))


def _decided(core: Core, progress: Progress, options: Options) -> Steps[JsonObject]:
    decision = yield from _proposed(core, progress)
    with span("countersign.decide", progress.proposal, progress.thread_id):
        return (yield from approved(core, progress, decision, options))


def propose_steps(core: Core, proposal: Proposal, options: Options, keep_payload: bool) -> Steps[Handle]:
    """Proposes the call and returns its handle.

    :raises NotExecuted: policy rejects the call
    """
    progress = _begun(core, proposal, options)
    return (yield from _governed(core, progress, _proposal_only(core, progress, options, keep_payload)))


def _proposal_only(core: Core, progress: Progress, options: Options, keep_payload: bool) -> Steps[Handle]:
    decision = yield from _proposed(core, progress)
    status = decision.get("status")
    if status not in ("allow", "pending_review"):
        raise refused(decision)
    check_echo(progress.proposal, decision)
    if status == "allow":
        core.allows.keep(progress.proposal.action_hash)
    elif is_decided(decision):
        progress.is_decided = True
    else:
        yield from tell_held(core, progress, decision, options)
    return handle_of(progress, keep_payload)


def resolved_tools(core: Core, names: Sequence[str]) -> Steps[list[JsonObject]]:
    """Returns the contracts of these tools, or of all tools if no names are given.

    Requests the names in `more` of each answer until all contracts have arrived.
    """
    patience = Patience(core.clock)
    contracts: list[JsonObject] = []
    page, left = list(names[:_NAMES_AT_ONCE]), list(names[_NAMES_AT_ONCE:])
    while True:
        members, _ = yield from attempt(resolution(*page), patience)
        tools, unknown, more = (_listed(members, name) for name in ("tools", "unknown", "more"))
        contracts += [one for one in tools if isinstance(one, dict)]
        left = [*(name for name in more if isinstance(name, str)), *left]
        # an empty answer ends the loop; otherwise the loop might never end
        if not left or not (tools or unknown):
            return contracts
        page, left = left[:_NAMES_AT_ONCE], left[_NAMES_AT_ONCE:]


def compared(core: Core) -> Steps[None]:
    """Compares the decorated functions with the contracts of the gateway.

    :raises ContractsDiffer: a call of a function would be refused
    """
    names = sorted(core.functions)
    contracts = {str(one.get("name")): one for one in (yield from resolved_tools(core, names))} if names else {}
    found = [f"{name}: the gateway does not let this agent use it" for name in names if name not in contracts]
    for name in contracts.keys() & core.functions.keys():
        for function in core.functions[name]:
            schema = cast("JsonObject", contract_of(function)["input_schema"])
            found += differences(name, schema, contracts[name].get("input_schema"))
    if found:
        raise ContractsDiffer(sorted(found))


def _listed(members: JsonObject, name: str) -> list[Json]:
    value = members.get(name, [])
    return value if isinstance(value, list) else []


def handle_of(progress: Progress, keep_payload: bool = True) -> Handle:
    proposal = progress.proposal
    handle: dict[str, object] = {
        "v": 1,
        "status": "allow" if progress.thread_id is None else "approved" if progress.is_decided else "pending_review",
        "task_id": proposal.task_id,
        "tool_name": proposal.tool,
        "nonce": proposal.nonce,
        "action_hash": proposal.action_hash,
    }
    if proposal.again:
        handle["again"] = proposal.again
    if progress.thread_id is not None:
        handle["thread_id"] = progress.thread_id
    if keep_payload:
        handle["payload"] = proposal.payload
    return sized(cast("Handle", handle))


def resumed(
    core: Core, handle: Handle, payload: object, run: Callable[[Any], object], options: Options
) -> Steps[object]:
    call = yield from authorized_from(core, handle, payload, options, getattr(run, "ready", None))
    return (yield from executed(core, call, run))


@dataclass(frozen=True)
class Approval:
    """A decision that allows a call. Its proof is not redeemed yet."""

    progress: Progress
    decision: JsonObject


def authorized_from(
    core: Core, handle: Handle, payload: object, options: Options, ready: Ready | None = None
) -> Steps[AuthorizedCall]:
    """Returns the authorized call of a handle that this or another process proposed."""
    approval = yield from approval_from(core, handle, payload, options, ready)
    return (yield from _authorized_by(core, approval))


def approval_from(
    core: Core, handle: Handle, payload: object, options: Options, ready: Ready | None = None
) -> Steps[Approval]:
    """Waits for the decision on a call that this or another process proposed."""
    check_options(options)
    progress = _begun(core, proposal_from(handle, payload_of(handle, payload)), options, ready)
    # before the poll, which delivers the proof
    progress.check()
    if handle["status"] == "allow":
        if core.allows.take(handle["action_hash"]):
            return Approval(progress, {"status": "allow"})
        # another process may have proposed the call or used its allow verdict, so policy evaluates the call again
        progress.proposal = progress.proposal.another(0)
        return Approval(progress, (yield from _governed(core, progress, _decided(core, progress, options))))
    progress.thread_id = handle.get("thread_id")
    progress.phase = "proposed"
    waiting: JsonObject = {"status": "pending_review", "thread_id": progress.thread_id}
    silent: Options = {**options, "on_held": lambda _: None}
    return Approval(progress, (yield from _governed(core, progress, approved(core, progress, waiting, silent))))


def run_approved(core: Core, approval: Approval, run: Callable[[Any], object]) -> Steps[object]:
    """Redeems the proof of an approval, runs the call once and reports."""
    approval.progress.ready = getattr(run, "ready", None)
    call = yield from _authorized_by(core, approval)
    return (yield from executed(core, call, run))


def _authorized_by(core: Core, approval: Approval) -> Steps[AuthorizedCall]:
    progress = approval.progress
    return (yield from _governed(core, progress, permitted(core, progress, approval.decision)))


def revised_handle(core: Core, handle: Handle, old: object, payload: object) -> Steps[Handle]:
    """Replaces the payload in the same thread, and returns the new handle.

    :raises ValueError: the call was allowed immediately
    """
    if handle["status"] == "allow":
        raise ValueError("this call was allowed at once: no review to revise")
    progress = Progress(proposal_from(handle, payload_of(handle, old)), "ended", handle.get("thread_id"))
    receipt = yield from _governed(core, progress, revision(core, progress, payload))
    if receipt.get("status") not in ("pending_review", "approved", None):
        raise core.with_place(refused({"status": "rejected", **receipt}), progress.thread_id)
    return handle_of(progress)


def withdrawn(thread_id: str, reason: str | None, patience: Patience, grace: int | None = None) -> Steps[bool]:
    """Withdraws the thread, at once or after a grace. Returns False if the thread's proof was already redeemed."""
    try:
        yield from attempt(withdrawal(thread_id, reason, grace), patience)
    except NotExecuted as error:
        # the problem (409) of a withdrawal after the redemption
        if getattr(error, "problem", "") == "not_pending":
            return False
        raise
    return True


def executed(core: Core, call: AuthorizedCall, run: Callable[[Any], object]) -> Steps[object]:
    """Runs the call once, reports its outcome, and re-raises errors of the tool."""
    began = core.clock.now()
    try:
        with span("countersign.run", call, call.thread_id, current=True):
            result: object = yield Invoke(run, (call.payload,), is_tool=True)
    except NotStarted as refusal:
        yield from reported_call(core, call, refusal.error)
        raise core.with_place(refusal.error, call.thread_id) from refusal.error.__cause__
    except BaseException as error:
        if not isinstance(error, GeneratorExit):
            yield from reported(core, call, "failed", began)
        if isinstance(error, NotExecuted):
            # the error of a nested guarded call; this call ran
            raise RuntimeError(f"{call.tool} ran, and failed: {error}") from error
        raise
    yield from reported(core, call, "executed", began)
    return result


Outcome: TypeAlias = Literal["executed", "failed", "not_run"]


def reported(core: Core, call: AuthorizedCall, outcome: Outcome, began: float | None = None) -> Steps[None]:
    """Reports an outcome as evidence. Logs a failed report, which leaves the result unchanged."""
    lasted = None if began is None else round((core.clock.now() - began) * 1_000)
    request = outcome_of(call.task_id, call.action_hash, call.thread_id, outcome, lasted)
    what = f"the report of {call.tool} (task {call.task_id}, thread {call.thread_id})"
    yield from _insist(core, lambda patience: attempt(request, patience), what)


def _insist(core: Core, steps: Callable[[Patience], Steps[object]], what: str) -> Steps[None]:
    """Runs steps whose failure changes nothing. Logs their failure.

    The caller waits for at most two seconds. If the gateway is away for longer, the steps continue in the background.

    steps: a factory. The background run calls it again, and continues where the call is.
    """
    clock = core.clock
    first = Patience(clock, tries=None, until=clock.now() + core.foreground_seconds, shielded=True, firm=True)
    try:
        yield from steps(first)
    except GatewayUnavailable as error:
        _log.warning("%s continues in the background: %s", what, error.reason)
        # not shielded, so that a program can end
        later = Patience(clock, tries=None, until=clock.now() + _BACKGROUND_SECONDS, firm=True)
        yield from quietly(_handed_over(quietly(steps(later), what)), what)
    except Exception as error:
        _log.warning("%s failed: %s", what, error)


def _handed_over(steps: Steps[object]) -> Steps[None]:
    yield Background(steps)


def _governed(core: Core, progress: Progress, steps: Steps[T]) -> Steps[T]:
    """Runs the steps, adds the thread to their errors, and ends the call if the caller gives up."""
    try:
        return (yield from steps)
    except NotExecuted as error:
        if isinstance(error, (StillPending, ChangesRequested, GatewayUnavailable)):
            error.handle = _open_handle(progress)
        if error.code == "aborted":
            yield from given_up(core, progress)
        if error.code == "outcome_unknown":
            yield from _report_unused(core, progress)
        raise core.with_place(error, progress.thread_id) from error.__cause__
    except GeneratorExit:
        raise
    except BaseException as cause:
        yield from given_up(core, progress, _ends_wait(progress, cause))
        raise


# the time in which the same call may join a call whose wait has ended
_GRACE_SECONDS = 120


def _ends_wait(progress: Progress, cause: BaseException) -> bool:
    """Returns whether the caller only stopped waiting, and may make the same call again.

    asyncio and anyio cancel at a time limit without a reason. A call without an id cannot be made again. Ctrl-C, and a
    cancellation for any other reason, are a person's stop.
    """
    reason = str(cause.args[0]) if cause.args and cause.args[0] else ""
    is_quiet = not reason or "cancel scope" in reason or _TIMEOUT.search(reason) is not None
    return isinstance(cause, asyncio.CancelledError) and is_quiet and progress.proposal.comes_again


_TIMEOUT = re.compile(r"time[- ]?out|timed[- ]?out|deadline", re.IGNORECASE)


def _open_handle(progress: Progress) -> Handle | None:
    """Returns the handle of the call's thread, or None without a thread or with a call id that no handle can hold."""
    if progress.thread_id is None:
        return None
    try:
        return handle_of(progress)
    except ValueError:
        return None


def given_up(core: Core, progress: Progress, keeps: bool = False) -> Steps[None]:
    """Ends a call whose caller gave up before it ran.

    keeps: the gateway keeps the call for a grace, in which the same call joins it.
    """
    what = f"the end of a call of {progress.proposal.tool} (task {progress.proposal.task_id})"
    yield from _insist(core, lambda patience: _taken_back(progress, patience, keeps), what)


def _taken_back(progress: Progress, patience: Patience, keeps: bool) -> Steps[None]:
    """Finds out how far the call got, then leaves it, withdraws it or reports that it did not run."""
    if progress.phase == "proposing":
        decision, _ = yield from submitted(progress, patience)
        if decision.get("status") == "allow":
            progress.phase = "permitted"
    if progress.phase == "redeeming":
        valid, reason = yield from redeem(progress, patience)
        # only this call has the proof, so `used` means that the interrupted request redeemed it
        progress.phase = "permitted" if valid or reason == "used" else "proposed"
    if progress.phase == "proposed" and progress.thread_id is not None:
        grace = _GRACE_SECONDS if keeps else None
        taken_back = yield from withdrawn(progress.thread_id, "the caller gave up", patience, grace)
        progress.phase = "ended" if taken_back else "permitted"
    if progress.phase == "permitted":
        yield from attempt(_unused(progress), patience)
    progress.phase = "ended"


def _unused(progress: Progress) -> Request:
    proposal = progress.proposal
    return outcome_of(proposal.task_id, proposal.action_hash, progress.thread_id, "not_run")


def _report_unused(core: Core, progress: Progress) -> Steps[None]:
    request, what = _unused(progress), f"the report of {progress.proposal.tool} (thread {progress.thread_id})"
    yield from _insist(core, lambda patience: attempt(request, patience), what)


def withdrawn_handle(core: Core, handle: Handle, reason: str | None) -> Steps[bool]:
    """Withdraws the call of a handle.

    A call that was allowed immediately has no thread, so the client drops the kept allow verdict.
    """
    thread_id = handle.get("thread_id")
    if thread_id is None:
        return core.allows.take(handle["action_hash"])
    return (yield from withdrawn(thread_id, reason, Patience(core.clock)))


def reported_call(core: Core, call: AuthorizedCall, error: BaseException | None) -> Steps[None]:
    outcome: Outcome = "executed" if error is None else "not_run" if isinstance(error, NotExecuted) else "failed"
    yield from reported(core, call, outcome)
