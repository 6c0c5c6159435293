"""Checks of a function that a gate guards, and the options of a `with` block."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ._call import Options, check_options


def refuse_generator(function: Callable[..., Any]) -> None:
    """Refuses a function that yields: it would return before its body runs.

    :raises TypeError: for a generator function, synchronous or asynchronous
    """
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{name_of(function)} yields its results: return them instead")


def refuse_async(function: Callable[..., Any]) -> None:
    """Refuses what the synchronous client cannot run.

    :raises TypeError: for an async function, or a generator function
    """
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{name_of(function)} is asynchronous: use AsyncCountersign")
    refuse_generator(function)


def name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", function))


# the options of the `with` blocks around the code that runs, each with its client
_blocks: ContextVar[tuple[tuple[object, Options], ...]] = ContextVar("countersign_options", default=())


@contextmanager
def options_block(client: object, options: Options) -> Generator[None]:
    """Gives options to the calls of the client's decorated functions inside the block.

    :raises TypeError: for an unknown option
    :raises ValueError: for a max_wait that is negative or NaN
    """
    check_options(options)
    token = _blocks.set((*_blocks.get(), (client, options)))
    try:
        yield
    finally:
        _blocks.reset(token)


def options_of(client: object, own: Options) -> Options:
    """Returns the options of a decorated function: its own, replaced by those of the blocks around its call."""
    merged: Options = {**own}
    for owner, given in _blocks.get():
        if owner is client:
            merged = {**merged, **given}
    return merged
