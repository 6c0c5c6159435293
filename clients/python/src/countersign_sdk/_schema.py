"""Changes pydantic's schema of a type, so that it makes from JSON exactly what a payload says."""

from __future__ import annotations

import enum
import functools
import operator
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias, cast

from ._canonical import canonical
from ._json import as_json
from .errors import InvalidPayload

Schema: TypeAlias = "dict[str, Any]"


class NotRebuildable(Exception):
    """No payload can hold a value of the type. The text is the reason."""


# marks a schema that is already changed
_OURS: Schema = {}


def without_validators(schema: object) -> Any:
    """Returns the schema without the validators, the aliases and the constructors of the caller.

    :raises NotRebuildable: JSON cannot hold a part of the type
    """
    if isinstance(schema, list):
        return [without_validators(one) for one in cast("list[object]", schema)]
    if not isinstance(schema, dict):
        return schema
    given = cast("Schema", schema)
    kind = given.get("type")
    change = _CHANGES.get(kind) if isinstance(kind, str) else None
    changed = given if change is None else change(given)
    if "ref" in given and "ref" not in changed:
        changed = {**changed, "ref": given["ref"]}
    if changed.get("type") != kind:
        return changed if changed.get("metadata") is _OURS else without_validators(changed)
    kept = ("metadata", "serialization", "cls", "config", "function", "members")
    return {name: one if name in kept else without_validators(one) for name, one in changed.items()}


def without_fields(schema: Any, names: frozenset[str]) -> Any:
    """Returns the schema of a model without these fields, which a framework adds itself."""
    if not names:
        return schema
    if schema["type"] == "model-fields":
        return {**schema, "fields": {name: one for name, one in schema["fields"].items() if name not in names}}
    return {**schema, "schema": without_fields(schema["schema"], names)}


def classes_of(schema: object) -> list[Any]:
    """Returns the models and dataclasses in a schema."""
    if isinstance(schema, list):
        return [kind for one in cast("list[object]", schema) for kind in classes_of(one)]
    if not isinstance(schema, dict):
        return []
    given = cast("Schema", schema)
    own = [given["cls"]] if given.get("type") in ("model", "dataclass") else []
    return [*own, *(kind for name, one in given.items() if name != "metadata" for kind in classes_of(one))]


_NO_JSON = {
    "bytes": "send them as text, base64 for instance",
    "callable": "a function is no JSON",
    "is-subclass": "a class is no JSON",
    "generator": "an iterator is no JSON",
    "timedelta": "send a number with its unit",
    "complex": "a complex number is no JSON",
}


def _no_json(schema: Schema) -> Schema:
    raise NotRebuildable(f"it holds {schema['type']}: {_NO_JSON[schema['type']]}")


def _function(schema: Schema) -> Schema:
    """Leaves a validator of the caller out, and keeps pydantic's own, such as the one that makes a path."""
    function: Any = schema["function"]["function"]
    while isinstance(function, functools.partial):
        function = cast("Any", function).func
    name = str(getattr(function, "__name__", "a function"))
    if name in ("SecretStr", "SecretBytes", "Secret"):
        raise NotRebuildable("reviewers do not see a secret: send its name, and read it in the tool")
    # `use_enum_values` gets the value of the member by an `attrgetter`
    known = isinstance(function, (type, operator.attrgetter))
    if known or str(getattr(function, "__module__", "")).partition(".")[0] == "pydantic":
        return schema
    if schema["type"] == "function-plain":
        raise NotRebuildable(f"the validator `{name}` takes the place of its type")
    return cast("Schema", schema["schema"])


def _model(schema: Schema) -> Schema:
    """Leaves `__init__` and `model_post_init` out. Private attributes get their defaults."""
    plain = {**schema, "custom_init": False}
    if plain.pop("post_init", None) is None:
        return plain
    plain.pop("ref", None)
    return _after(without_validators(plain), _with_private_defaults)


def _with_private_defaults(model: Any) -> Any:
    declared = cast("dict[str, Any]", cast("Any", type(model)).__private_attributes__)
    private = {name: one.default_factory() if one.default_factory else one.default for name, one in declared.items()}
    object.__setattr__(model, "__pydantic_private__", private or None)
    return model


def _choice(schema: Schema) -> Schema:
    """Finds the values of an enum or a `Literal` by their JSON. Pydantic would compare Python values."""
    values: list[object] = schema["members"] if schema["type"] == "enum" else schema["expected"]
    if all(type(_value_of(one, schema)) in _SCALARS for one in values):
        return schema
    found: dict[str, object] = {}
    for one in values:
        # a value without JSON is in no payload
        with suppress(InvalidPayload):
            name = canonical(as_json(one))
            if name in found:
                raise NotRebuildable(f"{found[name]!r} and {one!r} are equal in JSON")
            found[name] = one
    return _after({"type": "any"}, functools.partial(_chosen, found))


_SCALARS = (type(None), bool, int, float, str)


def _value_of(one: object, schema: Schema) -> object:
    return one.value if isinstance(one, enum.Enum) and schema["type"] == "enum" else one


def _chosen(found: Mapping[str, object], value: Any) -> object:
    name = canonical(value)
    if name not in found:
        raise ValueError(f"it is none of {', '.join(found)}")
    return found[name]


def _instance(schema: Schema) -> Schema:
    """Makes an object of attrs from its fields."""
    kind = schema["cls"]
    if not hasattr(kind, "__attrs_attrs__"):
        raise NotRebuildable(f"pydantic cannot make a {getattr(kind, '__name__', kind)} from JSON")
    from pydantic import TypeAdapter

    any_type: Schema = {"type": "any"}
    types = {
        one.name: any_type if one.type is None else TypeAdapter(one.type).core_schema for one in kind.__attrs_attrs__
    }
    fields = {name: {"type": "typed-dict-field", "schema": one, "required": True} for name, one in types.items()}
    members: Schema = {"type": "typed-dict", "fields": fields, "extra_behavior": "forbid"}
    return _after(without_validators(members), functools.partial(_object_of, kind))


def _object_of(kind: Any, members: Mapping[str, object]) -> Any:
    made = kind.__new__(kind)
    for name, value in members.items():
        object.__setattr__(made, name, value)
    return made


def _after(schema: Schema, function: Callable[[Any], Any]) -> Schema:
    function_schema = {"type": "no-info", "function": function}
    return {"type": "function-after", "schema": schema, "function": function_schema, "metadata": _OURS}


def _tagged(schema: Schema) -> Schema:
    """Leaves the discriminator out, which names aliases. The choices differ by its values."""
    if callable(schema["discriminator"]):
        return schema
    return {"type": "union", "choices": list(schema["choices"].values())}


def _without(*names: str) -> Callable[[Schema], Schema]:
    return lambda schema: {name: one for name, one in schema.items() if name not in names}


_CHANGES: Mapping[str, Callable[[Schema], Schema]] = {
    **dict.fromkeys(_NO_JSON, _no_json),
    **dict.fromkeys(("function-before", "function-after", "function-wrap", "function-plain"), _function),
    **dict.fromkeys(("model-field", "typed-dict-field", "dataclass-field"), _without("validation_alias")),
    **dict.fromkeys(("enum", "literal"), _choice),
    "model": _model,
    "dataclass": lambda schema: {**schema, "post_init": False},
    "tagged-union": _tagged,
    "json-or-python": lambda schema: cast("Schema", schema["json_schema"]),
    "is-instance": _instance,
}
