"""Objects with declared fields: reviewers see every field that the function can read."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import functools
from typing import Annotated, Any, Generic, Literal, TypeVar

import attrs
import pydantic
import pytest
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, RootModel, SecretStr
from typing_extensions import TypedDict  # pydantic refuses the TypedDict of typing before 3.12

from countersign_sdk import InvalidPayload
from countersign_sdk._json import as_json


class Color(enum.Enum):
    RED = "red"


class Card(BaseModel):
    number: str

    @pydantic.field_serializer("number")
    def masked(self, number: str) -> str:
        return f"****{number[-4:]}"


class Order(BaseModel):
    model_config = ConfigDict(extra="allow")

    order: int = Field(alias="orderNumber")
    force: bool = Field(default=False, exclude=True)
    card: Card | None = None
    color: Color = Color.RED
    amount: decimal.Decimal = decimal.Decimal("1.10")
    day: datetime.date = datetime.date(2026, 1, 2)

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def total(self) -> int:
        return self.order * 2

    @functools.cached_property
    def cached(self) -> int:
        return self.order * 3

    @pydantic.model_serializer
    def shortened(self) -> dict[str, Any]:
        return {"order": 0}


def test_a_model_is_all_its_fields_and_extra_members_whatever_its_serializers_say() -> None:
    card = {"number": "4111111111111111"}
    order = Order.model_validate({"orderNumber": 7, "force": True, "amount_2": 9, "card": card})
    assert order.cached == 21
    assert as_json(order) == {
        "order": 7,
        "force": True,
        "card": {"number": "4111111111111111"},
        "color": "red",
        "amount": "1.10",
        "day": "2026-01-02",
        "amount_2": 9,
    }


T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    items: list[T]


class Tree(BaseModel):
    value: int
    children: list[Tree] = []


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    tricks: tuple[str, ...] = ()


class Owner(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]


class Tags(RootModel[list[str]]):
    pass


class Where(TypedDict, total=False):
    city: str


@dataclasses.dataclass
class Account:
    iban: str
    limit: decimal.Decimal = dataclasses.field(default=decimal.Decimal("1E+2"), repr=False, compare=False)


@attrs.define
class Ticket:
    number: int
    _note: str = ""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Page[Cat](items=[Cat(lives=9)]), {"items": [{"kind": "cat", "lives": 9}]}),
        (Tree(value=1, children=[Tree(value=2)]), {"value": 1, "children": [{"value": 2, "children": []}]}),
        (Owner(pet=Dog(tricks=("sit",))), {"pet": {"kind": "dog", "tricks": ["sit"]}}),
        (Tags(["a", "b"]), ["a", "b"]),
        (Where(city="Paris"), {"city": "Paris"}),
        (Account("DE1"), {"iban": "DE1", "limit": "100"}),
        (Ticket(1, note="x"), {"number": 1, "_note": "x"}),
    ],
)
def test_is_converted(value: object, expected: object) -> None:
    assert as_json(value) == expected


class Quiet(BaseModel):
    order: int
    _force: bool = PrivateAttr(default=False)
    _seen: list[str] = PrivateAttr(default_factory=list)


class Slotted:
    __slots__ = ("hidden",)


@dataclasses.dataclass
class Half(Slotted):
    shown: int


def with_attribute(value: object, name: str) -> object:
    object.__setattr__(value, name, 1)
    return value


def forced() -> Quiet:
    quiet = Quiet(order=7)
    quiet._force = True
    return quiet


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (forced(), "private attribute `_force`"),
        (with_attribute(Card(number="1"), "hidden"), "attribute `hidden`"),
        (with_attribute(Account("DE1"), "hidden"), "attribute `hidden`"),
        (with_attribute(Half(1), "hidden"), "attribute `hidden`"),
        (Card.model_construct(), "without its field `number`"),
        (SecretStr("s"), "a secret, which reviewers do not see"),
        ({"bytes": b"a"}, "bytes"),
        (Where, "type"),
    ],
)
def test_what_cannot_be_read_completely_is_refused_with_its_path(value: object, what: str) -> None:
    with pytest.raises(InvalidPayload, match=what) as refused:
        as_json({"a": [value]})
    assert refused.value.places[0].startswith("/a/0")


def test_a_private_attribute_with_its_default_is_no_state() -> None:
    assert as_json(Quiet(order=7)) == {"order": 7}


def test_an_extra_member_with_the_name_of_a_field_is_refused() -> None:
    both = Order.model_validate({"orderNumber": 7, "order": 8})
    with pytest.raises(InvalidPayload, match="two members `order`"):
        as_json(both)
