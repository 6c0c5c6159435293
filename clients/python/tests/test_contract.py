"""Contracts of functions, and their comparison with the contracts of a gateway."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import enum
import json
import sys
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NewType, TypedDict

import pytest

from countersign_sdk import ContractsDiffer, UnknownTool
from countersign_sdk.__main__ import main
from countersign_sdk._contract_of import contract_of  # pyright: ignore[reportPrivateUsage]
from countersign_sdk._json import LARGEST_INTEGER  # pyright: ignore[reportPrivateUsage]
from fake import FakeGateway

WHOLE = {"type": "integer", "maximum": LARGEST_INTEGER}
TEXT = {"type": "string"}


class Reason(enum.Enum):
    TWICE = "duplicate"
    FRAUD = "fraudulent"


@dataclass
class Line:
    sku: str
    count: int = 1
    parts: list[Line] | None = None


class Point(NamedTuple):
    x: int
    y: int = 0


class Note(TypedDict, total=False):
    text: str


Order = NewType("Order", int)
TYPES: list[tuple[Any, Any]] = [
    (str, TEXT),
    (int, WHOLE),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (None, {"type": "null"}),
    (Any, {}),
    (Order, WHOLE),
    (str | None, {"type": ["string", "null"]}),
    (str | int, {"anyOf": [TEXT, WHOLE]}),
    (str | int | None, {"anyOf": [TEXT, WHOLE, {"type": "null"}]}),
    (Reason | None, {"enum": ["duplicate", "fraudulent", None]}),
    (Literal["a", 1], {"enum": ["a", 1]}),
    (list[str], {"type": "array", "items": TEXT}),
    (Sequence[bool], {"type": "array", "items": {"type": "boolean"}}),
    (tuple[str, ...], {"type": "array", "items": TEXT}),
    (tuple[str, bool], {"type": "array", "prefixItems": [TEXT, {"type": "boolean"}], "minItems": 2, "maxItems": 2}),
    (dict[str, str], {"type": "object", "additionalProperties": TEXT}),
    (Mapping[str, Any], {"type": "object", "additionalProperties": True}),
    (decimal.Decimal, {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$", "examples": ["12.50"]}),
    (datetime.datetime, {"type": "string", "format": "date-time"}),
    (datetime.date, {"type": "string", "format": "date"}),
    (uuid.UUID, {"type": "string", "format": "uuid"}),
    (Path, TEXT),
]


def function(kind: Any) -> Callable[..., None]:
    def call(value: Any) -> None: ...

    call.__annotations__["value"] = kind
    return call


@pytest.mark.parametrize(("kind", "schema"), TYPES, ids=str)
def test_each_type_has_its_schema(kind: Any, schema: Any) -> None:
    contract: Any = contract_of(function(kind))
    assert contract["input_schema"] == {
        "type": "object",
        "additionalProperties": False,
        "required": ["value"],
        "properties": {"value": schema},
    }


def test_a_class_becomes_a_definition_that_may_contain_itself() -> None:
    contract: Any = contract_of(lambda: None)
    assert contract["input_schema"]["properties"] == {}

    def call(line: Line, point: Point, note: Note) -> None: ...

    found: Any = contract_of(call)["input_schema"]
    assert found["properties"] == {one: {"$ref": f"#/$defs/{one.title()}"} for one in ("line", "point", "note")}
    line = found["$defs"]["Line"]
    assert line["required"] == ["sku"]
    assert line["properties"]["parts"]["type"] == ["array", "null"]
    assert line["properties"]["parts"]["items"] == {"$ref": "#/$defs/Line"}
    assert found["$defs"]["Point"]["required"] == ["x"]
    assert found["$defs"]["Note"]["required"] == []


def test_an_argument_with_a_default_is_optional() -> None:
    def refund(
        order: int, note: str | None = None, reason: Reason = Reason.TWICE, dry: bool = False, **more: str
    ) -> None:
        """Refunds an order."""

    contract: Any = contract_of(refund, "orders.refund")
    schema = contract["input_schema"]
    assert (contract["tool"], contract["description"]) == ("orders.refund", "Refunds an order.")
    assert schema["required"] == ["order"]
    assert schema["properties"]["note"] == {"type": ["string", "null"]}
    assert schema["properties"]["reason"] == {"enum": ["duplicate", "fraudulent"], "default": "duplicate"}
    assert schema["properties"]["dry"] == {"type": "boolean", "default": False}
    assert schema["additionalProperties"] == TEXT


def test_models_of_pydantic_have_their_fields_and_constraints() -> None:
    pydantic = pytest.importorskip("pydantic")
    field: Any = pydantic.Field
    line: Any = pydantic.create_model(
        "Line",
        sku=(Annotated[str, field(min_length=1)], ...),
        count=(int, field(1, ge=1, lt=9, description="how many")),
    )
    many: Any = pydantic.RootModel[list[int]]
    call = function(line)
    call.__annotations__["value"] = Annotated[line, field(description="a line")]
    found: Any = contract_of(call)["input_schema"]
    assert found["properties"]["value"] == {"allOf": [{"$ref": "#/$defs/Line"}], "description": "a line"}
    assert found["$defs"]["Line"]["properties"] == {
        "sku": {"type": "string", "minLength": 1},
        "count": {"type": "integer", "minimum": 1, "exclusiveMaximum": 9, "description": "how many"},
    }
    assert contract_of(function(many))["input_schema"]["properties"]["value"]["items"] == WHOLE  # type: ignore


@pytest.mark.parametrize("kind", [bytes, complex, Callable[[], None], type, "Unknown"], ids=str)
def test_a_type_that_json_cannot_hold_is_refused_by_name(kind: Any) -> None:
    with pytest.raises(TypeError, match=r"call"):
        contract_of(function(kind))


def differing(schema: dict[str, Any], call: Callable[..., Any]) -> tuple[str, ...]:
    gateway = FakeGateway(schema={"type": "object", **schema})
    gate, other = gateway.gate(), gateway.async_gate()
    gate.tool("pay")(call)
    other.tool("pay")(call)
    found = [differences_of(gate.check), differences_of(lambda: asyncio.run(other.check()))]
    assert found[0] == found[1]
    return found[0]


def differences_of(check: Callable[[], None]) -> tuple[str, ...]:
    try:
        check()
    except ContractsDiffer as differ:
        return differ.differences
    return ()


def pay(amount: decimal.Decimal, to: str, note: str | None = None, reason: Reason = Reason.TWICE) -> None: ...


def closed(*required: str, **properties: Any) -> dict[str, Any]:
    return {"additionalProperties": False, "required": [*required], "properties": properties}


WIDE = {"amount": TEXT, "to": TEXT, "note": {"type": ["string", "null"]}, "reason": TEXT}


@pytest.mark.parametrize(
    ("schema", "differences"),
    [
        (closed("amount", **WIDE), []),
        (closed(**{**WIDE, "to": {"type": "string", "maxLength": 3}}), []),
        ({}, []),
        (
            closed(**{**WIDE, "amount": {"type": "number"}}),
            ["pay /amount: the function sends string, and the contract takes number"],
        ),
        (closed(**{**WIDE, "note": TEXT}), ["pay /note: the function sends null, and the contract takes string"]),
        (
            closed(**{name: one for name, one in WIDE.items() if name != "note"}),
            ["pay /note: the function sends it, and the contract does not have it"],
        ),
        (closed("iban", **WIDE), ["pay /iban: the contract requires it, and the function has no such argument"]),
        (
            closed(**{**WIDE, "reason": {"enum": ["duplicate"]}}),
            ['pay /reason: the function may send "fraudulent", which the contract does not list'],
        ),
        (
            closed(
                **{**WIDE, "to": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/To"}]}},
            )
            | {"$defs": {"To": TEXT}},
            [],
        ),
        (closed(**WIDE) | {"allOf": [closed("more")]}, None),
    ],
)
def test_the_check_names_what_the_gateway_would_refuse(schema: dict[str, Any], differences: list[str] | None) -> None:
    found = differing(schema, pay)
    assert len(found) > 1 if differences is None else [*found] == differences


def test_the_check_looks_into_lists_and_objects() -> None:
    def order(lines: list[Line]) -> None: ...

    line = {"type": "object", "properties": {"sku": {"type": "integer"}}}
    schema = closed(lines={"type": "array", "items": line})
    assert differing(schema, order) == ("pay /lines/0/sku: the function sends string, and the contract takes integer",)


def test_the_check_names_a_tool_that_the_agent_may_not_use() -> None:
    gateway = FakeGateway(change=lambda route, *_: {"tools": []} if route == "resolve" else None)
    gate = gateway.gate()
    gate.check()
    refund = gate.tool("orders.refund")(pay)
    with pytest.raises(ContractsDiffer, match=r"orders\.refund: the gateway does not let this agent use it"):
        gate.check()
    with pytest.raises(UnknownTool):
        refund(decimal.Decimal(1), "x")
    assert gate.contract(refund)["tool"] == "orders.refund"
    assert gate.contract(pay, "other")["tool"] == "other"


def test_a_function_fits_its_own_contract() -> None:
    def call(
        line: Line, point: Point, note: Note, why: Reason | None = None, more: dict[str, list[int]] | None = None
    ) -> None: ...

    schema: Any = contract_of(call)["input_schema"]
    assert differing(schema, call) == ()


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """A folder with the module `shop`."""
    (tmp_path / "shop.py").write_text(
        "from countersign_sdk import Countersign\n"
        "gate = Countersign()\nprint('imported')\n"
        "@gate.tool('orders.refund')\ndef refund(order: int, note: str = ''):\n    'Refunds.'\n"
        "class Bank:\n    def pay(self, n: int): ...\nbank = Bank()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("COUNTERSIGN_URL", "COUNTERSIGN_AGENT_KEY"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    yield tmp_path
    sys.modules.pop("shop", None)


def test_the_command_prints_the_contract_of_a_function_that_the_module_decorates(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["contract", "shop:refund"]) == 0
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (printed["tool"], printed["description"]) == ("orders.refund", "Refunds.")
    assert printed["input_schema"]["required"] == ["order"]
    assert main(["contract", "shop:bank.pay"]) == 0
    assert json.loads(capsys.readouterr().out)["input_schema"]["required"] == ["n"]
    for wrong, said in (("shop:none", "no attribute"), ("shop", "name a function"), ("nothing:refund", "No module")):
        assert main(["contract", wrong]) == 1
        told = capsys.readouterr()
        assert (told.out, said in told.err) == ("", True)
    assert main(["what"]) == 2
