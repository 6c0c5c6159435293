"""One tool for each kind of type: what the model writes, what reviewers see, and what the function gets."""

import datetime
import enum
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal

from driver import Where
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    field_serializer,
    field_validator,
    model_validator,
)


class Color(enum.Enum):
    RED = "red"


class Order(BaseModel):
    order: int
    day: datetime.date
    amount: Decimal
    color: Color = Color.RED


class Basket(BaseModel):
    first: Order
    rest: list[Order] = []


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    order: int


class Hidden(BaseModel):
    order: int
    force: bool = Field(default=False, exclude=True)


class Card(BaseModel):
    number: str

    @field_serializer("number")
    def masked(self, number: str) -> str:
        return f"****{number[-4:]}"


class Cents(BaseModel):
    cents: int

    @field_validator("cents", mode="before")
    @classmethod
    def from_euros(cls, euros: int) -> int:
        return euros * 100


class Memo(BaseModel):
    memo: str

    @field_validator("memo")
    @classmethod
    def quiet(cls, memo: str) -> str:
        return memo.strip().lower()

    @model_validator(mode="after")
    def marked(self) -> "Memo":
        self.memo = f"{self.memo}!"
        return self


class Named(BaseModel):
    order: int = Field(alias="orderNumber")


class Made(BaseModel):
    n: int
    id: uuid.UUID = Field(default_factory=uuid.uuid4)


# reviewers must see the number, not what the serializer makes of it
Masked = Annotated[int, PlainSerializer(lambda _: 0)]


@dataclass(frozen=True)
class Row:
    """A call of `row_NAME`.

    payload: what reviewers see; None for a call that is refused before the proposal.
    got: the text of what the function gets, or of the refusal.
    """

    given: dict[str, Any]
    payload: Any
    got: str


_ORDER = {"order": 7, "day": "2026-01-02", "amount": "1.10", "color": "red"}
_MADE = "Order(order=7, day=datetime.date(2026, 1, 2), amount=Decimal('1.10'), color=<Color.RED: 'red'>)"


def _same(name: str, value: Any, got: str) -> Row:
    return Row({name: value}, {name: value}, got)


ROWS: dict[str, Row] = {
    "model": _same("req", _ORDER, _MADE),
    "nested": _same("req", {"first": _ORDER, "rest": [_ORDER]}, f"Basket(first={_MADE}, rest=[{_MADE}])"),
    "extra": _same("req", {"order": 1, "amount": 1000000}, "Open(order=1, amount=1000000)"),
    "exclude": _same("req", {"order": 1, "force": True}, "Hidden(order=1, force=True)"),
    "serializer": _same("req", {"number": "4111111111111111"}, "Card(number='4111111111111111')"),
    "before": Row({"req": {"cents": 5}}, {"req": {"cents": 500}}, "Cents(cents=500)"),
    "after": Row({"req": {"memo": " ABC "}}, {"req": {"memo": "abc!"}}, "Memo(memo='abc!')"),
    "alias": Row({"req": {"orderNumber": 7}}, {"req": {"order": 7}}, "Named(order=7)"),
    "decimal": _same("amount", "1.10", "Decimal('1.10')"),
    "zoned": Row(
        {"at": "2026-01-02T03:04:05Z"},
        {"at": "2026-01-02T03:04:05+00:00"},
        "datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=TzInfo(0))",
    ),
    "naive": Row({"at": "2026-01-02T03:04:05"}, None, "a time without a zone"),
    "date": _same("day", "2026-01-02", "datetime.date(2026, 1, 2)"),
    "enum": _same("color", "red", "<Color.RED: 'red'>"),
    "literal": _same("kind", "a", "'a'"),
    "factory": Row({"req": {"n": 1}}, "id", "Made(n=1, id=UUID("),
    "kwargs": Row({"n": 1, "tip": "0.5"}, {"n": 1, "tip": "0.5"}, "1, {'tip': Decimal('0.5')}"),
    "positional": Row({"n": 1}, {"n": 1, "m": 2}, "1, 2"),
    "none": Row({"n": 1}, {"n": 1, "memo": None}, "1, None"),
}


def functions_of(where: Where) -> list[Callable[..., Any]]:  # noqa: C901
    """Returns the function of each row. It records the text of its arguments."""

    def row_model(req: Order) -> str:
        """Has this type."""
        return where.run("model", got=repr(req))

    def row_nested(req: Basket) -> str:
        """Has this type."""
        return where.run("nested", got=repr(req))

    def row_extra(req: Open) -> str:
        """Has this type."""
        return where.run("extra", got=repr(req))

    def row_exclude(req: Hidden) -> str:
        """Has this type."""
        return where.run("exclude", got=repr(req))

    def row_serializer(req: Card) -> str:
        """Has this type."""
        return where.run("serializer", got=repr(req))

    def row_before(req: Cents) -> str:
        """Has this type."""
        return where.run("before", got=repr(req))

    def row_after(req: Memo) -> str:
        """Has this type."""
        return where.run("after", got=repr(req))

    def row_alias(req: Named) -> str:
        """Has this type."""
        return where.run("alias", got=repr(req))

    async def row_decimal(amount: Decimal) -> str:
        """Has this type."""
        return where.run("decimal", got=repr(amount))

    def row_zoned(at: datetime.datetime) -> str:
        """Has this type."""
        return where.run("zoned", got=repr(at))

    def row_naive(at: datetime.datetime) -> str:
        """Has this type."""
        return where.run("naive", got=repr(at))

    def row_date(day: datetime.date) -> str:
        """Has this type."""
        return where.run("date", got=repr(day))

    def row_enum(color: Color) -> str:
        """Has this type."""
        return where.run("enum", got=repr(color))

    def row_literal(kind: Literal["a", "b"]) -> str:
        """Has this type."""
        return where.run("literal", got=repr(kind))

    def row_factory(req: Made) -> str:
        """Has this type."""
        return where.run("factory", got=repr(req))

    def row_kwargs(n: int, **more: Decimal) -> str:
        """Has this type."""
        return where.run("kwargs", got=f"{n!r}, {more!r}")

    def row_positional(n: int, /, m: int = 2) -> str:
        """Has this type."""
        return where.run("positional", got=f"{n!r}, {m!r}")

    def row_none(n: int, memo: str | None = None) -> str:
        """Has this type."""
        return where.run("none", got=f"{n!r}, {memo!r}")

    return [one for name, one in locals().items() if name.startswith("row_")]


def function_of(name: str, where: Where) -> Callable[..., Any]:
    """Returns the function of the row of this name."""
    return next(one for one in functions_of(where) if one.__name__ == f"row_{name}")


def masking(where: Where) -> Callable[..., Any]:
    """Returns a function `held` whose number a serializer masks."""

    def held(n: Masked, memo: str | None = None) -> str:
        """People decide about it."""
        return where.run("held", n=n, memo=memo)

    return held


def plain(where: Where, name: str) -> Callable[..., Any]:
    """Returns a function of this name with a number."""

    def held(n: int, memo: str | None = None) -> str:
        """People decide about it."""
        return where.run(name, n=n, memo=memo)

    held.__name__ = name
    return held


def with_bytes(where: Where) -> Callable[..., Any]:
    def held(n: int, data: bytes = b"") -> str:
        """Takes what no payload can hold."""
        return where.run("held", n=n)

    return held
