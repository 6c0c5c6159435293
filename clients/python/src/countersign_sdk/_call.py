"""One call: its proposal, its progress, and the options and hooks of the caller."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

from ._canonical import action_hash
from ._json import JsonObject, as_object
from ._steps import TRIES, Clock, Patience
from ._wire import base_of, key_of
from .errors import NotExecuted

if TYPE_CHECKING:
    from .handle import Handle

CLAIMS = ("workflow_name", "task_label", "subject", "preview", "risk_level", "summary", "images")
# longer than the gateway replays an allow verdict (docs/limits.md, IDEMPOTENT_ALLOW_MS)
_KEPT_SECONDS = 15 * 60.0
# a kept allow verdict stays valid for as long as the gateway would replay it
_FRESH_SECONDS = 10 * 60.0
_FOREGROUND_SECONDS = 2.0


@dataclass(frozen=True)
class Held:
    """The argument of `on_held`: a call that waits for reviewers."""

    tool: str
    payload: JsonObject
    thread_id: str
    message: str
    console_url: str


@dataclass(frozen=True)
class Decided:
    """The argument of `on_decision`, which is called before the tool runs.

    status: the decision, as the agent API spells it.
    """

    tool: str
    status: str
    message: str
    thread_id: str | None


class Options(TypedDict, total=False):
    """The options of one call.

    call_id: the id that the runtime gives the call. For 24 hours, the same id, task, tool, payload and
    claims mean the same call.
    task_id: the task of the call, instead of the client's.
    max_wait: seconds to wait for reviewers, instead of the client's.
    deadline: seconds for the proposal, the wait and the redemption together; no limit by default. The
    tool's own time does not count.
    on_held: called with a `Held` when reviewers have to decide.
    on_decision: called with a `Decided` before the tool runs.
    revise: called with a request for changes and the payload; returns a new payload, or None.
    workflow_name, task_label, subject: names for the reviewers; policy reads them, too.
    preview: a string that shows the reviewers what the call would do.
    risk_level: the agent's own estimate. It can only add to the contract's.
    summary: lines for the reviewers.
    images: pictures for the reviewers, as data URLs.
    """

    call_id: str
    task_id: str
    max_wait: float
    deadline: float
    on_held: Callable[[Held], object]
    on_decision: Callable[[Decided], object]
    revise: Callable[[str, JsonObject], object]
    workflow_name: str
    task_label: str
    subject: str
    preview: str
    risk_level: Literal["low", "medium", "high", "critical"]
    summary: list[str]
    images: list[str]


@dataclass(frozen=True)
class Proposal:
    """One immutable action.

    comes_again: an earlier proposal may have used this action's nonce, for example before a restart.
    """

    task_id: str
    tool: str
    payload: JsonObject
    nonce: str
    again: int = 0
    claims: JsonObject = field(default_factory=dict[str, Any])
    comes_again: bool = False

    @property
    def action_hash(self) -> str:
        return action_hash(self.task_id, self.tool, self.payload, self.nonce, self.again)

    def another(self, again: int) -> Proposal:
        return replace(self, again=again)


def proposal_of(task_id: str, tool: str, payload: object, options: Options) -> Proposal:
    """Returns the proposal of a call.

    :raises TypeError: for an unknown option
    :raises ValueError: for a max_wait that is negative or NaN
    :raises InvalidPayload: for a value that JSON cannot hold
    """
    check_options(options)
    given = cast("Mapping[str, object]", options)
    claims = as_object({name: given[name] for name in CLAIMS if given.get(name) is not None}, "the claims")
    call_id = options.get("call_id")
    return Proposal(
        task_id=options.get("task_id", task_id),
        tool=tool,
        payload=as_object(payload),
        nonce=call_id or str(uuid.uuid4()),
        claims=claims,
        comes_again=bool(call_id),
    )


def new_task() -> str:
    return f"task-{uuid.uuid4()}"


def check_options(options: Options) -> None:
    """Checks the options of a call.

    :raises TypeError: for an unknown option
    :raises ValueError: for a max_wait that is negative or NaN
    """
    unknown = set(options) - set(Options.__annotations__)
    if unknown:
        raise TypeError(f"unknown options: {', '.join(sorted(unknown))}")
    check_wait(options.get("max_wait", 0.0))
    check_wait(options.get("deadline", 0.0), "deadline")


def check_wait(seconds: float, name: str = "max_wait") -> None:
    # `not >=` also refuses NaN
    if not seconds >= 0:
        raise ValueError(f"{name} must be a number of seconds, 0 or more")


def proposal_from(handle: Handle, payload: JsonObject) -> Proposal:
    return Proposal(
        task_id=handle["task_id"],
        tool=handle["tool_name"],
        payload=payload,
        nonce=handle["nonce"],
        again=handle.get("again", 0),
        comes_again=True,
    )


@dataclass(frozen=True)
class AuthorizedCall:
    """The permission to run a call now, once. For an approved call, the proof is already redeemed.

    payload: the payload that the gateway allowed.
    """

    tool: str
    task_id: str
    payload: JsonObject
    thread_id: str | None
    action_hash: str


class NotStarted(Exception):
    """A check refused the function before it started, although the proof is redeemed."""

    def __init__(self, error: NotExecuted) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass
class Progress:
    """The progress of a call. The client needs it to clean up when the caller gives up.

    deadline: the latest time of the redemption, in seconds of `Clock.now`.
    ready: the last check of the arguments before the proof is redeemed. It raises `NotExecuted`.
    is_decided: a rule approved the call, so no reviewer is asked.
    """

    proposal: Proposal
    phase: Literal["preparing", "proposing", "proposed", "redeeming", "permitted", "ended"] = "preparing"
    thread_id: str | None = None
    token: str | None = None
    deadline: float = float("inf")
    ready: Callable[[JsonObject], None] | None = None
    is_decided: bool = False

    def patience(self, clock: Clock, tries: int | None = TRIES) -> Patience:
        return Patience(clock, tries, self.deadline, firm=True)

    def check(self) -> None:
        """Compares the arguments that are about to run with the proposed payload."""
        if self.ready is not None:
            self.ready(self.proposal.payload)


class Allows:
    """The allow verdicts that this process used, and the allow verdicts that it keeps for a later run.

    An allow has no proof, and the gateway replays it for 10 minutes under the same action hash.
    Without this record, a caller that reuses one id could run many calls and have only one counted.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._uses: dict[str, tuple[int, float]] = {}
        self._fresh: dict[str, float] = {}

    def used(self, first: str) -> int:
        with self._lock:
            for old in [key for key, (_, at) in self._uses.items() if self._now() - at > _KEPT_SECONDS]:
                del self._uses[old]
            uses, _ = self._uses.get(first, (0, 0.0))
            if uses:
                self._uses[first] = (uses, self._now())
            return uses

    def use(self, first: str, before: int) -> bool:
        """Counts a use after `before` uses. Returns False if another Python thread was faster."""
        with self._lock:
            if self._uses.get(first, (0, 0.0))[0] != before:
                return False
            self._uses[first] = (before + 1, self._now())
            return True

    def keep(self, action: str) -> None:
        """Keeps the allow of a handle that this process resumes later."""
        with self._lock:
            self._fresh = {one: at for one, at in self._fresh.items() if self._is_fresh(at)}
            self._fresh[action] = self._now()

    def take(self, action: str) -> bool:
        with self._lock:
            at = self._fresh.pop(action, None)
            return at is not None and self._is_fresh(at)

    def _is_fresh(self, at: float) -> bool:
        return self._now() - at <= _FRESH_SECONDS

    def forget_fresh(self) -> None:
        """Drops the kept allow verdicts in the child of a fork, because the parent may use them."""
        self._fresh = {}
        self._lock = threading.Lock()


