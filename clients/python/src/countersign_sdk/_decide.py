"""The second half of a call: reviewers decide, and the client redeems the proof."""

from __future__ import annotations

import math
import sys
import uuid
from typing import cast

from ._call import AuthorizedCall, Core, Decided, Held, Options, Progress
from ._json import JsonObject, as_object
from ._propose import check_echo, checked
from ._steps import TRIES, Invoke, Patience, Pause, Steps, attempt
from ._wire import reading, recording, redemption, reissue
from .errors import (
    Aborted,
    ChangesRequested,
    Expired,
    GatewayRefused,
    NoProof,
    NotExecuted,
    OutcomeUnknown,
    ProofRefused,
    Rejected,
    StillPending,
    UnexpectedAnswer,
    Withdrawn,
)

_POLL_SECONDS = 50
_LEAST_PAUSE = 1.0
_REDEMPTION_SECONDS = 1.0
_STARTED = "it was started, and its end is unknown: its proof was redeemed before"
_UNSIGNED = "An agent with `signed_approvals: false` needs `unsigned_approvals=True`"


def approved(core: Core, progress: Progress, decision: JsonObject, options: Options) -> Steps[JsonObject]:
    """Waits for reviewers, and returns the decision that allows the call.

    :raises NotExecuted: the call may not run
    """
    if decision.get("status") in ("pending_review", "changes_requested"):
        decision = yield from _decided_by_people(core, progress, decision, options)
    yield from _tell_decision(core, progress, decision, options)
    status = decision.get("status")
    if status not in ("allow", "approved"):
        raise refused(decision)
    check_echo(progress.proposal, decision)
    return decision


def permitted(core: Core, progress: Progress, decision: JsonObject) -> Steps[AuthorizedCall]:
    """Compares the arguments, redeems the proof, and returns an allowed call.

    :raises NotExecuted: the call may not run
    """
    progress.check()
    if decision.get("status") == "approved":
        yield from _redeemed(core, progress, decision)
    progress.phase = "permitted"
    proposal = progress.proposal
    return AuthorizedCall(proposal.tool, proposal.task_id, proposal.payload, progress.thread_id, proposal.action_hash)


def _decided_by_people(core: Core, progress: Progress, decision: JsonObject, options: Options) -> Steps[JsonObject]:
    # the redemption needs time before the deadline
    latest = progress.deadline - min(_REDEMPTION_SECONDS, options.get("deadline", 0.0) / 10)
    until = min(core.clock.now() + options.get("max_wait", core.max_wait), latest)
    if decision.get("status") == "pending_review" and not is_decided(decision):
        yield from tell_held(core, progress, decision, options)
    while True:
        if decision.get("status") == "changes_requested":
            yield from _revised(core, progress, decision, options)
        elif decision.get("status") != "pending_review":
            return decision
        decision = yield from _waited(core, progress, until)


def is_decided(decision: JsonObject) -> bool:
    """Returns whether a rule already approved the pending call (`proof: always`). The gateway recommends a prompt poll.

    This is a hint: a call that waits for reviewers after all is polled once, and then held.
    """
    return decision.get("status") == "pending_review" and decision.get("recommended_poll_after_seconds") == 1


def tell_held(core: Core, progress: Progress, decision: JsonObject, options: Options) -> Steps[None]:
    hook = options.get("on_held", core.on_held)
    thread_id = progress.thread_id
    if thread_id is None:
        return
    proposal = progress.proposal
    payload = as_object(proposal.payload)
    message, page = str(decision.get("message", "")), str(core.page_of(thread_id))
    held = Held(proposal.tool, payload, thread_id, message, page)
    try:
        yield Invoke(_say_held if hook is None else hook, (held,))
    except Exception as error:
        raise Aborted(f"on_held failed: {error}") from error


def _say_held(held: Held) -> None:
    """Says on standard error that a call waits, so that its program does not look stuck."""
    line = f"held by policy: {held.message} Decide at {held.console_url}"
    print("".join(char if char.isprintable() else " " for char in line), file=sys.stderr)


def _tell_decision(core: Core, progress: Progress, decision: JsonObject, options: Options) -> Steps[None]:
    hook = options.get("on_decision", core.on_decision)
    if hook is None:
        return
    message = str(decision.get("message", ""))
    told = Decided(progress.proposal.tool, str(decision.get("status")), message, progress.thread_id)
    try:
        yield Invoke(hook, (told,))
    except Exception as error:
        raise Aborted(f"on_decision failed: {error}") from error


def _waited(core: Core, progress: Progress, until: float) -> Steps[JsonObject]:
    """Polls the decision once.

    Retries until the call's deadline, because reviewers may still decide after an outage. A call without time left,
    such as a resumed call, makes the usual number of attempts.
    """
    left = until - core.clock.now()
    thread_id = cast("str", progress.thread_id)
    # with no time left, poll once without waiting; a poll that waits ends before a deadline
    rounded = math.ceil if progress.deadline == float("inf") else math.floor
    seconds = rounded(max(0.0, min(_POLL_SECONDS, left)))
    asked = core.clock.now()
    patience = _poll_patience(core, progress, until)
    decision, _ = yield from attempt(reading(thread_id, seconds), patience)
    if decision.get("thread_id", thread_id) != thread_id:
        raise UnexpectedAnswer("the decision is about another thread")
    # an approval carries a proof, but an allow verdict would let a held call run without a proof
    if decision.get("status") == "allow":
        raise UnexpectedAnswer("allowed, although the call was held for reviewers")
    if decision.get("status") == "pending_review":
        yield from _paused(core, decision, seconds, asked, until)
    return decision


