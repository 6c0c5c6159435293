"""Converts Python values to JSON by the table in docs/python/values.md."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import functools
import inspect
import ipaddress
import math
import pathlib
import uuid
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from .errors import InvalidPayload

if TYPE_CHECKING:
    Json: TypeAlias = bool | int | float | str | "list[Json]" | "dict[str, Json]" | None
    JsonObject: TypeAlias = "dict[str, Json]"
else:
    # neither `typing.get_type_hints` nor pydantic reads a type that contains itself
    Json = Any
    JsonObject = dict[str, Any]

# a double represents every integer up to this one
LARGEST_INTEGER = 2**53 - 1
# the gateway accepts 64 levels (docs/limits.md, JSON_DEPTH)
_DEEPEST = 100
_MOST_VALUES = 200_000
# plain notation of "1e200000000" would need 200 MB
_MOST_DIGITS = 1_000
# types whose text is the whole value
_TEXTS = (uuid.UUID, pathlib.PurePath, ipaddress.IPv4Address, ipaddress.IPv6Address)
_MAPPINGS = (dict, OrderedDict, defaultdict)
_CONTAINERS = {Mapping: "dict", list: "list", tuple: "list", set: "set", frozenset: "set"}


class _PlainTuple(NamedTuple):
    """A named tuple without methods of its own."""


# members of every named tuple
_PLAIN_TUPLE = {*vars(_PlainTuple), "__annotate_func__", "__annotate__", "__class_getitem__"}


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
        _require_plain(value, path)
        fields = _fields_of(value, path)
        if fields is not None:
            return self._members(iter(fields), path)
        kind = type(value)
        if kind in _MAPPINGS:
            return self._members(iter(cast("dict[object, object]", value).items()), path)
        if kind in (list, tuple):
            return [self.convert(item, (*path, index)) for index, item in enumerate(cast("list[object]", value))]
        if kind in (set, frozenset):
            return self._sorted(cast("set[object]", value), path)
        if _is_root_model(value):
            return self.convert(cast("Any", value).root, path)
        return _as_text(value, path)

    def _sorted(self, value: set[object], path: Path) -> Json:
        """Returns a list in the order of the items' canonical texts, because a set has no order of its own."""
        from ._canonical import canonical  # imports this module

        items = {canonical(item): item for item in (self.convert(one, path) for one in value)}
        if len(items) < len(value):
            raise _refused(path, "a set with two items that are equal in JSON")
        return [items[text] for text in sorted(items)]

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
    _require_visible(value, path)
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


Members: TypeAlias = "list[tuple[object, object]]"


def _fields_of(value: object, path: Path) -> Members | None:
    """Returns all fields of an object by their Python names, or None for an object without declared fields.

    Reads attributes. A serializer, an alias or `exclude` could show reviewers another value than the function gets.

    :raises InvalidPayload: the object has state beside its fields
    """
    kind = cast("Any", type(value))
    if hasattr(kind, "__pydantic_validator__") and hasattr(kind, "model_fields"):
        return None if _is_root_model(value) else _model_fields(cast("Any", value), path)
    names = _field_names(value)
    if names is None:
        return None
    _require_visible(value, path, names)
    return [(name, _attribute(value, name, path)) for name in names]


def _field_names(value: object) -> list[str] | None:
    """Returns the fields of a dataclass, an object of attrs or a named tuple."""
    kind = cast("Any", type(value))
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    if hasattr(kind, "__attrs_attrs__"):
        return [str(field.name) for field in kind.__attrs_attrs__]
    return list(kind._fields) if hasattr(kind, "_fields") and isinstance(value, tuple) else None


