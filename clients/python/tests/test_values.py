"""Values that docs/python/values.md converts to JSON, and values refused with their path."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import ipaddress
import json
import math
import pathlib
import random
import struct
import uuid
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from countersign_sdk import InvalidPayload
from countersign_sdk._canonical import action_hash, canonical
from countersign_sdk._json import as_json


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Loud(str):
    def __str__(self) -> str:
        return self.upper()


class Marked(str):
    mark: str

    def __init__(self, _: str) -> None:
        self.mark = "b"


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass
class Order:
    amount: decimal.Decimal
    tags: tuple[str, ...]


ZONE = datetime.timezone(datetime.timedelta(hours=2))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2**53 - 1, 2**53 - 1),
        (-0.0, 0.0),
        (1.5, 1.5),
        (True, True),
        (Color.RED, "red"),
        (Level.HIGH, 3),
        ({Color.RED: 1}, {"red": 1}),
        (Loud("a"), "a"),
        (Point(1, 2), {"x": 1, "y": 2}),
        ({3, 1, 20}, [1, 20, 3]),
        (frozenset({Color.RED}), ["red"]),
        (OrderedDict(b=1, a=(2, None)), {"b": 1, "a": [2, None]}),
        (decimal.Decimal("12.50"), "12.50"),
        (decimal.Decimal("1E+3"), "1000"),
        (datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=ZONE), "2026-01-02T03:04:05+02:00"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (datetime.time(1, 2), "01:02:00"),
        (pathlib.PurePosixPath("a/b"), "a/b"),
        (ipaddress.ip_address("::1"), "::1"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Order(decimal.Decimal("1.10"), ("a",)), {"amount": "1.10", "tags": ["a"]}),
    ],
)
def test_is_converted(value: object, expected: object) -> None:
    converted = as_json({"v": value})
    assert converted == {"v": expected}
    assert isinstance(converted, dict)
    assert type(converted["v"]) is type(expected)
    assert str(converted["v"]) == str(expected)


def nested_in_itself() -> object:
    inner: dict[str, Any] = {}
    inner["self"] = inner
    return inner


@pytest.mark.parametrize(
    "value",
    [
        2**53,
        # RFC 3339 has no seconds in a zone
        datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(seconds=30))),
        -(2**53),
        math.nan,
        math.inf,
        -math.inf,
        decimal.Decimal("NaN"),
        decimal.Decimal("Infinity"),
        datetime.datetime(2026, 1, 2),
        datetime.timedelta(1),
        b"bytes",
        bytearray(b"x"),
        memoryview(b"x"),
        "\ud800",
        {"\udfff": 1},
        {1: "a"},
        {None: "a"},
        {decimal.Decimal(1), "1"},
        decimal.Decimal("1e200000000"),
        decimal.Decimal("1e-200000000"),
        Marked("a"),
        1j,
        object(),
        Order,
        (n for n in [1]),
    ],
)
def test_is_refused_with_its_path(value: object) -> None:
    with pytest.raises(InvalidPayload) as refused:
        as_json({"a/b": [0, {"c~": value}]})
    assert refused.value.places[0].startswith("/a~1b/1/c~0")
    assert "/a~1b/1/c~0" in str(refused.value)


def test_what_has_no_end_is_refused() -> None:
    with pytest.raises(InvalidPayload, match="nested"):
        as_json(nested_in_itself())
    same: list[object] = [0] * 100
    for _ in range(5):
        same = [same] * 100
    with pytest.raises(InvalidPayload, match="values"):
        as_json(same)


def test_two_keys_that_become_one_are_refused() -> None:
    with pytest.raises(InvalidPayload, match="two members"):
        as_json({"red": 1, Color.RED: 2})


# the bits of doubles and their canonical text (RFC 8785, appendix B)
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}


@pytest.mark.parametrize(("bits", "written"), NUMBERS.items())
def test_numbers_are_written_as_the_standard_has_it(bits: str, written: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(as_json(number)) == written


def test_the_examples_of_the_standard() -> None:
    text = (
        '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],'
        '"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}'
    )
    expected = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical(as_json(json.loads(text))) == expected
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\x80", "\xf6"]
    order = ["\r", "1", "\x80", "\xf6", "\u20ac", "\U0001f600", "\ufb33"]
    assert list(json.loads(canonical(as_json(dict.fromkeys(keys, 0))))) == order


def test_is_the_same_as_the_package_rfc8785() -> None:
    reference = pytest.importorskip("rfc8785")
    chance = random.Random(8785)
    for _ in range(5_000):
        value = draw(chance)
        assert canonical(as_json(value)).encode() == reference.dumps(value)


def draw(chance: random.Random, depth: int = 0) -> Any:
    """Returns a random JSON value."""
    kind = chance.randrange(9 if depth < 4 else 7)
    if kind == 7:
        return [draw(chance, depth + 1) for _ in range(chance.randrange(5))]
    if kind == 8:
        return {draw_text(chance): draw(chance, depth + 1) for _ in range(chance.randrange(5))}
    return SCALARS[kind](chance)


def draw_bits(chance: random.Random) -> float:
    (number,) = struct.unpack(">d", chance.randbytes(8))
    return float(number) if math.isfinite(number) else 0.5


RANGES = [(0x20, 0x7E), (0x1, 0x1F), (0x7F, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x10FFFF)]


def draw_text(chance: random.Random) -> str:
    picked = (RANGES[min(chance.randrange(10), 5)] for _ in range(chance.randrange(12)))
    return "".join(chr(chance.randint(*one)) for one in picked)


SCALARS: list[Callable[[random.Random], Any]] = [
    lambda chance: chance.choice([None, True, False]),
    lambda chance: chance.randint(-(2**53) + 1, 2**53 - 1),
    lambda chance: chance.choice([1, -1]) * chance.random() * 10 ** chance.randint(-30, 30),
    draw_bits,
    lambda chance: chance.randint(-1000, 1000) / chance.choice([1, 2, 8, 10, 100]),
    draw_text,
    draw_text,
]


def test_the_hash_covers_the_whole_action() -> None:
    hashes = {
        action_hash("task", "tool", {"a": 1}, "nonce"),
        action_hash("task2", "tool", {"a": 1}, "nonce"),
        action_hash("task", "tool2", {"a": 1}, "nonce"),
        action_hash("task", "tool", {"a": 2}, "nonce"),
        action_hash("task", "tool", {"a": 1}, "nonce2"),
        action_hash("task", "tool", {"a": 1}, "nonce", again=1),
    }
    assert len(hashes) == 6


class Lies(dict[str, Any]):
    """A mapping that shows other members than it has."""

    def items(self) -> Any:
        return [("to", "a")]

    def __iter__(self) -> Any:
        return iter(["to"])

    def __getitem__(self, key: str) -> Any:
        return "a"

    def copy(self) -> Any:
        return {"to": "a"}


class Reads(Point):
    """A named tuple with a method of its own."""

    def __getitem__(self, index: Any) -> Any:
        return 0


class Longer(list[int]):
    """A list with a name of its own."""


@pytest.mark.parametrize(
    ("module", "name", "arguments"),
    [
        ("werkzeug.datastructures", "MultiDict", [[("to", "a"), ("to", "evil")]]),
        ("werkzeug.datastructures", "ImmutableMultiDict", [[("to", "a"), ("to", "evil")]]),
        ("werkzeug.datastructures", "CombinedMultiDict", [[]]),
        ("werkzeug.datastructures", "ImmutableDict", [{"to": "a"}]),
        ("werkzeug.datastructures", "ImmutableList", [["a"]]),
        ("werkzeug.datastructures", "Headers", [[("to", "a"), ("to", "evil")]]),
        ("starlette.datastructures", "QueryParams", ["to=a&to=evil"]),
        ("starlette.datastructures", "FormData", [[("to", "a"), ("to", "evil")]]),
        ("starlette.datastructures", "MultiDict", [[("to", "a"), ("to", "evil")]]),
        ("starlette.datastructures", "ImmutableMultiDict", [[("to", "a"), ("to", "evil")]]),
        ("starlette.datastructures", "Headers", [{"to": "a"}]),
        ("multidict", "MultiDict", [[("to", "a"), ("to", "evil")]]),
        ("multidict", "CIMultiDict", [[("to", "a"), ("to", "evil")]]),
        ("multidict", "MultiDictProxy", None),
        ("collections", "ChainMap", [{"to": "a"}, {"to": "evil"}]),
        ("collections", "Counter", ["a"]),
        ("collections", "UserDict", [{"to": "a"}]),
        ("collections", "UserList", [["a"]]),
        ("collections", "deque", [["a"]]),
        ("types", "MappingProxyType", [{"to": "a"}]),
    ],
)
def test_a_container_that_holds_more_than_its_items_is_refused(
    module: str, name: str, arguments: list[object] | None
) -> None:
    found = pytest.importorskip(module)
    given = [found.MultiDict(to="a")] if arguments is None else arguments
    with pytest.raises(InvalidPayload) as refused:
        as_json({"v": getattr(found, name)(*given)})
    assert refused.value.places == ("/v",)


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        (Lies(to="evil"), "a Lies, which may hold more than its items: pass dict(x)"),
        (Longer([1]), "a Longer, which may hold more than its items: pass list(x)"),
        (Reads(1, 2), "a Reads, which may hold more than its items: pass list(x)"),
    ],
)
def test_a_refused_container_is_named_with_the_remedy(value: object, remedy: str) -> None:
    with pytest.raises(InvalidPayload) as refused:
        as_json({"v": value})
    assert remedy in str(refused.value)


def test_a_default_dict_is_a_mapping() -> None:
    assert as_json(defaultdict(list, {"a": [1]})) == {"a": [1]}
