"""Converts the arguments of a function to a payload, and back."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ._call import Options, check_options
from ._json import JsonObject


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


_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


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


class Signature:
    """The signature of a guarded function.

    :raises TypeError: for a positional-only or `*args` parameter, which has no name in a payload
    :raises TypeError: for a method of a class
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._signature = inspect.signature(function)
        first = next(iter(self._signature.parameters), "")
        if first in ("self", "cls"):
            raise TypeError(
                f"{name_of(function)} is a method, and `{first}` has no place in a payload:"
                " guard the method of an object, such as gate.tool(name)(bank.transfer)"
            )
        for parameter in self._signature.parameters.values():
            if parameter.kind in _NAMED or parameter.kind is inspect.Parameter.VAR_KEYWORD:
                continue
            raise TypeError(f"{name_of(function)}: the argument `{parameter.name}` has no name in a payload")

    def payload(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
        """Returns, by name, all arguments that the function receives, including defaults."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        payload: dict[str, object] = {}
        for name, value in bound.arguments.items():
            if self._signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                payload.update(value)
            else:
                payload[name] = value
        return payload

    def call(self, approved: JsonObject) -> Any:
        return self._function(**approved)
