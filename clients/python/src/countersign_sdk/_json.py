"""Converts Python values to JSON by the table in docs/python/values.md."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import math
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, Union, cast

from .errors import InvalidPayload

Json: TypeAlias = Union[bool, int, float, str, "list[Json]", "dict[str, Json]", None]
JsonObject: TypeAlias = "dict[str, Json]"

# a double represents every integer up to this one
LARGEST_INTEGER = 2**53 - 1
# the gateway accepts 64 levels (docs/limits.md, JSON_DEPTH)
_DEEPEST = 100
_MOST_VALUES = 200_000


def as_json(value: object) -> Json:
    """Returns a copy of the value that JSON can represent without loss.

    :raises InvalidPayload: with the path (RFC 6901) of the first value without a conversion
    """
    return _Conversion().convert(value, ())


def as_object(value: object, what: str = "the payload") -> JsonObject:
    """Converts a value that must be a JSON object.

    :raises InvalidPayload: the value has no conversion, or is not an object
    """
    converted = as_json(value)
    if not isinstance(converted, dict):
        raise InvalidPayload(f"{what} must be an object, not {type(value).__name__}")
    return converted


Path: TypeAlias = "tuple[str | int, ...]"


class _Conversion:
    """One traversal of a value.

    The traversal counts values, because an object that appears in many places can expand without bound.
    """

    def __init__(self) -> None:
        self._values = 0

    def convert(self, value: object, path: Path) -> Json:
        self._values += 1
        if self._values > _MOST_VALUES:
            raise _refused((), f"more than {_MOST_VALUES} values")
        if len(path) > _DEEPEST:
            raise _refused((), f"an object that is nested deeper than {_DEEPEST} levels, or in itself")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, enum.Enum):
            return self.convert(value.value, path)
        if isinstance(value, (str, int, float)):
            return _scalar(value, path)
        return self._compound(value, path)

    def _compound(self, value: object, path: Path) -> Json:
        if isinstance(value, Mapping):
            return self._members(cast("Mapping[object, object]", value).items(), path)
        if isinstance(value, (list, tuple)):
            items = cast("list[object]", value)
            return [self.convert(item, (*path, index)) for index, item in enumerate(items)]
        fields = _fields_of(value)
        if fields is not None:
            return self._members(iter(fields.items()), path)
        return _as_text(value, path)

    def _members(self, members: object, path: Path) -> JsonObject:
        converted: JsonObject = {}
        for key, member in cast("Iterator[tuple[object, object]]", members):
            name = key.value if isinstance(key, enum.Enum) else key
            if not isinstance(name, str):
                raise _refused(path, f"an object with the key {name!r}: keys are text")
            name = _text(name, path)
            if name in converted:
                raise _refused(path, f"an object with two members `{name}`")
            converted[name] = self.convert(member, (*path, name))
        return converted


def _scalar(value: str | float, path: Path) -> Json:
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, int):
        if abs(value) > LARGEST_INTEGER:
            raise _refused(path, "an integer beyond 2^53-1 without rounding it: send it as text")
        return int(value)
    if not math.isfinite(value):
        raise _refused(path, f"the number {value}")
    # RFC 8785 writes -0 as 0, as JavaScript does
    return float(value) or 0.0


def _text(value: str, path: Path) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _refused(path, "a text with a lone surrogate") from error
    # a plain str, because a subclass may print itself differently
    return str.__str__(value)


def _fields_of(value: object) -> Mapping[str, object] | None:
    """Returns the members of a dataclass or pydantic model by their Python names, or None."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(type(value), "__pydantic_validator__"):
        return cast("Mapping[str, object]", cast("Any", value).model_dump())
    return None


def _as_text(value: object, path: Path) -> str:
    if isinstance(value, decimal.Decimal):
        if not value.is_finite():
            raise _refused(path, f"the number {value}")
        return f"{value:f}"
    if isinstance(value, datetime.datetime):
        if value.utcoffset() is None:
            raise _refused(path, "a time without a zone: give it one")
        return value.isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise _refused(path, "bytes: send them as text, base64 for instance")
    raise _refused(path, f"a value of type {type(value).__name__}")


def _refused(path: Path, what: str) -> InvalidPayload:
    place = pointer(path)
    return InvalidPayload(f"JSON cannot hold {what}{f', at {place}' if place else ''}", places=(place,))


def pointer(path: Path) -> str:
    """Returns the JSON Pointer (RFC 6901) of a path."""
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in path)
