"""How `AsyncCountersign` runs steps: in the event loop of the caller. A waiting call uses no Python thread."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Literal, ParamSpec, Protocol, TypeVar, cast, overload

import anyio

from ._http import AsyncHttp
from ._steps import Ask, Background, Effect, Invoke, Pause, Steps
from ._threads import ThreadRun, end_of, finished, shielded
from ._typing import Self

P = ParamSpec("P")
T = TypeVar("T")


class Decorator(Protocol):
    """The type of `AsyncCountersign.tool`: the guarded function is awaited and keeps its arguments and its result."""

    @overload
    def __call__(self, function: Callable[P, Awaitable[T]], /) -> Callable[P, Coroutine[Any, Any, T]]: ...

    @overload
    def __call__(self, function: Callable[P, T], /) -> Callable[P, Coroutine[Any, Any, T]]: ...


class Runner:
    """Drives the steps of the calls, and ends those that still run when the client closes."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http
        self._calls: set[_Call] = set()
        self._background: set[asyncio.Task[Any]] = set()

    async def aclose(self) -> None:
        """Ends the calls of the running event loop, and closes their connections.

        Cancels and withdraws the calls that wait, then waits for the tools that run. Some frameworks do not wait for
        the calls of a cancelled run. A tool that runs in the caller's own task is not waited for.
        """
        for call in self._own_calls():
            if call.state == "waiting" and call.task is not None and not call.is_current():
                call.state = "ending"
                call.task.cancel()
        while left := {call.ended for call in self._own_calls() if call.must_end()}:
            await asyncio.wait(left)
        await self._http.close()

    def _own_calls(self) -> list[_Call]:
        """Returns the calls of the running event loop."""
        loop = asyncio.get_running_loop()
        return [call for call in self._calls.copy() if call.ended.get_loop() is loop]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _drive(self, steps: Steps[T]) -> T:
        """Runs all steps, and throws each error, including a cancellation, into its step."""
        advance: Callable[[], Effect] = functools.partial(steps.send, None)
        call = _Call(asyncio.current_task(), asyncio.get_running_loop().create_future())
        self._calls.add(call)
        try:
            while True:
                try:
                    while True:
                        effect = advance()
                        advance = functools.partial(steps.send, await self._perform(effect, call))
                except StopIteration as stop:
                    if call.cancelled is not None:
                        raise call.cancelled from None
                    return cast("T", stop.value)
                except BaseException as error:
                    if inspect.getgeneratorstate(steps) == inspect.GEN_CLOSED:
                        if call.cancelled is not None:
                            raise call.cancelled from error
                        raise
                    advance = functools.partial(steps.throw, error)
        finally:
            self._calls.discard(call)
            call.ended.cancel()

    async def _perform(self, effect: Effect, call: _Call) -> object:
        if isinstance(effect, Background):
            task = asyncio.ensure_future(self._drive(effect.steps))
            self._background.add(task)
            task.add_done_callback(self._background.discard)
            return None
        if isinstance(effect, Invoke):
            return await self._invoked(effect, call)
        if effect.shielded:
            call.state = "ending"
            return await shielded(self._plainly(effect))
        before, call.state = call.state, "waiting"
        try:
            return await self._plainly(effect)
        finally:
            if call.state == "waiting":
                call.state = before

    async def _invoked(self, effect: Invoke, call: _Call) -> object:
        if effect.is_tool:
            call.state = "running"
        result = effect.function(*effect.arguments)
        if isinstance(result, ThreadRun):
            # first the steps learn how the tool ended and report it, then the caller learns of the cancellation
            call.cancelled = await end_of(result.ended)
            result = result.ended.result()
        return await finished(result)

    async def _plainly(self, effect: Ask | Pause) -> object:
        if isinstance(effect, Pause):
            await anyio.sleep(effect.seconds)
            return None
        return await self._http.ask(effect.request, effect.most)


@dataclass(eq=False)
class _Call:
    """A call that runs in an event loop.

    ended: done when the call has ended.
    cancelled: the cancellation that arrived while a Python thread ran the tool.
    """

    task: asyncio.Task[Any] | None
    ended: asyncio.Future[None]
    state: Literal["between", "waiting", "running", "ending"] = "between"
    cancelled: asyncio.CancelledError | None = None

    def is_current(self) -> bool:
        return self.task is asyncio.current_task()

    def must_end(self) -> bool:
        return self.state == "ending" or (self.state == "running" and not self.is_current())