@dataclass
class Core:
    """The settings and state that the calls of one client share. No I/O.

    given_task: the task that the caller gave the client, if any.
    functions: the decorated functions by the gateway's name of their tool.
    foreground_seconds: the most seconds that a caller waits for a report, or for the end of a call that it gave up.
    """

    base: str
    task_id: str
    max_wait: float
    unsigned_approvals: bool
    console: str
    on_held: Callable[[Held], object] | None = None
    on_decision: Callable[[Decided], object] | None = None
    clock: Clock = field(default_factory=Clock)
    allows: Allows = field(default_factory=Allows)
    contracts: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    given_task: str | None = None
    foreground_seconds: float = _FOREGROUND_SECONDS
    functions: dict[str, list[Callable[..., Any]]] = field(default_factory=dict[str, "list[Callable[..., Any]]"])

    def page_of(self, thread_id: str | None) -> str | None:
        return None if thread_id is None else f"{self.console}/console/#/thread/{thread_id}"

    def with_place(self, error: NotExecuted, thread_id: str | None) -> NotExecuted:
        """Adds the id and the console page of the thread to the error, and returns it."""
        error.thread_id = error.thread_id or thread_id
        error.console_url = error.console_url or self.page_of(error.thread_id)
        return error


def core_of(
    url: str | None,
    task_id: str | None,
    max_wait: float,
    unsigned_approvals: bool,
    console_url: str | None,
    on_held: Callable[[Held], object] | None,
    on_decision: Callable[[Decided], object] | None,
) -> Core:
    base = base_of(_given(url, "COUNTERSIGN_URL", "address of the gateway"))
    check_wait(max_wait)
    console = base if console_url is None else base_of(console_url)
    core = Core(base, task_id or new_task(), max_wait, unsigned_approvals, console, on_held, on_decision)
    core.given_task = task_id
    return core


def agent_key(key: str | None) -> str:
    return key_of(_given(key, "COUNTERSIGN_AGENT_KEY", "key of the agent"))


def _given(value: str | None, variable: str, what: str) -> str:
    """Returns the argument, or else the value of the environment variable.

    :raises ValueError: neither is set
    """
    found = os.environ.get(variable) if value is None else value
    if not found:
        raise ValueError(f"there is no {what}: set {variable}, or pass it as an argument")
    return found
