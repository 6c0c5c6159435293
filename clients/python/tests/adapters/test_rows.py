"""Each kind of type in each adapter: reviewers see all of it, and the function gets it with its own type.

All rows are calls of one message. They share a process, a gateway and a pause.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from driver import NAME, PREFIX, Call, Turn, Where, driver_named
from rows import ROWS, functions_of, masking, plain, with_bytes
from test_adapter import World, bundle_of_the_suite, held

from countersign_sdk.testing import Gateway, Reviewer
from countersign_sdk.testing.reviewer import Vote

pytestmark = pytest.mark.skipif(NAME == "", reason="COUNTERSIGN_ADAPTER names no adapter")


@dataclasses.dataclass
class Batch:
    turn: Turn
    ran: list[dict[str, Any]]
    votes: dict[str, Vote]


_batches: list[Batch] = []


@pytest.fixture
def countersign_bundle() -> dict[str, str]:
    return bundle_of_the_suite()


@pytest.fixture
def where(countersign_gateway: Gateway, tmp_path: Path) -> Where:
    return Where(countersign_gateway.url, countersign_gateway.agent_key, str(tmp_path), f"task-{tmp_path.name}")


@pytest.fixture
def world(where: Where, reviewer: Reviewer) -> World:
    return World(driver_named(NAME)(where), where, reviewer)


@pytest.fixture
def batch(where: Where, reviewer: Reviewer) -> Batch:
    """The calls of all rows, which the first row makes."""
    if not _batches:
        cls: Any = driver_named(NAME)
        rows = {name: row for name, row in ROWS.items() if f"row_{name}" not in cls.not_applicable}
        votes = {name: reviewer.approve(f"{PREFIX}row_{name}") for name, row in rows.items() if row.payload is not None}
        functions = [one for one in functions_of(where) if one.__name__.removeprefix("row_") in rows]
        script = [[Call(f"row_{name}", cls.written(name, row.given), f"call_{name}") for name, row in rows.items()]]
        started, continued = cls(where, functions), cls(where, functions)
        _batches.append(Batch(played(started, continued, script, votes), where.ran(), votes))
    return _batches[0]


def played(started: Any, continued: Any, script: Any, votes: dict[str, Vote]) -> Turn:
    """Plays the script. After the pause another driver continues, which knows nothing of the first."""
    turn: Turn = started.play_rows(script)
    for vote in votes.values():
        vote.wait()
    for _ in range(3):
        if turn.ended:
            return turn
        assert turn.saved is not None
        turn = continued.resume(script, turn.saved)
    assert turn.ended
    return turn


def skip_where_not_applicable(case: str) -> None:
    reasons = driver_named(NAME).not_applicable
    if case in reasons or "rows" in reasons:
        pytest.skip(f"n/a: {reasons.get(case, reasons.get('rows'))}")


@pytest.mark.parametrize("name", ROWS)
def test_row(name: str, request: pytest.FixtureRequest) -> None:
    skip_where_not_applicable(f"row_{name}")
    batch: Batch = request.getfixturevalue("batch")
    row, ran = ROWS[name], [one["got"] for one in batch.ran if one["tool"] == name]
    if row.payload is None:
        assert ran == []
        assert row.got in batch.turn.told[f"call_{name}"]
        return
    assert len(ran) == 1, batch.turn.told.get(f"call_{name}")
    payload = batch.votes[name].payload
    assert payload is not None
    if row.payload == "id":
        # the default is made once, and what it made is approved and runs
        assert payload["req"]["id"] in ran[0]
    else:
        assert (payload, ran) == (row.payload, [row.got])


def test_row_bytes(where: Where) -> None:
    skip_where_not_applicable("row_bytes")
    cls: Any = driver_named(NAME)
    told = ""
    try:
        told = str(cls(where, [with_bytes(where)]).start([[held()]]).told)
    except Exception as error:
        told = str(error)
    assert "no payload can hold" in told
    assert where.ran() == []


def test_row_edited(world: World) -> None:
    skip_where_not_applicable("row_edited")
    own: Any = type(world.driver)
    turn = own(world.where, [masking(world.where)]).start([[held(1)]])
    vote = world.reviewer.approve("demo.held")
    vote.wait()
    assert vote.payload == {"n": 1, "memo": None}
    told = ""
    try:
        told = own(world.where, [masking(world.where)]).resume([[held(1)]], turn.saved, change={"n": 99}).told["call_1"]
    except Exception as error:
        told = str(error)
    assert world.where.ran() == []
    assert "not the arguments" in told
    world.reviewer.assert_redeemed("demo.held", 0)


def test_row_middleware_before(world: World) -> None:
    skip_where_not_applicable("row_middleware_before")
    vote = world.reviewer.approve("demo.held")
    driver: Any = type(world.driver)(world.where, [plain(world.where, "held")])
    driver.changes = {"before": {"n": 666}}
    world.driver = driver
    world.finish([[held(1)]])
    assert vote.payload is not None
    assert (vote.payload["n"], [one["n"] for one in world.where.ran()]) == (666, [666])


def test_row_middleware_after(world: World) -> None:
    skip_where_not_applicable("row_middleware_after")
    world.reviewer.approve("demo.held")
    driver: Any = type(world.driver)(world.where, [plain(world.where, "held")])
    driver.changes = {"after": {"n": 666}}
    world.driver = driver
    turn = world.finish([[held(1)]])
    assert world.where.ran() == []
    assert "not the arguments" in turn.told["call_1"]
    # the proof stays unused
    world.reviewer.assert_redeemed("demo.held", 0)
