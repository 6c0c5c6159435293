"""A guarded function: its arguments as a payload, and its one run with arguments that equal the approved payload."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Collection, Mapping
from types import SimpleNamespace
from typing import Any, cast

from ._call import NotStarted
from ._canonical import canonical
from ._json import JsonObject, as_object
from ._rebuild import NotRebuildable, Rebuild, rebuilder
from ._tool import name_of
from .errors import ArgumentsChanged, InvalidPayload, NotExecuted

_EMPTY = inspect.Parameter.empty
_MORE = inspect.Parameter.VAR_KEYWORD
# the member of a decorated function that holds its `GuardedFunction`
MEMBER = "__countersign__"


class Parameters:
    """The parameters of a function, with the types that a payload gives back.

    left_out: parameters that a framework adds, and that no payload holds.

    :raises TypeError: for a method of a class, a parameter without a name in a payload, or a type that no payload holds
    """

    def __init__(self, function: Callable[..., Any], left_out: Collection[str] = ()) -> None:
        self.signature = inspect.signature(function)
        self._name = name_of(function)
        self._left_out = frozenset(left_out)
        first = next(iter(self.signature.parameters), "")
        if first in ("self", "cls"):
            raise TypeError(
                f"{self._name} is a method, and `{first}` has no place in a payload:"
                " guard the method of an object, such as gate.tool(name)(bank.transfer)"
            )
        own = [one for one in self.signature.parameters.values() if one.name not in self._left_out]
        self._more = next((one.name for one in own if one.kind is _MORE), None)
        self._rebuild = {one.name: self._rebuilder(function, one) for one in own}

    def _rebuilder(self, function: Callable[..., Any], parameter: inspect.Parameter) -> Rebuild:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            raise TypeError(f"{self._name}: the argument `{parameter.name}` has no name in a payload")
        try:
            return rebuilder(_type_of(function, parameter))
        except NotRebuildable as error:
            raise TypeError(
                f"{self._name}: no payload can hold the argument `{parameter.name}`"
                f" ({inspect.formatannotation(parameter.annotation)}): {error}"
            ) from error

    def payload(self, bound: inspect.BoundArguments) -> dict[str, object]:
        """Returns, by name, all arguments that the function receives.

        :raises InvalidPayload: a further argument has the name of a positional one
        """
        payload: dict[str, object] = {}
        for name, value in bound.arguments.items():
            if name in self._left_out:
                continue
            more = cast("Mapping[str, object]", value) if name == self._more else {name: value}
            for one in payload.keys() & more.keys():
                raise InvalidPayload(f"two arguments are named `{one}`", places=[f"/{one}"])
            payload.update(more)
        return payload

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> inspect.BoundArguments:
        """Binds the arguments of a call, and adds the defaults."""
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound

    def rebuilt(self, approved: JsonObject) -> inspect.BoundArguments:
        """Makes the arguments from an approved payload, with the types that the function declares.

        :raises InvalidPayload: the payload does not fit the function
        :raises ArgumentsChanged: the arguments would be other than the approved ones
        """
        bound = self.signature.bind_partial()
        more = {name: one for name, one in approved.items() if name not in self._rebuild or name == self._more}
        if more and self._more is None:
            raise InvalidPayload(f"{self._name} has no argument `{next(iter(more))}`")
        for parameter in self.signature.parameters.values():
            if parameter.kind is _MORE:
                bound.arguments[parameter.name] = {name: self._value(parameter.name, one) for name, one in more.items()}
            elif parameter.name in approved:
                bound.arguments[parameter.name] = self._value(parameter.name, approved[parameter.name])
            elif parameter.name not in self._left_out:
                raise InvalidPayload(f"the payload leaves the argument `{parameter.name}` of {self._name} out")
        require_equal(self.payload(bound), approved)
        return bound

    def typed(self, given: JsonObject) -> inspect.BoundArguments:
        """Makes the arguments from JSON that need not name each of them, and adds the defaults.

        :raises InvalidPayload: the JSON does not fit the function
        """
        unknown = [] if self._more is not None else [name for name in given if name not in self._rebuild]
        if unknown:
            raise InvalidPayload(f"{self._name} has no argument `{unknown[0]}`", places=[f"/{unknown[0]}"])
        kinds = {name: name if name in self._rebuild else str(self._more) for name in given}
        bound = self.bound_to({name: self._value(kinds[name], one) for name, one in given.items()})
        bound.apply_defaults()
        return bound

    def bound_to(self, given: Mapping[str, object]) -> inspect.BoundArguments:
        """Binds arguments that are given by name, also those without a name in a call."""
        bound = self.signature.bind_partial()
        for name, parameter in self.signature.parameters.items():
            if parameter.kind is _MORE:
                rest = {one: value for one, value in given.items() if one not in self.signature.parameters}
                bound.arguments[name] = {**rest, **({name: given[name]} if name in given else {})}
            elif name in given:
                bound.arguments[name] = given[name]
        return bound

    def _value(self, name: str, value: Any) -> Any:
        if value is None and name != self._more and self.signature.parameters[name].default is None:
            return None
        try:
            return self._rebuild[name](value)
        except ValueError as error:
            raise InvalidPayload(f"`{name}` does not fit {self._name}: {error}", places=[f"/{name}"]) from error


def _type_of(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """Returns the type of a parameter.

    :raises NotRebuildable: the name of the type is not known where the function is
    """
    if not isinstance(parameter.annotation, str):
        return parameter.annotation
    inner: Any = inspect.unwrap(function)
    while isinstance(inner, functools.partial):
        inner = cast("Any", inner).func
    inner = getattr(inner, "__func__", inner)
    inner = inner if hasattr(inner, "__globals__") else type(inner).__call__
    named = cast("Any", SimpleNamespace(__annotations__={parameter.name: parameter.annotation}))
    try:
        found = typing.get_type_hints(named, getattr(inner, "__globals__", {}), include_extras=True)
    except NameError as error:
        raise NotRebuildable(f"{error}: import it at run time, and define it in the module") from error
    return found[parameter.name]


def in_places(function: Callable[..., Any], given: Mapping[str, object]) -> tuple[list[object], dict[str, object]]:
    """Returns arguments given by name as the function takes them: those without a name in a call, and the others."""
    parameters = inspect.signature(function).parameters.values()
    placed = [one.name for one in parameters if one.kind is inspect.Parameter.POSITIONAL_ONLY and one.name in given]
    return [given[name] for name in placed], {name: one for name, one in given.items() if name not in placed}


def require_equal(running: object, approved: Mapping[str, Any]) -> None:
    """Compares arguments with the approved ones, as canonical JSON (RFC 8785).

    :raises ArgumentsChanged: they differ
    """
    if canonical(as_object(running)) != canonical(as_object(approved)):
        raise ArgumentsChanged("these are not the arguments that were approved")


class Start:
    """The one run of a function. A client calls `ready` before it redeems the proof, and then the object itself.

    proposed: the payload of the arguments `own`. For another payload, which reviewers asked for, and for the payload
    of another process, the arguments are made anew.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        parameters: Parameters,
        own: inspect.BoundArguments | None = None,
        proposed: JsonObject | None = None,
    ) -> None:
        self._function = function
        self._parameters = parameters
        self._own = own
        self._proposed = proposed
        self._made: inspect.BoundArguments | None = None

    def ready(self, approved: JsonObject) -> None:
        """Compares the arguments with the approved ones, in the moment before the proof is redeemed.

        :raises ArgumentsChanged: they differ
        """
        self._arguments(approved)

    def __call__(self, approved: JsonObject) -> Any:
        """Runs the function. The arguments may have changed during the redemption, so it compares them again.

        :raises NotStarted: they differ
        """
        try:
            bound = self._arguments(approved)
        except NotExecuted as error:
            raise NotStarted(error) from error
        return self._function(*bound.args, **bound.kwargs)

    def _arguments(self, approved: JsonObject) -> inspect.BoundArguments:
        own = self._own
        if own is None or canonical(approved) != canonical(self._proposed):
            own = self._made = self._made or self._parameters.rebuilt(approved)
        require_equal(self._parameters.payload(own), approved)
        return own


class GuardedFunction:
    """A function behind a gate.

    runs: what runs in its place, such as the function in a Python thread.
    """

    def __init__(self, function: Callable[..., Any], runs: Callable[..., Any] | None = None) -> None:
        self._parameters = Parameters(function)
        self._runs = runs or function

    def proposed(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[JsonObject, Start]:
        """Returns the payload of a call, and its run with the caller's own objects."""
        bound = self._parameters.bind(args, kwargs)
        payload = as_object(self._parameters.payload(bound))
        return payload, Start(self._runs, self._parameters, bound, payload)

    def resumed(self) -> Start:
        """Returns the run of a call that another process proposed."""
        return Start(self._runs, self._parameters)


def run_of(run: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Returns the run of a decorated function for `resume`, or the caller's own function."""
    guarded = getattr(run, MEMBER, None)
    return guarded.resumed() if isinstance(guarded, GuardedFunction) else run
