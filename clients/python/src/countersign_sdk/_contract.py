"""Checks a payload against the tool's contract before a request. The gateway checks the payload again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import NamedTuple, cast

from ._canonical import canonical
from ._json import Json, JsonObject, Path, pointer


class Misfit(NamedTuple):
    place: str
    message: str


def misfits(value: Json, schema: object, path: Path = ()) -> Iterator[Misfit]:
    if not isinstance(schema, dict):
        return
    for check in _CHECKS:
        yield from check(value, cast("JsonObject", schema), path)


def _type(value: Json, schema: JsonObject, path: Path) -> Iterator[Misfit]:
    wanted = schema.get("type")
    if wanted is None:
        return
    names = [str(name) for name in (wanted if isinstance(wanted, list) else [wanted])]
    if not any(_is(value, name) for name in names):
        yield Misfit(pointer(path), f"must be {' or '.join(names)}")


def _is(value: Json, name: str) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    known: dict[str, bool] = {
        "integer": number and float(cast("float", value)).is_integer(),
        "number": number,
        "string": isinstance(value, str),
        "boolean": isinstance(value, bool),
        "array": isinstance(value, list),
        "object": isinstance(value, dict),
        "null": value is None,
    }
    return known.get(name, True)


def _enum(value: Json, schema: JsonObject, path: Path) -> Iterator[Misfit]:
    allowed = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(allowed, list) or canonical(value) in map(canonical, allowed):
        return
    yield Misfit(pointer(path), f"must be one of {', '.join(json.dumps(one, ensure_ascii=False) for one in allowed)}")


def _bounds(value: Json, schema: JsonObject, path: Path) -> Iterator[Misfit]:
    """Checks the value of a number, the characters in a string and the items in a list against the bounds.

    The gateway checks `pattern`.
    """
    if isinstance(value, bool) or value is None or isinstance(value, dict):
        return
    size: float = value if isinstance(value, (int, float)) else len(value)
    least, most, unit = _NAMES[str if isinstance(value, str) else list if isinstance(value, list) else float]
    low, high = schema.get(least), schema.get(most)
    if isinstance(low, (int, float)) and size < low:
        yield Misfit(pointer(path), f"must {unit[0]} at least {low}{unit[1]}")
    elif isinstance(high, (int, float)) and size > high:
        yield Misfit(pointer(path), f"must {unit[0]} at most {high}{unit[1]}")


_NAMES: dict[type, tuple[str, str, tuple[str, str]]] = {
    float: ("minimum", "maximum", ("be", "")),
    str: ("minLength", "maxLength", ("have", " characters")),
    list: ("minItems", "maxItems", ("have", " items")),
}


def _items(value: Json, schema: JsonObject, path: Path) -> Iterator[Misfit]:
    if not isinstance(value, list) or "items" not in schema:
        return
    prefix = schema.get("prefixItems")
    first = len(prefix) if isinstance(prefix, list) else 0
    for index, item in enumerate(value):
        if index >= first:
            yield from misfits(item, schema["items"], (*path, index))


def _members(value: Json, schema: JsonObject, path: Path) -> Iterator[Misfit]:
    if not isinstance(value, dict):
        return
    required, properties = schema.get("required"), schema.get("properties")
    for key in required if isinstance(required, list) else ():
        if key not in value:
            yield Misfit(pointer((*path, str(key))), "is required")
    known = properties if isinstance(properties, dict) else {}
    for key, member in value.items():
        if key in known:
            yield from misfits(member, known[key], (*path, key))
        elif "patternProperties" not in schema:
            yield from _further(member, schema.get("additionalProperties"), (*path, key))


def _further(member: Json, schema: Json, path: Path) -> Iterator[Misfit]:
    if schema is False:
        yield Misfit(pointer(path), "is not in the contract")
    else:
        yield from misfits(member, schema, path)


_CHECKS: tuple[Callable[[Json, JsonObject, Path], Iterator[Misfit]], ...] = (_type, _enum, _bounds, _items, _members)
