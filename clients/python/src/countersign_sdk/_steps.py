"""The steps of one call, without I/O. Each step yields an effect, and receives its result.

`Countersign` and `AsyncCountersign` drive the same steps. They throw every error, including a cancellation, into the
step that caused it. Therefore both clients follow the same rules for cancellation.
"""

from __future__ import annotations

import itertools
import logging
import random
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from ._json import JsonObject
from ._wire import Answer, Request, Unreachable, Untrusted, members_of
from .errors import GatewayUnavailable, GatewayUntrusted

T = TypeVar("T")

_log = logging.getLogger("countersign")

TRIES = 4
_FIRST_PAUSE = 0.1
# the longest pause that the client chooses, in seconds
_LONGEST_OWN_PAUSE = 5.0
# the longest pause that the gateway can ask for, before jitter
_LONGEST_PAUSE = 30.0
# if the gateway asks for shorter pauses, they grow to this length, which prevents a tight loop
_LEAST_PAUSE = 1.0


@dataclass(frozen=True)
class Ask:
    """Sends a request. The result is an `Answer`. Without an answer, the step raises `Unreachable`.

    shielded: a cancellation waits for the answer.
    most: the most seconds that the request may take, if they are fewer than its own.
    """

    request: Request
    shielded: bool = False
    most: float | None = None


@dataclass(frozen=True)
class Pause:
    seconds: float
    shielded: bool = False


@dataclass(frozen=True)
class Invoke:
    """Calls a function of the caller. The result is what the function returns; `AsyncCountersign` awaits it.

    is_tool: the function is the guarded tool, not a hook.
    """

    function: Callable[..., object]
    arguments: tuple[object, ...]
    is_tool: bool = False


@dataclass(frozen=True)
class Background:
    """Runs these steps after the call, in a Python thread or an asyncio task. The step continues immediately."""

    steps: Generator[Any, Any, Any]


Effect: TypeAlias = "Ask | Pause | Invoke | Background"
Steps: TypeAlias = Generator[Effect, Any, T]


def _system_jitter() -> float:
    return random.uniform(0.5, 1.0)


@dataclass(frozen=True)
class Clock:
    """A clock.

    now: seconds of a monotonic clock.
    jitter: a random factor for pauses, from 0.5 to 1.
    """

    now: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = _system_jitter


@dataclass(frozen=True)
class Patience:
    """The limits of retries. Every request is safe to retry.

    tries: attempts at most; None for no limit.
    until: the deadline, in seconds of `Clock.now`.
    least: attempts that are made even after the deadline.
    shielded: a cancellation waits for the current request or pause.
    firm: a request also ends at the deadline.
    """

    clock: Clock = field(default_factory=Clock)
    tries: int | None = TRIES
    until: float = float("inf")
    shielded: bool = False
    least: int = 1
    firm: bool = False

    def left(self) -> float:
        return self.until - self.clock.now()

    def ask(self, request: Request) -> Ask:
        return Ask(request, self.shielded, self.left() if self.firm and self.until < float("inf") else None)

    def is_over(self, made: int) -> bool:
        if made < self.least:
            return False
        return self.left() <= 0 or (self.tries is not None and made >= self.tries)

    def pause(self, made: int, asked: float | None) -> Pause:
        """Returns the pause after `made` attempts. It ends at the deadline, unless an attempt may follow the deadline.

        asked: the seconds that the gateway asks for.
        """
        seconds = _pause(made, asked, self.clock)
        return Pause(seconds if made < self.least else min(seconds, max(0.0, self.left())), self.shielded)


def attempt(request: Request, patience: Patience) -> Steps[tuple[JsonObject, Answer]]:
    """Sends a request, and returns the members of its answer, and the answer.

    Retries if no answer arrives, or if the answer allows a retry.

    :raises NotExecuted: the gateway refused, or did not answer within the patience
    """
    for made in itertools.count(1):
        asked: float | None = None
        try:
            answer: Answer = yield patience.ask(request)
        except Untrusted as error:
            raise GatewayUntrusted(
                f"TLS with the gateway failed ({error}): check its address, or pass its authority as `verify=`"
            ) from error
        except Unreachable as error:
            if patience.is_over(made):
                raise GatewayUnavailable(f"no answer from the gateway: {error}") from error
        else:
            if not answer.retryable or patience.is_over(made):
                return members_of(answer, request.expected), answer
            asked = answer.retry_after
        yield patience.pause(made, asked)
    raise AssertionError("unreachable")


def _pause(made: int, asked: float | None, clock: Clock) -> float:
    own = min(_FIRST_PAUSE * 2.0 ** min(made, 10), _LONGEST_OWN_PAUSE)
    if asked is None:
        return own * clock.jitter()
    # at least the pause that the gateway asks for; jitter spreads the callers
    return min(max(asked, min(own, _LEAST_PAUSE)), _LONGEST_PAUSE) * (2.0 - clock.jitter())


def quietly(steps: Steps[T], what: str) -> Steps[T | None]:
    """Runs steps whose failure changes nothing, such as a report. Logs the failure and returns None.

    what: the name of the steps in the log.
    """
    try:
        return (yield from steps)
    except Exception as error:
        _log.warning("%s failed: %s", what, error)
        return None
