"""The last check of an adapter: its function runs only with the approved arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from ._function import require_equal
from ._json import JsonObject
from ._tool import refuse_generator


@dataclass
class Run:
    """One run of a function.

    approved: its arguments.
    error: the error that the function raised. Some frameworks turn such an error into text.
    """

    approved: JsonObject
    error: BaseException | None = None


_running: ContextVar[Run] = ContextVar("countersign_running")


@contextmanager
def running(approved: JsonObject) -> Generator[Run, None, None]:
    """Lets a function that `checked` wraps run with these arguments inside the block."""
    run = Run(approved)
    token = _running.set(run)
    try:
        yield run
    finally:
        _running.reset(token)


def checked(function: Callable[..., Any], context: type | tuple[type, ...]) -> Callable[..., Any]:
    """Wraps a function so that it compares its arguments with the approved ones before it runs.

    A synchronous function stays synchronous. The wrapper raises `ArgumentsChanged` if the arguments differ, and
    `LookupError` outside `running`.

    context: the classes of arguments that the framework adds and the model does not see.

    :raises TypeError: for a generator function
    """
    refuse_generator(function)
    signature = inspect.signature(function)

    def check(run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        plain = {name: value for name, value in bound.arguments.items() if not isinstance(value, context)}
        require_equal(plain, run.approved)

    @functools.wraps(function)
    def run_plain(*args: Any, **kwargs: Any) -> Any:
        with _kept_error() as run:
            check(run, args, kwargs)
            return function(*args, **kwargs)

    @functools.wraps(function)
    async def run_async(*args: Any, **kwargs: Any) -> Any:
        with _kept_error() as run:
            check(run, args, kwargs)
            return await function(*args, **kwargs)

    return run_async if inspect.iscoroutinefunction(function) else run_plain


@contextmanager
def _kept_error() -> Generator[Run, None, None]:
    run = _running.get()
    try:
        yield run
    except BaseException as error:
        run.error = error
        raise
