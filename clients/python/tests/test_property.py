"""Random arguments, and random edits of a saved call.

The law: a function runs only with the arguments that were approved, and with the types that it declares. Otherwise the
call is refused, and its proof stays unused.
"""

from __future__ import annotations

import asyncio
import copy
import datetime
import decimal
import enum
import inspect
import json
import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import httpx
import pydantic
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from countersign_sdk import NotExecuted, StillPending
from countersign_sdk._canonical import action_hash, canonical
from countersign_sdk._json import as_object
from fake import FakeGateway

IS_LONG = "COUNTERSIGN_TEST_SOAK" in os.environ
EXAMPLES = 20_000 if IS_LONG else 200
PROPERTY = settings(
    max_examples=EXAMPLES,
    derandomize=not IS_LONG,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)

Draw = Callable[[st.SearchStrategy[Any]], Any]


@dataclass(frozen=True)
class Kind:
    """A type of arguments.

    values: what the caller gives for it.
    fits: whether a function that declares the type may get this value.
    """

    type: Any
    values: st.SearchStrategy[Any]
    fits: Callable[[Any], bool]


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


class Rate(enum.Enum):
    LOW = decimal.Decimal("0.10")
    HIGH = decimal.Decimal("2")


def exactly(*types: type) -> Callable[[Any], bool]:
    return lambda value: type(value) in types


