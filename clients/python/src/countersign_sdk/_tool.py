"""Checks of a function that a gate guards, and the options of a `with` block."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar, cast

from ._call import Core, Options, check_options

F = TypeVar("F", bound=Callable[..., Any])


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


# the member of a decorated function that holds the gateway's name of its tool
TOOL = "__countersign_tool__"


def named(guarded: F, tool: str, core: Core, function: Callable[..., Any]) -> F:
    """Gives a decorated function the name, the text and the signature of its function, and notes its tool.

    It has no `__wrapped__`: frameworks copy the source of that function, and the copy would run without the gateway.
    """
    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        with suppress(AttributeError):
            setattr(guarded, name, getattr(function, name))
    signature, hints = inspect.signature(function), hints_of(function)
    typed = {
        name: one.replace(annotation=hints.get(name, one.annotation)) for name, one in signature.parameters.items()
    }
    returned = hints.get("return", signature.return_annotation)
    made: Any = guarded
    made.__signature__ = signature.replace(parameters=[*typed.values()], return_annotation=returned)
    # a wrapper has other globals, so its annotations are types, not names
    made.__annotations__ = hints
    setattr(guarded, TOOL, tool)
    core.functions.setdefault(tool, []).append(function)
    return guarded


def hints_of(function: Any) -> dict[str, Any]:
    """Returns the types of the parameters of a function, or of the members of a class.

    :raises TypeError: the name of a type is not known at run time
    """
    inner = function
    while isinstance(inner, functools.partial):
        inner = cast("Any", inner).func
    if not isinstance(inner, type) and not hasattr(inner, "__annotations__"):
        inner = type(inner).__call__
    try:
        return typing.get_type_hints(inner, include_extras=True)
    except NameError as error:
        if "return" in getattr(inner, "__annotations__", {}) and not isinstance(inner, type):
            return hints_of(_without_return(inner))
        raise TypeError(f"{name_of(function)}: {error}: import it at run time, and define it in the module") from error


def _without_return(function: Any) -> Any:
    """Returns an object with the annotations of the parameters only, because a payload holds no result."""

    def call() -> None: ...

    own = types.FunctionType(call.__code__, getattr(inspect.unwrap(function), "__globals__", {}), name_of(function))
    own.__annotations__ = {name: one for name, one in function.__annotations__.items() if name != "return"}
    return own


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
