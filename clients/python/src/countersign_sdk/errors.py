"""Errors of calls that did not run.

Their base class is `NotExecuted`. The text of each error is a sentence that a model can act on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from .handle import Handle


class NotExecuted(Exception):
    """The call did not run.

    code: the stable name of the reason.
    retryable: whether the same call may run later.
    reason: the text of policy, a reviewer or the gateway, without advice.
    thread_id, console_url: the thread and its console page, if there is a thread.
    """

    code: ClassVar[str] = "not_executed"
    retryable: ClassVar[bool] = False
    advice: ClassVar[str] = ""
    opening: ClassVar[str] = "Not executed"

    def __init__(self, reason: str, thread_id: str | None = None, console_url: str | None = None) -> None:
        self.reason = reason
        self.thread_id = thread_id
        self.console_url = console_url
        super().__init__(reason)

    def __str__(self) -> str:
        ended = self.reason if self.reason.endswith((".", "!", "?")) else f"{self.reason}."
        return f"{self.opening}: {ended} {self.advice}".rstrip()

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.reason,), self.__dict__)


class Rejected(NotExecuted):
    """Policy or a reviewer rejected the call."""

    code = "rejected"
    advice = "Do not call the tool again with these arguments."


class Expired(NotExecuted):
    """The thread expired before a reviewer decided, or before the agent collected the approval."""

    code = "expired"
    retryable = True
    advice = "Call the tool again only if it is still needed: a new review begins."


class Withdrawn(NotExecuted):
    """The agent withdrew the call."""

    code = "withdrawn"
    advice = "Call the tool again only if it is still needed."


class ChangesRequested(NotExecuted):
    """The reviewers ask for other arguments.

    handle: pass it to `revise` to propose other arguments in the same thread.
    """

    code = "changes_requested"
    advice = "Change the arguments as the reviewers ask, and call the tool again."
    handle: Handle | None = None


class StillPending(NotExecuted):
    """No reviewer decided within `max_wait`. The review continues.

    handle: pass it to `resume` to wait again.
    """

    code = "still_pending"
    retryable = True
    advice = "Tell the user that the call waits for review."
    handle: Handle | None = None


class Aborted(NotExecuted):
    """A hook of the caller failed, and the client withdrew the call."""

    code = "aborted"


class InvalidPayload(NotExecuted):
    """The arguments are not JSON, or do not fit the contract of the tool.

    places: JSON Pointers (RFC 6901) of the wrong values.
    """

    code = "invalid_payload"
    advice = "Correct the arguments and call the tool again."

    def __init__(
        self,
        reason: str,
        thread_id: str | None = None,
        console_url: str | None = None,
        places: Sequence[str] = (),
    ) -> None:
        super().__init__(reason, thread_id, console_url)
        self.places = tuple(places)


class ArgumentsChanged(NotExecuted):
    """The framework was about to run the tool with arguments that were not approved."""

    code = "arguments_changed"
    advice = "Call the tool again: the new arguments need a review of their own."


class UnknownTool(NotExecuted):
    """The gateway does not let this agent use the tool."""

    code = "unknown_tool"
    advice = "Use another tool."


class NoProof(NotExecuted):
    """The call is approved, but its proof was redeemed before or cannot be replaced, or this agent gets no proofs.

    Another run may have started the tool. Whether that run ended is unknown.
    """

    code = "no_proof"
    advice = "Find out whether it ran before you call the tool again: a new review begins."
    opening = "It may have run"


class ProofRefused(NotExecuted):
    """The gateway refused the proof: another process replaced it and may have run the tool, or policy asks for more."""

    code = "proof_refused"
    advice = NoProof.advice
    opening = NoProof.opening


class OutcomeUnknown(NotExecuted):
    """The answer to the redemption was lost. The proof may be spent; the tool did not run."""

    code = "outcome_unknown"
    retryable = True
    advice = "The tool did not run. Call it again if it is still needed: a new review begins."


class GatewayUnavailable(NotExecuted):
    """The gateway did not answer, or cannot decide now.

    handle: pass it to `resume` to continue the thread of the call, if there is one.
    """

    code = "gateway_unavailable"
    retryable = True
    advice = "Try again later."
    handle: Handle | None = None


class GatewayUntrusted(GatewayUnavailable):
    """TLS with the gateway failed, for example because `verify` does not know its certificate. No request was sent."""

    code = "gateway_untrusted"
    retryable = False
    advice = "Ask the operator of the agent."


class GatewayRefused(NotExecuted):
    """The gateway refused the request.

    problem: the stable code (docs/errors.md).
    """

    code = "gateway_refused"
    advice = "Ask the operator of the agent."
    problem: str = ""


class UnexpectedAnswer(NotExecuted):
    """The answer is not from the agent API, or is about another call."""

    code = "unexpected_answer"
    advice = "Ask the operator of the agent."


class ContractsDiffer(Exception):
    """Decorated functions and the contracts of the gateway differ, so the gateway would refuse calls.

    differences: a sentence for each difference.
    """

    def __init__(self, differences: Sequence[str]) -> None:
        self.differences = tuple(differences)
        super().__init__("\n".join(self.differences))

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.differences,))


class WebhookRefused(Exception):
    """The delivery has a wrong signature or time. Answer 400 and do not act on it."""
