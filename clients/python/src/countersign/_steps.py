"""The steps of one call, without I/O: each step yields what is to be done, and gets the result sent back.

`Countersign` and `AsyncCountersign` drive the same steps. They throw every error in at its step, a cancellation too:
that is why the laws of cancellation hold for both.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from ._json import JsonObject
from ._wire import Answer, Request, Unreachable, members_of
from .errors import GatewayUnavailable, NotExecuted

T = TypeVar("T")

TRIES = 4
_FIRST_PAUSE = 0.1
# of our own: a gateway that is back is soon asked again
_LONGEST_OWN_PAUSE = 5.0
# of a gateway that asks for more
_LONGEST_PAUSE = 30.0
# of one that asks for less: no gateway is asked in a tight loop
_LEAST_PAUSE = 1.0


@dataclass(frozen=True)
class Ask:
    """Send a request. The result is an `Answer`; `Unreachable` is thrown in when there is none.

    shielded: a cancellation waits until the answer is there.
    """

    request: Request
    shielded: bool = False


@dataclass(frozen=True)
class Pause:
    seconds: float
    shielded: bool = False


@dataclass(frozen=True)
class Invoke:
    """Call a function of the caller, and await what it returns where that is possible. The result is its result."""

    function: Callable[..., object]
    arguments: tuple[object, ...]


Effect: TypeAlias = "Ask | Pause | Invoke"
Steps: TypeAlias = Generator[Effect, Any, T]


def _system_jitter() -> float:
    return random.uniform(0.5, 1.0)


@dataclass(frozen=True)
class Clock:
    """now: seconds of a clock that is never set. jitter: the part of a pause that is really made."""

    now: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = _system_jitter


@dataclass(frozen=True)
class Patience:
    """How often, and until when (of `Clock.now`), a request is repeated. Every request is safe to repeat."""

    clock: Clock = field(default_factory=Clock)
    tries: int | None = TRIES
    until: float = float("inf")
    shielded: bool = False

    def left(self) -> float:
        return self.until - self.clock.now()

    def is_over(self, made: int) -> bool:
        return self.left() <= 0 or (self.tries is not None and made >= self.tries)


def attempt(request: Request, patience: Patience) -> Steps[tuple[JsonObject, Answer]]:
    """The members of the answer. Repeats where no answer came, or one that says that another may come.

    :raises NotExecuted: for a refusal, or when no answer came within the patience
    """
    for made in itertools.count(1):
        asked: float | None = None
        try:
            answer: Answer = yield Ask(request, patience.shielded)
        except Unreachable as error:
            if patience.is_over(made):
                raise GatewayUnavailable(f"no answer from the gateway: {error}") from error
        else:
            if not answer.retryable or patience.is_over(made):
                return members_of(answer, request.expected), answer
            asked = answer.retry_after
        yield Pause(min(_pause(made, asked, patience.clock), max(0.0, patience.left())), patience.shielded)
    raise AssertionError("unreachable")


def _pause(made: int, asked: float | None, clock: Clock) -> float:
    own = min(_FIRST_PAUSE * 2.0 ** min(made, 10), _LONGEST_OWN_PAUSE)
    if asked is None:
        return own * clock.jitter()
    # never earlier than asked, and not all callers at once
    return min(max(asked, min(own, _LEAST_PAUSE)), _LONGEST_PAUSE) * (2.0 - clock.jitter())


def quietly(steps: Steps[T]) -> Steps[T | None]:
    """For what is reported and not asked for: when it fails, what happened stands."""
    try:
        return (yield from steps)
    except NotExecuted:
        return None
