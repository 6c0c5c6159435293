"""How `Countersign` runs steps: in the Python thread of the caller."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import logging
import threading
import time
from collections.abc import Callable
from typing import ParamSpec, Protocol, TypeVar, cast

from ._http import SyncHttp
from ._steps import Ask, Background, Effect, Pause, Steps
from ._typing import Self

P = ParamSpec("P")
T = TypeVar("T")

_log = logging.getLogger("countersign")


class Decorator(Protocol):
    """The type of `Countersign.tool`: the guarded function keeps its arguments and its result."""

    def __call__(self, function: Callable[P, T], /) -> Callable[P, T]: ...


class Runner:
    def __init__(self, http: SyncHttp) -> None:
        self._http = http
        self._warned = False

    def close(self) -> None:
        """Closes the connections. The client can no longer be used. An `http` that you gave stays open."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _drive(self, steps: Steps[T]) -> T:
        return drive(steps, self._perform)

    def _perform(self, effect: Effect) -> object:
        if isinstance(effect, Ask):
            if effect.request.wait:
                self._warn_in_a_loop()
            return self._http.ask(effect.request, effect.most)
        if isinstance(effect, Pause):
            time.sleep(effect.seconds)
            return None
        if isinstance(effect, Background):
            run = functools.partial(self._drive, effect.steps)
            threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True).start()
            return None
        result = effect.function(*effect.arguments)
        if inspect.isawaitable(result) or inspect.isgenerator(result) or inspect.isasyncgen(result):
            if inspect.iscoroutine(result):
                result.close()
            raise TypeError("the function returned what has not run yet: use AsyncCountersign for asynchronous code")
        return result

    def _warn_in_a_loop(self) -> None:
        if self._warned or asyncio._get_running_loop() is None:
            return
        self._warned = True
        _log.warning(
            "a call waits for reviewers in a running event loop, and blocks it: use AsyncCountersign,"
            " or run the call in a thread"
        )


def drive(steps: Steps[T], perform: Callable[[Effect], object]) -> T:
    """Runs all steps, and throws each error, including KeyboardInterrupt, into its step."""
    advance: Callable[[], Effect] = functools.partial(steps.send, None)
    while True:
        try:
            while True:
                effect = advance()
                advance = functools.partial(steps.send, perform(effect))
        except StopIteration as ended:
            return cast("T", ended.value)
        except BaseException as error:
            if inspect.getgeneratorstate(steps) == inspect.GEN_CLOSED:
                raise
            advance = functools.partial(steps.throw, error)
