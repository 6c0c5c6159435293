"""Converts the arguments of a function to a payload, and back."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

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


class Signature:
    """The signature of a guarded function.

    :raises TypeError: for a positional-only or `*args` parameter, which has no name in a payload
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._signature = inspect.signature(function)
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