INTEGERS = st.integers(-(2**53) + 1, 2**53 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
# a program that writes the others as integers makes them ones that the gateway refuses
FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda one: not 2**53 <= abs(one) < 1e21)
ZONES = st.integers(-1439, 1439).map(lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes)))
SCALARS = [
    Kind(int, INTEGERS, exactly(int)),
    Kind(float, FLOATS, exactly(float)),
    Kind(bool, st.booleans(), exactly(bool)),
    Kind(str, TEXTS, exactly(str)),
    Kind(int | str, INTEGERS | TEXTS, exactly(int, str)),
    Kind(decimal.Decimal, st.decimals(allow_nan=False, allow_infinity=False), exactly(decimal.Decimal)),
    Kind(datetime.datetime, st.datetimes(timezones=ZONES), exactly(datetime.datetime)),
    Kind(datetime.date, st.dates(), exactly(datetime.date)),
    Kind(uuid.UUID, st.uuids(), exactly(uuid.UUID)),
    Kind(Color, st.sampled_from(Color), exactly(Color, str)),
    Kind(Size, st.sampled_from(Size), exactly(Size, int)),
    Kind(Rate, st.sampled_from(Rate), exactly(Rate, decimal.Decimal)),
    Kind(Literal["a", 2, Color.RED], st.sampled_from(["a", 2, Color.RED]), exactly(str, int, Color)),
    Kind(Annotated[int, pydantic.BeforeValidator(lambda n: n // 2)], INTEGERS, exactly(int)),
    Kind(Annotated[str, pydantic.AfterValidator(lambda text: f"{text}!")], TEXTS, exactly(str)),
    Kind(Annotated[int, pydantic.PlainSerializer(lambda _: 0)], INTEGERS, exactly(int)),
]


def kinds(depth: int) -> st.SearchStrategy[Kind]:
    scalars = st.sampled_from(SCALARS)
    if depth == 0:
        return scalars
    inner = kinds(depth - 1)
    containers = [inner.map(make) for make in (optional, list_of, tuple_of, object_of)]
    return st.one_of(scalars, models(depth), *containers)


def optional(kind: Kind) -> Kind:
    return Kind(kind.type | None, st.none() | kind.values, lambda value: value is None or kind.fits(value))


def list_of(kind: Kind) -> Kind:
    fits: Callable[[Any], bool] = lambda value: type(value) is list and all(map(kind.fits, value))  # noqa: E731
    return Kind(list[kind.type], st.lists(kind.values, max_size=2), fits)  # type: ignore[name-defined]


def tuple_of(kind: Kind) -> Kind:
    fits: Callable[[Any], bool] = lambda value: type(value) is tuple and all(map(kind.fits, value))  # noqa: E731
    return Kind(tuple[kind.type, ...], st.lists(kind.values, max_size=2).map(tuple), fits)  # type: ignore[name-defined]


def object_of(kind: Kind) -> Kind:
    fits: Callable[[Any], bool] = lambda value: type(value) is dict and all(map(kind.fits, value.values()))  # noqa: E731
    return Kind(dict[str, kind.type], st.dictionaries(TEXTS, kind.values, max_size=2), fits)  # type: ignore[name-defined]


JSON = st.recursive(
    st.none() | st.booleans() | INTEGERS | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
CONFIGS = st.fixed_dictionaries(
    {"extra": st.sampled_from(["allow", "ignore", "forbid"])},
    optional=dict.fromkeys(["strict", "frozen", "str_strip_whitespace", "use_enum_values"], st.booleans()),
)


@st.composite
def models(draw: Draw, depth: int) -> Kind:
    """Makes a model with random fields and options."""
    fields = draw(st.dictionaries(st.sampled_from("abcd"), kinds(depth - 1), min_size=1, max_size=3))
    config = draw(CONFIGS)
    declared: dict[str, Any] = {}
    for name, kind in fields.items():
        options: dict[str, Any] = {"exclude": draw(st.booleans())}
        if draw(st.booleans()):
            options["alias"] = f"{name}Alias"
        if draw(st.booleans()):
            default = draw(kind.values)
            options["default_factory"] = lambda default=default: copy.deepcopy(default)
            options["validate_default"] = True
        declared[name] = (kind.type, Field(**options))
    model: Any = pydantic.create_model("Made", __config__=config, **declared)

    def fits(value: Any) -> bool:
        return type(value) is model and all(kind.fits(value.__dict__[name]) for name, kind in fields.items())

    required: dict[str, Any] = {}
    left: dict[str, Any] = {}
    for name, one in model.model_fields.items():
        (required if one.is_required() else left)[one.alias or name] = fields[name].values
    members: Any = st.fixed_dictionaries(required, optional=left)
    if config["extra"] == "allow":
        more = st.dictionaries(st.sampled_from(["x", "y"]), JSON, max_size=2)
        members = st.builds(lambda own, extra: {**extra, **own}, members, more)
    return Kind(model, members.map(model.model_validate), fits)


class Desk(FakeGateway):
    """A gateway that keeps what its reviewers saw, and whose proof was redeemed."""

    def __init__(self) -> None:
        super().__init__(polls=1)
        self.shown: dict[str, Any] = {}
        self.redeemed: list[Any] = []

    def _requests(self, request: httpx.Request, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        status, answer = super()._requests(request, body)
        self.shown[answer["thread_id"]] = body["payload"]
        return status, answer

    def _validate(self, request: httpx.Request, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        status, answer = super()._validate(request, body)
        if answer["valid"]:
            self.redeemed.append(self.shown[body["thread_id"]])
        return status, answer


class Case:
    """A function with random parameters, a call of it, and what it got."""

    def __init__(self, draw: Draw, depth: int) -> None:
        self.kinds = {"model": draw(models(depth)), "other": draw(kinds(depth))}
        self.given = {name: draw(kind.values) for name, kind in self.kinds.items()}
        self.got: list[dict[str, Any]] = []
        self.is_async = draw(st.booleans())
        self.desk = Desk()
        self.function = self._function()

    def _function(self) -> Any:
        def pay(**given: Any) -> None:
            self.got.append(given)

        types = {name: kind.type for name, kind in self.kinds.items()}
        named = inspect.Parameter.KEYWORD_ONLY
        own = [inspect.Parameter(name, named, annotation=one) for name, one in types.items()]
        made: Any = pay
        made.__signature__ = inspect.Signature(own)
        made.__annotations__ = types
        return made

    def play(self, options: dict[str, Any], call: Callable[[Any, Any], Any]) -> Any:
        """Makes a client, guards the function, and calls it by `call(gate, tool)`."""
        make: Any = self.desk.async_gate if self.is_async else self.desk.gate
        gate = make(on_held=lambda _: None, **options)
        tool = gate.tool("pay")(self.function)
        if not self.is_async:
            return call(gate, tool)

        async def later() -> Any:
            return await call(gate, tool)

        return asyncio.run(later())

    def held(self) -> tuple[Any, Any]:
        """Proposes the call, and returns what its program saves: the handle and the payload."""
        with pytest.raises(StillPending) as waiting:
            self.play({"max_wait": 0}, lambda _, tool: tool(**self.given))
        saved = [waiting.value.handle, self.desk.shown["thr_0"]]
        return tuple(json.loads(json.dumps(saved)))

    def require_law(self) -> None:
        """Compares what the function got with what reviewers saw, and with its declared types."""
        assert [canonical(as_object(one)) for one in self.got] == [canonical(one) for one in self.desk.redeemed]
        for one in self.got:
            assert all(kind.fits(one[name]) for name, kind in self.kinds.items()), one


def types_of(value: Any) -> Any:
    """Returns the type of a value and of all values inside of it."""
    if isinstance(value, BaseModel):
        return type(value), types_of({**value.__dict__, **(value.model_extra or {})})
    if isinstance(value, dict):
        return {name: types_of(one) for name, one in value.items()}
    return (type(value), [types_of(one) for one in value]) if isinstance(value, (list, tuple)) else type(value)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Returns the path of each value inside of a value."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(one for name, member in members for one in places(member, (*path, name)))]


def edited(draw: Draw, payload: Any) -> Any:
    """Returns the payload with one change at a random place."""
    path = draw(st.sampled_from(places(payload)[1:] or [()]))
    made = copy.deepcopy(payload)
    parent = made
    for name in path[:-1]:
        parent = parent[name]
    if not path or draw(st.integers(0, 9)) == 0:
        return {**payload, "more": draw(JSON)}
    value = parent[path[-1]]
    changes = [JSON, st.just(value)]
    if isinstance(value, str):
        changes += [
            TEXTS,
            st.sampled_from(["1.1", "red", "0.10", "2026-01-02", f"{value} ", value.upper(), f"{value}0"]),
        ]
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        # other programs write integral numbers in either form
        changes += [INTEGERS, st.just(float(value)), st.just(int(value))]
    if draw(st.integers(0, 5)) == 0:
        del parent[path[-1]]
    else:
        parent[path[-1]] = draw(st.one_of(*changes))
    return made


def edited_handle(draw: Draw, handle: dict[str, Any], payload: Any) -> dict[str, Any]:
    """Returns the handle of the payload, with other changes that its program could make."""
    made = {**handle, "payload": payload}
    name = draw(st.sampled_from(["", "", "", "task_id", "tool_name", "nonce", "again", "status"]))
    if name == "status":
        made["status"] = "allow"
        del made["thread_id"]
    elif name:
        made[name] = 7 if name == "again" else "other"
    if draw(st.booleans()):
        again = made.get("again", 0)
        made["action_hash"] = action_hash(made["task_id"], made["tool_name"], payload, made["nonce"], again)
    if draw(st.booleans()):
        del made["payload"]
    return made


def bare(handle: dict[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in handle.items() if name != "payload"}


@PROPERTY
@given(st.data())
def test_a_saved_call_runs_as_it_was_approved_or_not_at_all(data: st.DataObject) -> None:
    case = Case(data.draw, 2)
    handle, payload = case.held()
    if data.draw(st.booleans()):
        other = payload
        kept = {**handle, "payload": payload} if data.draw(st.booleans()) else handle
    else:
        other = edited(data.draw, payload)
        kept = edited_handle(data.draw, handle, other)
    try:
        case.play({}, lambda gate, tool: gate.resume(kept, tool, payload=other))
    except (NotExecuted, ValueError):
        assert (case.got, case.desk.redeemed) == ([], [])
        assert canonical([other, bare(kept)]) != canonical([payload, bare(handle)])
        return
    case.require_law()
    assert len(case.got) == 1
    if canonical(other) == canonical(payload):
        assert case.got[0] == case.given
        assert types_of(case.got[0]) == types_of(case.given)


@PROPERTY
@given(st.data())
def test_an_object_that_changes_while_its_call_waits_does_not_run(data: st.DataObject) -> None:
    case = Case(data.draw, 1)
    model = case.given["model"]
    assert isinstance(model, BaseModel)
    name = data.draw(st.sampled_from(sorted(type(model).model_fields)))
    value = data.draw(case.kinds["model"].values).__dict__[name]
    moment = data.draw(st.sampled_from(["decisions", "validate"]))
    before = canonical(as_object(case.given))

    def change(route: str, *_: Any) -> None:
        if route == moment:
            model.__dict__[name] = value

    case.desk.change = change
    case.desk.polls = 0
    try:
        case.play({}, lambda _, tool: tool(**case.given))
    except NotExecuted:
        assert case.got == []
        assert canonical(as_object(case.given)) != before
        assert (len(case.desk.redeemed) == 0) == (moment == "decisions")
        return
    case.require_law()
    assert case.got[0]["model"] is model