def _poll_patience(core: Core, progress: Progress, until: float) -> Patience:
    if progress.deadline < float("inf"):
        return progress.patience(core.clock, tries=None)
    return Patience(core.clock, tries=None, until=until, least=TRIES)


def _paused(core: Core, decision: JsonObject, seconds: int, asked: float, until: float) -> Steps[None]:
    """Pauses before the next poll if the gateway did not hold this poll open.

    The gateway recommends how long to pause. Polls start at least `_LEAST_PAUSE` seconds apart.

    :raises StillPending: the deadline has passed
    """
    left = until - core.clock.now()
    if left <= 0:
        raise StillPending("no reviewer decided in the time that the agent may wait")
    wish = decision.get("recommended_poll_after_seconds")
    wished = min(wish, seconds) if isinstance(wish, (int, float)) and wish > 0 else 0
    early = max(_LEAST_PAUSE, wished) - (core.clock.now() - asked)
    if early > 0:
        yield Pause(min(early, left))


def _revised(core: Core, progress: Progress, decision: JsonObject, options: Options) -> Steps[None]:
    revise = options.get("revise")
    message = str(decision.get("message") or "the reviewers ask for changes")
    if revise is None:
        raise ChangesRequested(message)
    try:
        payload: object = yield Invoke(revise, (message, as_object(progress.proposal.payload)))
    except Exception as error:
        raise ChangesRequested(message) from error
    if payload is None:
        raise ChangesRequested(message)
    yield from revision(core, progress, payload)


def revision(core: Core, progress: Progress, payload: object) -> Steps[JsonObject]:
    """Replaces the action in the same thread. Returns the receipt, with the thread's status."""
    old = progress.proposal
    new = type(old)(old.task_id, old.tool, as_object(payload, "the revised payload"), str(uuid.uuid4()), 0, old.claims)
    yield from checked(core, new, progress.patience(core.clock))
    # policy reads these claims again; preview, summary and images describe the old payload
    kept: JsonObject = {
        name: old.claims[name] for name in ("workflow_name", "task_label", "risk_level") if name in old.claims
    }
    body: JsonObject = {
        **kept,
        "revision_id": str(uuid.uuid4()),
        "tool_name": new.tool,
        "subject": old.claims.get("subject", new.tool),
        "request_payload": new.payload,
        "action_hash": new.action_hash,
    }
    event: JsonObject = {
        "event_type": f"revision.{new.task_id}.{progress.thread_id}",
        "event_summary": "revised as the reviewers asked",
        "payload": {"revision": body},
    }
    receipt, _ = yield from attempt(recording(new.task_id, event), progress.patience(core.clock, tries=1))
    progress.proposal = new
    return receipt


def _redeemed(core: Core, progress: Progress, decision: JsonObject) -> Steps[None]:
    token = decision.get("approval_token")
    if token is None and core.unsigned_approvals:
        return
    if progress.thread_id is None:
        raise NoProof("it was approved without a thread, so there is no proof")
    progress.token = token if isinstance(token, str) else (yield from _replaced(core, progress, progress.thread_id))
    progress.phase = "redeeming"
    try:
        valid, reason = yield from redeem(progress, progress.patience(core.clock))
    except NotExecuted as error:
        raise OutcomeUnknown(f"the redemption of the proof was not confirmed ({error.reason})") from error
    if not valid and reason == "used":
        # only this call has the proof, so its own request redeemed the proof and the answer was lost
        raise OutcomeUnknown("the proof is spent, and the answer that said so was lost")
    if not valid:
        progress.phase = "proposed"
        raise ProofRefused(f"the proof was refused: {reason}")


def _replaced(core: Core, progress: Progress, thread_id: str) -> Steps[str]:
    """Returns a proof in place of the one that was delivered before, but did not arrive or was not redeemed.

    :raises NoProof: the earlier proof was redeemed, or cannot be replaced
    """
    try:
        decision, _ = yield from attempt(reissue(thread_id), progress.patience(core.clock))
    except GatewayRefused as error:
        if error.problem == "proof_used":
            raise NoProof(_STARTED) from error
        raise NoProof(f"it was approved, but without a proof: {error.reason}. {_UNSIGNED}") from error
    if decision.get("status") != "approved":
        raise refused(decision)
    check_echo(progress.proposal, decision)
    token = decision.get("approval_token")
    if not isinstance(token, str) or decision.get("thread_id") != thread_id:
        raise NoProof("it was approved, but the gateway gave no proof")
    return token


def redeem(progress: Progress, patience: Patience) -> Steps[tuple[bool, str]]:
    """Redeems the proof, and returns whether it is valid, and the reason if not.

    Valid means `valid: true` without a `reason`, for the same task, thread and action.
    """
    proposal = progress.proposal
    proof: JsonObject = {
        "task_id": proposal.task_id,
        "signature": progress.token,
        "request_payload": proposal.payload,
        "thread_id": progress.thread_id,
        "action_hash": proposal.action_hash,
    }
    result, _ = yield from attempt(redemption(proof), patience)
    same = all(result.get(name) == proof[name] for name in ("task_id", "thread_id", "action_hash"))
    valid = result.get("valid") is True and "reason" not in result and same
    return valid, str(result.get("reason", "invalid"))


def refused(decision: JsonObject) -> NotExecuted:
    status, message = decision.get("status"), decision.get("message")
    told = message if isinstance(message, str) and message else f"the gateway answered {status}"
    if status == "changes_requested":
        return ChangesRequested(told)
    if status not in ("reject", "rejected"):
        return UnexpectedAnswer(told)
    if told.startswith("expired: "):
        return Expired(told)
    return Withdrawn(told) if told.startswith("withdrawn: ") else Rejected(told)
