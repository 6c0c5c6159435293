"""Compares the payloads that a function sends with the contract of the gateway."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from ._canonical import canonical
from ._contract_of import contract_of
from ._json import Json, JsonObject, Path, pointer

_ALL = {"null", "boolean", "object", "array", "number", "string"}
# a schema that refers to itself is followed this far
_DEEPEST = 12


def differences(tool: str, function: JsonObject, contract: Json) -> list[str]:
    """Returns a sentence for each difference that makes the gateway refuse a call of the function.

    A contract may be narrower than the function, for example with a maximum: such a difference is intended.

    function, contract: the two `input_schema`.
    """
    found = _Comparison(function, contract).compare(function, contract, ())
    return [*dict.fromkeys(f"{tool}{f' {place}' if place else ''}: {message}" for place, message in found)]


@dataclass
class _Comparison:
    function: JsonObject
    contract: Json

    def compare(self, sent: Json, accepted: Json, path: Path) -> Iterator[tuple[str, str]]:
        sent, accepted = _target(sent, self.function), _target(accepted, self.contract)
        if not isinstance(sent, dict) or not isinstance(accepted, dict) or len(path) > _DEEPEST:
            return
        choices = _schemas(sent, "anyOf", "oneOf")
        if choices:
            for one in choices:
                yield from self.compare(one, accepted, path)
            return
        for part in _schemas(accepted, "allOf"):
            yield from self.compare(sent, part, path)
        alternatives = [[*self.compare(sent, one, path)] for one in _schemas(accepted, "anyOf", "oneOf")]
        if alternatives:
            yield from min(alternatives, key=len)
        yield from self._types(sent, accepted, path)
        yield from self._values(sent, accepted, path)
        yield from self._members(sent, accepted, path)
        yield from self._items(sent, accepted, path)

    def _types(self, sent: JsonObject, accepted: JsonObject, path: Path) -> Iterator[tuple[str, str]]:
        known = _types_of(accepted)
        wide = {*known, "integer"} if "number" in known else known
        for one in sorted(_types_of(sent) - wide):
            if _types_of(sent) >= _ALL:
                return
            yield pointer(path), f"the function sends {one}, and the contract takes {' or '.join(sorted(known))}"
        formats = sent.get("format"), accepted.get("format")
        if all(formats) and formats[0] != formats[1]:
            yield (
                pointer(path),
                f"the function sends a text in the format {formats[0]}, and the contract takes {formats[1]}",
            )

    def _values(self, sent: JsonObject, accepted: JsonObject, path: Path) -> Iterator[tuple[str, str]]:
        mine, known = _enum(sent), _enum(accepted)
        texts = {canonical(one) for one in known or ()}
        for one in mine or ():
            if known is not None and canonical(one) not in texts:
                yield pointer(path), f"the function may send {json.dumps(one)}, which the contract does not list"

    def _members(self, sent: JsonObject, accepted: JsonObject, path: Path) -> Iterator[tuple[str, str]]:
        mine, known = _map(sent, "properties"), _map(accepted, "properties")
        further = accepted.get("additionalProperties", True)
        is_open = sent.get("additionalProperties", True) is not False
        if not isinstance(sent.get("properties"), dict):
            return
        for name, one in mine.items():
            if name in known:
                yield from self.compare(one, known[name], (*path, name))
            elif further is False and "patternProperties" not in accepted:
                yield pointer((*path, name)), "the function sends it, and the contract does not have it"
            else:
                yield from self.compare(one, further, (*path, name))
        required = accepted.get("required")
        for one in required if isinstance(required, list) and not is_open else ():
            if one not in mine:
                yield pointer((*path, str(one))), "the contract requires it, and the function has no such argument"

    def _items(self, sent: JsonObject, accepted: JsonObject, path: Path) -> Iterator[tuple[str, str]]:
        if "items" in sent and "items" in accepted and "prefixItems" not in accepted:
            yield from self.compare(sent["items"], accepted["items"], (*path, 0))


def _target(schema: Json, root: Json) -> Json:
    """Returns the schema that a reference inside the document means."""
    for _ in range(_DEEPEST):
        if not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
            return schema
        found: Json = root
        for part in str(schema["$ref"]).removeprefix("#").split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, dict) else None
        schema = found
    return None


def _schemas(schema: JsonObject, *names: str) -> Sequence[Json]:
    return [one for name in names if isinstance(schema.get(name), list) for one in cast("list[Json]", schema[name])]


def _map(schema: JsonObject, name: str) -> JsonObject:
    found = schema.get(name)
    return found if isinstance(found, dict) else {}


def _enum(schema: JsonObject) -> list[Json] | None:
    if "const" in schema:
        return [schema["const"]]
    found = schema.get("enum")
    return found if isinstance(found, list) else None


def _types_of(schema: JsonObject) -> set[str]:
    named = schema.get("type")
    if isinstance(named, str):
        return {named}
    if isinstance(named, list):
        return {str(one) for one in named}
    values = _enum(schema)
    return {*_ALL} if values is None else {_type_of(one) for one in values}


def _type_of(value: Json) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, (int, float)):
        return "integer" if float(value).is_integer() else "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


__all__ = ["contract_of", "differences"]