def members_of(value: object) -> dict[object, object]:
    """Returns the members of a mapping, or the fields of an object. Another value has none."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[object, object]", value))
    if _is_root_model(value):
        return {"root": cast("Any", value).root}
    return dict(_fields_of(value, ()) or ())


def _model_fields(model: Any, path: Path) -> Members:
    kind = cast("Any", type(model))
    names: list[str] = list(kind.model_fields)
    _require_visible(model, path, names)
    private = cast("dict[str, object]", model.__pydantic_private__ or {})
    for name, held in private.items():
        declared = kind.__private_attributes__[name]
        if held != (declared.default_factory() if declared.default_factory else declared.default):
            raise _refused(path, f"a {kind.__name__} with the private attribute `{name}`, which reviewers do not see")
    fields: Members = [(name, _attribute(model, name, path)) for name in names]
    return [*fields, *(model.model_extra or {}).items()]


def _attribute(value: object, name: str, path: Path) -> object:
    try:
        return getattr(value, name)
    except AttributeError as error:
        raise _refused(path, f"a {type(value).__name__} without its field `{name}`") from error


def _is_root_model(value: object) -> bool:
    return getattr(type(value), "__pydantic_root_model__", False) is True


def _require_plain(value: object, path: Path) -> None:
    """Refuses a container of a class that can hold more than its items, or show other ones."""
    kind = type(value)
    if kind in (*_MAPPINGS, list, tuple, set, frozenset) or _is_named_tuple(kind):
        return
    for container, remedy in _CONTAINERS.items():
        if isinstance(value, container):
            raise _refused(path, f"a {kind.__name__}, which may hold more than its items: pass {remedy}(x)")


def _is_named_tuple(kind: type) -> bool:
    if not hasattr(kind, "_fields") or not issubclass(kind, tuple):
        return False
    known = {*_PLAIN_TUPLE, *cast("Any", kind)._fields}
    own = {name: held for one in kind.__mro__ if tuple in one.__mro__[1:] for name, held in vars(one).items()}
    return not any(name not in known and (callable(held) or hasattr(held, "__get__")) for name, held in own.items())


def _require_visible(value: object, path: Path, fields: Iterable[str] = ()) -> None:
    """Refuses an object with attributes that the payload does not show.

    The cached properties of a class are no state: they follow from its fields.
    """
    kind = type(value)
    if kind in (str, int, float):
        return
    instance = cast("Any", value)
    known = {*fields, "__dict__", "__weakref__"}
    slots = {name for one in kind.__mro__ for name in _slots_of(one) if hasattr(instance, name)}
    state: dict[str, object] = getattr(instance, "__dict__", {})
    for name in sorted({*state, *slots} - known):
        if not isinstance(inspect.getattr_static(kind, name, None), functools.cached_property):
            raise _refused(path, f"a {kind.__name__} with the attribute `{name}`, which is no field of it")


def _slots_of(kind: type) -> Iterable[str]:
    slots = vars(kind).get("__slots__", ())
    names: Iterable[str] = (slots,) if isinstance(slots, str) else slots
    return [name for name in names if not name.startswith("__pydantic_")]


def _as_text(value: object, path: Path) -> str:
    if isinstance(value, decimal.Decimal):
        if not value.is_finite():
            raise _refused(path, f"the number {value}")
        _, digits, exponent = value.as_tuple()
        if len(digits) + abs(cast("int", exponent)) > _MOST_DIGITS:
            raise _refused(path, f"a decimal of more than {_MOST_DIGITS} digits")
        return f"{value:f}"
    if isinstance(value, datetime.datetime):
        return _time(value, path)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, _TEXTS) or type(value).__module__ in ("pydantic.networks", "pydantic_core._pydantic_core"):
        return str(value)
    if isinstance(value, datetime.time):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise _refused(path, "bytes: send them as text, base64 for instance")
    if hasattr(type(value), "get_secret_value"):
        raise _refused(path, "a secret, which reviewers do not see: send its name, and read it in the tool")
    raise _refused(path, f"a value of type {type(value).__name__}")


def _time(value: datetime.datetime, path: Path) -> str:
    offset = value.utcoffset()
    if offset is None:
        raise _refused(path, "a time without a zone: give it one")
    # such as the local times before 1900; RFC 3339 has no seconds there
    if offset % datetime.timedelta(minutes=1):
        raise _refused(path, "a time whose zone is no whole number of minutes: give it in UTC")
    return value.isoformat()


def _refused(path: Path, what: str) -> InvalidPayload:
    place = pointer(path)
    return InvalidPayload(f"JSON cannot hold {what}{f', at {place}' if place else ''}", places=(place,))


def pointer(path: Path) -> str:
    """Returns the JSON Pointer (RFC 6901) of a path."""
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in path)
