"""A guarded function gets the caller's own objects, or the same objects made anew in another process."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import decimal
import enum
import http.client
import uuid
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import pydantic
import pytest
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SecretStr

from countersign_sdk import ArgumentsChanged, Countersign, InvalidPayload, StillPending
from countersign_sdk._function import Parameters
from countersign_sdk._json import JsonObject, as_json, as_object
from countersign_sdk._rebuild import NotRebuildable, is_alike, rebuilder
from fake import FakeGateway
from test_models import Account, Cat, Color, Dog, Owner, Page, Quiet, Tags, Ticket, Tree, Where


class Line(NamedTuple):
    text: str
    day: datetime.date


class Euro(BaseModel):
    """Each validator, constructor and default changes the value, so that a second run would show."""

    model_config = ConfigDict(extra="allow")

    cents: int
    memo: str = Field(alias="theMemo")
    id: uuid.UUID = Field(default_factory=uuid.uuid4)
    _seen: list[str] = PrivateAttr(default_factory=list)

    @pydantic.field_validator("cents", mode="before")
    @classmethod
    def from_euros(cls, euros: int) -> int:
        return euros * 100

    @pydantic.field_validator("memo")
    @classmethod
    def louder(cls, memo: str) -> str:
        return f"{memo}!"

    @pydantic.model_validator(mode="before")
    @classmethod
    def one_more(cls, given: dict[str, Any]) -> dict[str, Any]:
        return {**given, "cents": given["cents"] + 1}

    @pydantic.model_validator(mode="after")
    def another(self) -> Euro:
        self.cents += 1
        return self

    def model_post_init(self, _: object) -> None:
        self.cents += 1


class Started(BaseModel):
    n: int

    def __init__(self, **given: Any) -> None:
        super().__init__(n=given["n"] + 1)


@dataclasses.dataclass
class Doubled:
    n: int

    def __post_init__(self) -> None:
        self.n *= 2


class Rate(enum.Enum):
    LOW = decimal.Decimal("0.10")
    PAIR = (1, 2)
    SECRET = b"in no payload"


class Same(enum.Enum):
    TEXT = "0.10"
    NUMBER = decimal.Decimal("0.10")


class Plain(BaseModel):
    model_config = ConfigDict(use_enum_values=True)

    color: Color
    rate: Rate


class Twice(BaseModel):
    """Has each type twice, so that pydantic keeps it by reference."""

    euros: tuple[Euro, Euro]
    rates: tuple[Rate, Rate]
    quiet: tuple[Quiet, Quiet]


EURO = Euro.model_validate({"cents": 5, "theMemo": "a"})
VALUES: list[tuple[Any, object]] = [
    (Euro, Euro.model_validate({"cents": 5, "theMemo": "a", "more": 1})),
    (Started, Started(n=1)),
    (Doubled, Doubled(2)),
    (Line, Line("a", datetime.date(2026, 1, 2))),
    (Tree, Tree(value=1, children=[Tree(value=2)])),
    (Owner, Owner(pet=Dog(tricks=("sit",)))),
    (Tags, Tags(["a"])),
    (Page[Cat], Page[Cat](items=[Cat(lives=1)])),
    (Where, {"city": "Paris"}),
    (Account, Account("DE1", decimal.Decimal("1.10"))),
    (Quiet, Quiet(order=1)),
    (list[Ticket], [Ticket(1, note="x")]),
    (set[Color], {Color.RED}),
    (decimal.Decimal | None, decimal.Decimal("1.10")),
    (dict[str, datetime.datetime], {"at": datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)}),
    (Literal["a", 2], 2),
    (Rate, Rate.LOW),
    (Rate | None, Rate.PAIR),
    (Plain, Plain(color=Color.RED, rate=Rate.LOW)),
    (Literal["a", Color.RED, Rate.PAIR], Rate.PAIR),
    (Twice, Twice(euros=(EURO, EURO), rates=(Rate.LOW, Rate.PAIR), quiet=(Quiet(order=1), Quiet(order=2)))),
    (pydantic.HttpUrl, pydantic.HttpUrl("http://a.example/b")),
]


@pytest.mark.parametrize(("kind", "value"), VALUES)
def test_is_made_anew_without_running_a_validator_again(kind: Any, value: object) -> None:
    made = rebuilder(kind)(as_json(value))
    assert made == value
    assert type(made) is type(value)
    assert is_alike(made, value)


@pytest.mark.parametrize(
    ("kind", "written", "expected"),
    [
        (int, 1.0, 1),
        (float, 1, 1.0),
        (Literal[1, "a"], 1.0, 1),
        (list[int] | None, [1.0], [1]),
        (dict[str, float], {"a": 1}, {"a": 1.0}),
        (int | float, 1, 1),
        (int, 1e300, 1e300),
    ],
)
def test_a_number_has_the_declared_type_however_another_program_writes_it(
    kind: Any, written: Any, expected: Any
) -> None:
    assert repr(rebuilder(kind)(written)) == repr(expected)


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (bytes, "base64"),
        (dict[str, bytes], "base64"),
        (SecretStr, "reviewers do not see a secret"),
        (Callable[[], None], "a function is no JSON"),
        (datetime.timedelta, "a number with its unit"),
        (http.client.HTTPMessage, "cannot make a HTTPMessage from JSON"),
        (Same, "equal in JSON"),
        (Annotated[int, pydantic.PlainValidator(lambda value: value)], "takes the place of its type"),
    ],
)
def test_a_type_that_no_payload_can_hold_is_refused_at_decoration(kind: Any, what: str) -> None:
    def pay(n: int, other: Any) -> None: ...

    pay.__annotations__["other"] = kind
    for client in (FakeGateway().gate(), FakeGateway().async_gate()):
        with pytest.raises(TypeError, match=rf"pay: no payload can hold the argument `other` .*{what}"):
            client.tool("pay")(pay)


def test_types_that_differ_only_outside_json_are_told_apart() -> None:
    assert not is_alike({"a": [decimal.Decimal(1)]}, {"a": ["1"]})
    assert not is_alike(Owner(pet=Cat(lives=1)), {"pet": {"kind": "cat", "lives": 1}})
    assert not is_alike({Color.RED}, {"red"})
    assert is_alike([1, {"a": 2.0}], [1.0, {"a": 2}])


class Currency(enum.Enum):
    EUR = "eur"


class Refund(BaseModel):
    amount: decimal.Decimal
    currency: Currency
    day: datetime.date
    force: bool = Field(default=False, exclude=True)


REFUND = Refund(amount=decimal.Decimal("1.10"), currency=Currency.EUR, day=datetime.date(2026, 1, 2), force=True)
PAYLOAD: JsonObject = {
    "refund": {"amount": "1.10", "currency": "eur", "day": "2026-01-02", "force": True},
    "at": "2026-01-02T00:00:00+00:00",
    "memo": None,
}
AT = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)


def test_the_function_gets_the_objects_of_its_caller() -> None:
    gateway = FakeGateway()
    got: list[Any] = []

    def pay(refund: Refund, /, at: datetime.datetime, memo: str | None = None, **more: decimal.Decimal) -> None:
        got.extend([refund, at, more])

    later = gateway.async_gate().tool("pay")(pay)
    gateway.gate().tool("pay")(pay)(REFUND, at=AT, tip=decimal.Decimal("0.5"))
    asyncio.run(later(REFUND, at=AT, tip=decimal.Decimal("0.5")))
    assert [got[0] is REFUND, got[1] is AT, got[2]["tip"] * 2] == [True, True, decimal.Decimal("1.0")]
    assert got[3:] == got[:3]
    sent = gateway.sent[1].read().decode()
    assert '"force":true' in sent
    assert '"memo":null' in sent
    assert '"tip":"0.5"' in sent


def pending(gate: Countersign, pay: Any) -> Any:
    with pytest.raises(StillPending) as waiting, gate.call(max_wait=0):
        pay(REFUND, at=AT)
    return waiting.value.handle


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_call_of_another_process_gets_the_types_that_the_function_declares(asynchronous: bool) -> None:
    gateway = FakeGateway(polls=1)
    got: list[Any] = []

    def pay(refund: Refund, at: datetime.datetime, memo: str | None = None) -> str:
        got.append((refund, at, memo))
        return "paid"

    gate = gateway.gate()
    handle = pending(gate, gate.tool("pay")(pay))
    assert handle["payload"] == PAYLOAD
    if asynchronous:
        other = gateway.async_gate()
        later = other.tool("pay")(pay)

        async def play() -> str:
            return await other.resume(handle, later)

        assert asyncio.run(play()) == "paid"
    else:
        assert gateway.gate().resume(handle, gateway.gate().tool("pay")(pay)) == "paid"
    assert got == [(REFUND, AT, None)]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_objects_that_change_while_reviewers_decide_do_not_run(asynchronous: bool) -> None:
    refund = REFUND.model_copy()
    gateway = FakeGateway()
    decide: Any = lambda _: setattr(refund, "amount", decimal.Decimal("9.99"))  # noqa: E731
    gate: Any = gateway.async_gate(on_decision=decide) if asynchronous else gateway.gate(on_decision=decide)
    pay = gate.tool("pay")(lambda refund: pytest.fail("it ran"))
    with pytest.raises(ArgumentsChanged, match="not the arguments that were approved"):
        asyncio.run(pay(refund)) if asynchronous else pay(refund)
    # the proof stays unused
    assert "validate" not in gateway.asked
    assert gateway.outcomes() == []


@pytest.mark.parametrize("asynchronous", [False, True])
def test_objects_that_change_during_the_redemption_do_not_run_and_the_report_says_so(asynchronous: bool) -> None:
    refund = REFUND.model_copy()

    def change(route: str, *_: Any) -> None:
        if route == "validate":
            refund.amount = decimal.Decimal("9.99")

    gateway = FakeGateway(change=change)
    gate: Any = gateway.async_gate() if asynchronous else gateway.gate()
    pay = gate.tool("pay")(lambda refund: pytest.fail("it ran"))
    with pytest.raises(ArgumentsChanged):
        asyncio.run(pay(refund)) if asynchronous else pay(refund)
    assert gateway.outcomes() == ["not_run"]


def test_a_revised_payload_arrives_with_the_types_that_the_function_declares() -> None:
    gateway = Asking()
    got: list[Any] = []

    def pay(amount: decimal.Decimal, memo: str = "") -> None:
        got.append((amount, memo))

    gate = gateway.gate()
    gate.tool("pay", revise=lambda _, payload: {**payload, "amount": "2.20"})(pay)(decimal.Decimal("1.10"))
    assert got == [(decimal.Decimal("2.20"), "")]
    with pytest.raises(InvalidPayload, match="leaves the argument `memo` of"):
        Asking().gate().tool("pay", revise=lambda *_: {"amount": "2.20"})(pay)(decimal.Decimal("1.10"))


class Asking(FakeGateway):
    """A gateway whose reviewers ask for changes first."""

    def _requests(self, request: Any, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        status, answer = super()._requests(request, body)
        thread = self.threads[answer["thread_id"]]
        thread.status = "changes_requested"
        return status, answer

    def _events(self, request: Any, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        revision = body["payload"].get("revision")
        if revision is None:
            return super()._events(request, body)
        self.threads["thr_0"].action_hash = revision["action_hash"]
        self.threads["thr_0"].status = "pending_review"
        return 201, {"status": "pending_review"}


def test_a_payload_that_does_not_fit_the_function_is_refused_before_anything_is_redeemed() -> None:
    def pay(refund: Refund, n: int = 1) -> None:
        pytest.fail("it ran")

    parameters = Parameters(pay)
    refund = as_object(REFUND)
    for payload, what in [
        ({"refund": {**refund, "more": 1}, "n": 1}, "not the arguments"),
        ({"refund": {**refund, "currency": "usd"}, "n": 1}, "`refund` does not fit"),
        ({"refund": refund, "n": 1, "more": 2}, "has no argument `more`"),
        ({"refund": refund}, "leaves the argument `n`"),
    ]:
        with pytest.raises((ArgumentsChanged, InvalidPayload), match=what):
            parameters.rebuilt(as_object(payload))
    gateway = FakeGateway()
    handle = gateway.gate().propose("pay", {"refund": {"amount": "1"}, "n": 1})
    with pytest.raises(InvalidPayload):
        gateway.gate().resume(handle, gateway.gate().tool("pay")(pay))
    assert "decisions" not in gateway.asked


def test_without_pydantic_only_the_types_of_json_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pydantic", None)

    def pay(n: int, tags: list[str], memo: str | None, kind: Literal["a"], more: dict[str, Any]) -> None: ...

    assert Parameters(pay)
    with pytest.raises(NotRebuildable, match="install pydantic"):
        rebuilder(decimal.Decimal)


def test_two_arguments_of_one_name_are_refused() -> None:
    def pay(n: int, /, **more: int) -> None:
        pytest.fail("it ran")

    with pytest.raises(InvalidPayload, match="two arguments are named `n`"):
        FakeGateway().gate().tool("pay")(pay)(1, n=2)


def test_an_annotation_that_cannot_be_read_is_refused() -> None:
    def pay(n: Unknown) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(TypeError, match=r"`n` .*'Unknown' is not defined: import it at run time"):
        FakeGateway().gate().tool("pay")(pay)
