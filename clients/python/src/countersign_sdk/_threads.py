"""Runs of functions in Python threads, and work that no cancellation abandons."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import inspect
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

import anyio
import anyio.to_thread

T = TypeVar("T")


class ThreadRun:
    """One run of a function in a Python thread. The client waits for its end, even after a cancellation."""

    def __init__(self, function: Callable[[], Any]) -> None:
        result: concurrent.futures.Future[Any] = concurrent.futures.Future()

        def work() -> None:
            if not result.set_running_or_notify_cancel():
                return
            try:
                result.set_result(function())
            except StopIteration as error:
                # a future cannot hold it
                result.set_exception(RuntimeError(f"the function raised {error!r}"))
            except BaseException as error:
                result.set_exception(error)

        # the end of `asyncio.run` cancels this task, too; a function that has started still ends
        thread = asyncio.ensure_future(anyio.to_thread.run_sync(work))
        thread.add_done_callback(lambda _: result.cancel())
        self.ended = asyncio.wrap_future(result)

    def __await__(self) -> Generator[Any, Any, Any]:
        return self.ended.__await__()


def in_thread(function: Callable[..., Any]) -> Callable[..., Any]:
    """Runs each call of a synchronous function in a Python thread, and leaves an asynchronous one as it is."""
    if inspect.iscoroutinefunction(function):
        return function

    def run(*args: Any, **kwargs: Any) -> ThreadRun:
        return ThreadRun(functools.partial(function, *args, **kwargs))

    return run


async def finished(result: object) -> object:
    """Awaits the result of a function until it is a value, because a wrapper may return a coroutine that has not run.

    :raises TypeError: for a generator, whose body has not run
    """
    while inspect.isawaitable(result):
        result = await result
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        raise TypeError("the function returned a generator, which has not run yet: return the results instead")
    return result


async def shielded(work: Coroutine[Any, Any, T]) -> T:
    """Awaits the work to its end, then raises a cancellation instead of the result."""
    task = asyncio.ensure_future(work)
    cancelled = await end_of(task)
    if cancelled is not None:
        if not task.cancelled():
            task.exception()
        raise cancelled
    return task.result()


async def end_of(work: asyncio.Future[Any]) -> asyncio.CancelledError | None:
    """Waits for the end of the work. Returns the cancellation that arrived before the end."""
    cancelled: asyncio.CancelledError | None = None
    # an anyio scope repeats its cancellation until the task leaves it; asyncio cancels once
    with anyio.CancelScope(shield=True):
        while not work.done():
            try:
                await asyncio.wait([work])
            except asyncio.CancelledError as error:
                cancelled = error
    return cancelled
