"""The contract of a Python function: a JSON Schema of the payloads of its calls (docs/python/values.md)."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import inspect
import ipaddress
import pathlib
import types
import typing
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Union, cast

from ._contract import misfits
from ._json import LARGEST_INTEGER, Json, JsonObject, as_json
from ._tool import hints_of, name_of
from .errors import InvalidPayload

_DECIMAL = r"^-?[0-9]+(\.[0-9]+)?$"
_SCALARS: Mapping[Any, JsonObject] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    # the conversion refuses integers beyond this one in both directions
    int: {"type": "integer", "maximum": LARGEST_INTEGER},
    float: {"type": "number"},
    types.NoneType: {"type": "null"},
    decimal.Decimal: {"type": "string", "pattern": _DECIMAL, "examples": ["12.50"]},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.time: {"type": "string"},
    uuid.UUID: {"type": "string", "format": "uuid"},
    ipaddress.IPv4Address: {"type": "string", "format": "ipv4"},
    ipaddress.IPv6Address: {"type": "string", "format": "ipv6"},
    Any: {},
    object: {},
    inspect.Parameter.empty: {},
    list: {"type": "array"},
    tuple: {"type": "array"},
    set: {"type": "array"},
    frozenset: {"type": "array"},
    dict: {"type": "object"},
}
_LISTS = (list, tuple, set, frozenset, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)
_OBJECTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
# names of the constraints in `Annotated`, as annotated-types and pydantic have them
_BOUNDS = {"ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum", "lt": "exclusiveMaximum"}
_LENGTHS = {"min_length": ("minLength", "minItems"), "max_length": ("maxLength", "maxItems")}


def contract_of(function: Callable[..., Any], tool: str | None = None) -> JsonObject:
    """Returns the contract of a function: `tool`, `description` and `input_schema`.

    An argument with a default is optional.

    :raises TypeError: for a parameter without a place in a payload, or of a type that JSON cannot hold
    """
    schema = _Types().of_function(function)
    description = inspect.getdoc(function) or ""
    return {"tool": tool or name_of(function), "description": description, "input_schema": schema}


class _Types:
    """One traversal of the types of a function. `defs` holds the schemas of its classes."""

    def __init__(self) -> None:
        self.defs: dict[str, Json] = {}
        self._names: dict[Any, str] = {}

    def of_function(self, function: Callable[..., Any]) -> JsonObject:
        hints = hints_of(function)
        properties: JsonObject = {}
        required: list[Json] = []
        further: Json = False
        for name, parameter in inspect.signature(function).parameters.items():
            kind = hints.get(name, parameter.annotation)
            try:
                if parameter.kind is parameter.VAR_POSITIONAL:
                    raise TypeError("it has no name in a payload")
                if parameter.kind is parameter.VAR_KEYWORD:
                    further = self.of(kind)
                    continue
                properties[name] = _with_default(self.of(kind), parameter.default)
            except TypeError as error:
                raise TypeError(f"{name_of(function)}: the argument `{name}`: {error}") from error
            if parameter.default is parameter.empty:
                required.append(name)
        schema: JsonObject = {"type": "object", "additionalProperties": further or further == {}}
        if isinstance(further, dict) and further:
            schema["additionalProperties"] = further
        schema["required"] = required
        schema["properties"] = properties
        return {**schema, "$defs": self.defs} if self.defs else schema

    def of(self, kind: Any) -> JsonObject:
        """Returns the schema of a type.

        :raises TypeError: JSON cannot hold a value of the type
        """
        known = _SCALARS.get(kind)
        if known is not None:
            return {**known}
        origin, inner = typing.get_origin(kind), typing.get_args(kind)
        if origin is typing.Annotated:
            return _constrained(self.of(inner[0]), inner[1:])
        if origin in (Union, types.UnionType):
            return self._union(inner)
        if origin is typing.Literal:
            return {"enum": [as_json(one) for one in inner]}
        if origin is not None:
            return self._generic(kind, origin, inner)
        return self._named(kind)

    def _named(self, kind: Any) -> JsonObject:
        """Returns the schema of a class, or of what a `NewType`, a type alias or a type variable stands for."""
        if isinstance(kind, typing.TypeVar):
            return self.of(Any if kind.__bound__ is None else kind.__bound__)
        alias = getattr(kind, "__supertype__", None) or getattr(kind, "__value__", None)
        return self._class(kind) if alias is None else self.of(alias)

    def _union(self, choices: tuple[Any, ...]) -> JsonObject:
        schemas = [self.of(one) for one in choices if one is not types.NoneType]
        union: JsonObject = schemas[0] if len(schemas) == 1 else {"anyOf": [*schemas]}
        return union if len(schemas) == len(choices) else _or_null(union)

    def _generic(self, kind: Any, origin: Any, inner: tuple[Any, ...]) -> JsonObject:
        if origin is tuple and inner[-1:] != (...,):
            items: list[Json] = [self.of(one) for one in inner]
            return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
        if origin in _LISTS:
            return {"type": "array", "items": self.of(inner[0])}
        if origin in _OBJECTS:
            return {"type": "object", "additionalProperties": self.of(inner[1]) or True}
        return self._class(kind)

    def _class(self, kind: Any) -> JsonObject:
        plain = typing.get_origin(kind) or kind
        if not isinstance(plain, type):
            raise TypeError(f"JSON cannot hold a value of type {inspect.formatannotation(kind)}")
        if issubclass(plain, enum.Enum):
            return {"enum": [as_json(one) for one in plain]}
        if hasattr(kind, "__pydantic_root_model__") and kind.__pydantic_root_model__:
            return self._annotated(kind.model_fields["root"])
        members = _members_of(kind, plain)
        if members is not None:
            return self._object(kind, members)
        if plain.__module__ in ("pydantic.networks", "pydantic_core._pydantic_core"):
            return {"type": "string"}
        for parent in (str, int, float, pathlib.PurePath):
            if issubclass(plain, parent):
                return {**_SCALARS.get(parent, {"type": "string"})}
        raise TypeError(f"JSON cannot hold a value of type {plain.__name__}")

    def _object(self, kind: Any, members: _Members) -> JsonObject:
        if kind in self._names:
            return {"$ref": f"#/$defs/{self._names[kind]}"}
        name = str(kind.__name__).replace("[", "_").replace("]", "").replace(", ", "_")
        while name in self.defs:
            name += "_"
        self._names[kind] = name
        # a class that contains itself refers to this name
        self.defs[name] = {}
        schema: JsonObject = {"type": "object", "additionalProperties": members.more, "required": [*members.required]}
        schema["properties"] = {one: self._annotated(given) for one, given in members.types.items()}
        self.defs[name] = schema
        return {"$ref": f"#/$defs/{name}"}

    def _annotated(self, given: Any) -> JsonObject:
        """Returns the schema of a field of pydantic, or of a type."""
        if hasattr(given, "annotation") and hasattr(given, "metadata"):
            return _constrained(self.of(given.annotation), (given,))
        return self.of(given)


@dataclasses.dataclass
class _Members:
    """The members of a class.

    more: whether its objects may have others.
    """

    types: Mapping[str, Any]
    required: list[str]
    more: bool = False


def _members_of(kind: Any, plain: Any) -> _Members | None:
    """Returns the members of a model, a dataclass, a class of attrs, a typed dictionary or a named tuple, or None."""
    if hasattr(kind, "__pydantic_fields__"):
        fields = cast("Mapping[str, Any]", kind.model_fields if hasattr(kind, "model_fields") else {})
        if fields or not dataclasses.is_dataclass(plain):
            required = [name for name, one in fields.items() if one.is_required()]
            config = cast("Mapping[str, Any]", getattr(kind, "model_config", {}))
            return _Members(fields, required, config.get("extra") == "allow")
    if typing.is_typeddict(plain):
        hints = {name: _plain(one) for name, one in hints_of(plain).items()}
        return _Members(hints, sorted(kind.__required_keys__))
    if dataclasses.is_dataclass(plain):
        hints = hints_of(plain)
        missing = dataclasses.MISSING
        own = dataclasses.fields(plain)
        required = [one.name for one in own if one.default is missing and one.default_factory is missing]
        return _Members({one.name: hints[one.name] for one in own}, required)
    attrs = getattr(plain, "__attrs_attrs__", None)
    if attrs is not None:
        hints = hints_of(plain)
        required = [one.name for one in attrs if repr(one.default) == "NOTHING"]
        return _Members({one.name: hints.get(one.name, Any) for one in attrs}, required)
    if issubclass(plain, tuple) and hasattr(kind, "_fields"):
        hints = hints_of(plain)
        names = cast("tuple[str, ...]", kind._fields)
        defaults = cast("Mapping[str, Any]", kind._field_defaults)
        return _Members({name: hints.get(name, Any) for name in names}, [one for one in names if one not in defaults])
    return None


def _plain(kind: Any) -> Any:
    """Returns the type inside `Required`, `NotRequired` or `ReadOnly`."""
    wrapped = str(typing.get_origin(kind)).rpartition(".")[2]
    return typing.get_args(kind)[0] if wrapped in ("Required", "NotRequired", "ReadOnly") else kind


def _constrained(schema: JsonObject, metadata: tuple[Any, ...]) -> JsonObject:
    found: JsonObject = {}
    for one in metadata:
        nested = cast("list[Any]", getattr(one, "metadata", None) or [])
        if nested:
            found.update(_constrained({key: schema[key] for key in ("type",) if key in schema}, tuple(nested)))
        if isinstance(getattr(one, "description", None), str):
            found["description"] = one.description
        found.update(_limits_of(one, schema.get("type")))
    if "$ref" in schema and found:
        return {"allOf": [schema], **found}
    loose = {{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}.get(name, "") for name in found}
    return {**{name: one for name, one in schema.items() if name not in loose}, **found}


def _limits_of(one: Any, kind: Json) -> JsonObject:
    found: JsonObject = {}
    if kind in ("integer", "number"):
        for name, keyword in _BOUNDS.items():
            value = getattr(one, name, None)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                found[keyword] = value
    for name, (text, items) in _LENGTHS.items():
        value = getattr(one, name, None)
        if isinstance(value, int) and kind in ("string", "array"):
            found[text if kind == "string" else items] = value
    pattern = getattr(one, "pattern", None)
    if isinstance(pattern, str) and kind == "string":
        found["pattern"] = pattern
    return found


def _or_null(schema: JsonObject) -> JsonObject:
    choices = schema.get("anyOf")
    if not any(misfits(None, schema)) and not choices and "$ref" not in schema:
        return schema
    if isinstance(choices, list):
        return schema if {"type": "null"} in choices else {**schema, "anyOf": [*choices, {"type": "null"}]}
    if isinstance(schema.get("enum"), list):
        return {**schema, "enum": [*cast("list[Json]", schema["enum"]), None]}
    if isinstance(schema.get("type"), str):
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def _with_default(schema: JsonObject, default: Any) -> JsonObject:
    """Adds a default that a payload holds. For a default of None, the type also permits null."""
    if default is inspect.Parameter.empty:
        return schema
    if default is None:
        return _or_null(schema)
    try:
        value = as_json(default)
    except InvalidPayload:
        return schema
    return {**schema, "default": value} if "$ref" not in schema and not any(misfits(value, schema)) else schema
