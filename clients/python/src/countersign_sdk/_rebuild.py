"""Rebuilds the arguments of a function from a payload, by its annotations.

No validator, default or `__post_init__` of the caller runs: they ran before the proposal, and the payload holds what
they made. Types that JSON does not have need pydantic.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias, Union, cast

from ._canonical import canonical
from ._json import LARGEST_INTEGER, Json, members_of
from ._schema import NotRebuildable, classes_of, without_fields, without_validators

Rebuild: TypeAlias = Callable[[Json], Any]


def rebuilder(kind: Any) -> Rebuild:
    """Returns a function that makes a value of this type from JSON. It raises `ValueError` for JSON that does not fit.

    :raises NotRebuildable: a payload cannot hold a value of this type, or pydantic is needed and not installed
    """
    if _is_plain(kind):
        return _with_numbers(kind)
    return _validated(without_validators(_schema_of(kind)))


def model_rebuilder(model: Any, left_out: frozenset[str] = frozenset()) -> Rebuild:
    """Returns a function that makes the arguments of a tool, by name, from JSON.

    model: the pydantic model of the arguments.
    left_out: the fields that a framework adds itself.

    :raises NotRebuildable: a payload cannot hold a field of the model
    """
    rebuild = _validated(without_validators(without_fields(_schema_of(model), left_out)))
    return lambda value: arguments_of(rebuild(value), left_out)


def arguments_of(model: Any, left_out: frozenset[str] = frozenset()) -> dict[str, object]:
    """Returns the fields and extra members of a parsed model of arguments, by their Python names."""
    fields = cast("dict[str, Any]", cast("Any", type(model)).model_fields)
    names = [name for name in fields if name not in left_out]
    return {**(model.model_extra or {}), **{name: getattr(model, name) for name in names}}


_PLAIN = (None, type(None), bool, int, float, str, list, dict, Any, object, inspect.Parameter.empty)


def _is_plain(kind: Any) -> bool:
    """Returns whether JSON itself holds the values of this type."""
    if any(kind is one for one in _PLAIN):
        return True
    origin, given = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return all(type(one) in (bool, int, str, type(None)) for one in given)
    if origin in (Union, types.UnionType, list):
        return all(_is_plain(one) for one in given)
    return origin is dict and given[0] is str and _is_plain(given[1])


def _with_numbers(kind: Any) -> Rebuild:
    """Returns a function that gives numbers the declared type: in JSON, `1.0` and `1` are the same number."""
    origin, given = typing.get_origin(kind), typing.get_args(kind)
    if kind is int or origin is Literal:
        return _as_int
    if kind is float:
        return lambda value: float(value) if type(value) is int else value
    if origin is list:
        item = _with_numbers(given[0])
        return lambda value: [item(one) for one in value] if isinstance(value, list) else value
    if origin is dict:
        member = _with_numbers(given[1])
        return lambda value: {name: member(one) for name, one in value.items()} if isinstance(value, dict) else value
    if origin in (Union, types.UnionType):
        # of both, a number may be either
        ambiguous = (int, float) if int in given and float in given else ()
        return _one_after_another([_with_numbers(one) for one in given if one not in ambiguous])
    return lambda value: value


def _as_int(value: Json) -> Any:
    is_integer = type(value) is float and value.is_integer() and abs(value) <= LARGEST_INTEGER
    return int(cast("float", value)) if is_integer else value


def _one_after_another(all_of: list[Rebuild]) -> Rebuild:
    """Returns the functions as one. Each leaves the values of other types alone."""
    return lambda value: functools.reduce(lambda made, rebuild: rebuild(made), all_of, value)


def _schema_of(kind: Any) -> Any:
    """Returns pydantic's schema of the type."""
    try:
        import pydantic
    except ImportError:
        raise NotRebuildable("install pydantic, which rebuilds it from JSON") from None
    try:
        try:
            # without this, pydantic refuses classes of attrs
            adapter = pydantic.TypeAdapter(kind, config={"arbitrary_types_allowed": True})
        except pydantic.PydanticUserError as error:
            if error.code != "type-adapter-config-unused":
                raise
            adapter = pydantic.TypeAdapter(kind)
        # the schema of a type that is built later is a mapping that builds it
        return dict(cast("Any", adapter.core_schema))
    except Exception as error:
        raise NotRebuildable(f"pydantic cannot read it: {_first_line(error)}") from error


def _validated(schema: Any) -> Rebuild:
    from pydantic_core import SchemaError, SchemaValidator

    make: Any = SchemaValidator
    try:
        if "_use_prebuilt" in str(make.__text_signature__):
            validator: SchemaValidator = make(schema, _use_prebuilt=False)
        else:
            with _unfinished(classes_of(schema)):
                validator = make(schema)
    except SchemaError as error:
        raise NotRebuildable(f"pydantic cannot rebuild it: {_first_line(error)}") from error
    return lambda value: validator.validate_json(canonical(value))


@contextmanager
def _unfinished(kinds: list[Any]) -> Generator[None]:
    """Marks classes as unfinished, because pydantic before 2.13 uses the validator of a finished one for its schema."""
    done: list[Any] = [kind for kind in kinds if kind.__dict__.get("__pydantic_complete__") is True]
    for kind in done:
        kind.__pydantic_complete__ = False
    try:
        yield
    finally:
        for kind in done:
            kind.__pydantic_complete__ = True


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def is_alike(one: object, other: object) -> bool:
    """Returns whether two values that are equal in JSON have the same types, too.

    In a type such as `Decimal | str`, JSON loses which of them a string was. Numbers stay as JSON has them.
    """
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, (set, frozenset)):
        return _names_in(cast("set[object]", one)) == _names_in(cast("set[object]", other))
    if isinstance(one, (list, tuple)):
        items = zip(cast("list[object]", one), cast("list[object]", other), strict=False)
        return all(is_alike(left, right) for left, right in items)
    mine, theirs = members_of(one), members_of(other)
    return all(name in theirs and is_alike(value, theirs[name]) for name, value in mine.items())


def _names_in(items: set[object]) -> list[str]:
    return sorted(type(item).__name__ for item in items)


__all__ = ["NotRebuildable", "Rebuild", "arguments_of", "is_alike", "model_rebuilder", "rebuilder"]
