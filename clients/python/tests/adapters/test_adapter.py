"""The cases of the adapter that COUNTERSIGN_ADAPTER names (README.md)."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from driver import NAME, PREFIX, Call, Driver, Script, Turn, Where, driver_named
from rows import ROWS, function_of

from countersign_sdk import NotExecuted
from countersign_sdk.testing import Gateway, Reviewer, bundle
from countersign_sdk.testing.reviewer import Vote

pytestmark = pytest.mark.skipif(NAME == "", reason="COUNTERSIGN_ADAPTER names no adapter")

NUMBER = {"n": {"type": "integer"}}
HELD = {
    "type": "object",
    "additionalProperties": False,
    "required": ["n"],
    "properties": {**NUMBER, "memo": {"type": ["string", "null"]}},
}
OTHER = {"type": "object", "additionalProperties": False, "required": ["n"], "properties": NUMBER}
ANY = {"type": "object"}
# the tool of the pages in docs/python
PAGE_TOOL = "orders.refund"
EXPIRES_SECONDS = 2
# a held call with this argument expires after EXPIRES_SECONDS
EXPIRES_SOON = 20

CASES: dict[str, str] = {
    "allowed": "policy allows the call",
    "rejected": "policy rejects the call",
    "approved": "held, then approved",
    "refused": "held, then rejected",
    "changed": "changes requested, and revised",
    "early": "continued before a reviewer decided",
    "expired": "no reviewer decides in time",
    "down": "the gateway is down",
    "outage": "the gateway is down while an approved call continues",
    "cancelled": "cancelled while it waits",
    "killed": "killed while held, resumed by another process",
    "killed_model": "the same with a model of an `Enum`, a `date` and a `Decimal`",
    "substituted": "other arguments in between",
    "parallel": "two tools at once, one held",
    "both": "two tools at once, both held",
    "streaming": "streaming",
    "sub_agent": "a sub-agent calls the tool",
    "raises": "the tool raises",
    "null": "a strict schema sends null",
    "row_model": "a pydantic model",
    "row_nested": "a model in a model",
    "row_extra": "extra members of a model",
    "row_exclude": "a field with `exclude`",
    "row_serializer": "a serializer that masks",
    "row_before": "a `before` validator",
    "row_after": "`after` validators",
    "row_alias": "an alias",
    "row_decimal": "a `Decimal`",
    "row_zoned": "a `datetime` with a zone",
    "row_naive": "a `datetime` without a zone is refused",
    "row_date": "a `date`",
    "row_enum": "an `Enum`",
    "row_literal": "a `Literal`",
    "row_factory": "a `default_factory`",
    "row_kwargs": "further arguments, `**kwargs`",
    "row_positional": "a positional-only argument",
    "row_none": "a default of `None`",
    "row_bytes": "`bytes` are refused before the first call",
    "row_edited": "a masked value edited in the saved state",
    "row_middleware_before": "a middleware before ours changes a call",
    "row_middleware_after": "a middleware after ours changes a call",
}


@dataclasses.dataclass
class World:
    """A driver with a real gateway, and the reviewer of its calls."""

    driver: Driver
    where: Where
    reviewer: Reviewer

    def finish(self, script: Script, begin: Callable[[Script], Turn] | None = None, rounds: int = 3) -> Turn:
        """Runs to the end. After each pause, continues once the reviewer has voted."""
        turn = (begin or self.driver.start)(script)
        for _ in range(rounds):
            if turn.ended:
                return turn
            assert turn.saved is not None
            self.settled()
            turn = self.driver.resume(script, turn.saved)
        assert turn.ended
        return turn

    def settled(self) -> None:
        until = time.monotonic() + 20
        while self.reviewer.pending() and time.monotonic() < until:
            time.sleep(0.03)


def bundle_of_the_suite() -> dict[str, str]:
    """Returns one bundle for all cases, so that they share a gateway."""
    names = {f"{PREFIX}{name}": OTHER for name in ("allowed", "failing")}
    rows = [name for name in CASES if name.startswith("row_")]
    held = {f"{PREFIX}held": HELD, PAGE_TOOL: {"type": "object"}, **{f"{PREFIX}{one}": ANY for one in rows}}
    files = bundle(allow=names, review=held, reject={f"{PREFIX}rejected": OTHER})
    path = f"rules/{PREFIX}held.yaml"
    rules = json.loads(files[path])
    reviewers = {"group": "reviewers", "approvals": 1, "expires": f"{EXPIRES_SECONDS}s"}
    soon = {
        "id": "expires-soon",
        "review": "Expires soon.",
        "when": {"payload.n": EXPIRES_SOON},
        "reviewers": reviewers,
    }
    return {**files, path: json.dumps({**rules, "rules": [soon, *rules["rules"]]})}


@pytest.fixture
def countersign_bundle() -> dict[str, str]:
    return bundle_of_the_suite()


@pytest.fixture
def world(countersign_gateway: Gateway, reviewer: Reviewer, tmp_path: Path, request: pytest.FixtureRequest) -> World:
    driver = driver_named(NAME)
    case = request.node.name.removeprefix("test_")
    if case in driver.not_applicable:
        pytest.skip(f"n/a: {driver.not_applicable[case]}")
    where = Where(countersign_gateway.url, countersign_gateway.agent_key, str(tmp_path), f"task-{tmp_path.name}")
    return World(driver(where), where, reviewer)


def held(number: int = 1, name: str = "call_1", **more: Any) -> Call:
    return Call("held", {"n": number, **more}, name)


def test_allowed(world: World) -> None:
    turn = world.finish([[Call("allowed", {"n": 1})]])
    assert world.where.ran() == [{"tool": "allowed", "n": 1}]
    assert "allowed ran with" in turn.told["call_1"]
    assert world.reviewer.outcomes() == [("demo.allowed", "executed")]


def test_rejected(world: World) -> None:
    turn = world.finish([[Call("rejected", {"n": 1})]])
    assert world.where.ran() == []
    assert "Not executed: The tests reject demo.rejected." in turn.told["call_1"]


def test_approved(world: World) -> None:
    world.reviewer.approve("demo.held")
    turn = world.finish([[held()]])
    assert [(one["tool"], one["n"]) for one in world.where.ran()] == [("held", 1)]
    assert "held ran with" in turn.told["call_1"]
    world.reviewer.assert_held("demo.held")
    world.reviewer.assert_redeemed("demo.held")
    assert world.reviewer.outcomes() == [("demo.held", "executed")]


def test_refused(world: World) -> None:
    world.reviewer.reject("demo.held", comment="not like this")
    turn = world.finish([[held()]])
    assert world.where.ran() == []
    assert "not like this" in turn.told["call_1"]


def test_changed(world: World) -> None:
    world.reviewer.request_changes("demo.held", comment="make it two")
    world.reviewer.approve("demo.held")
    turn = world.finish([[held(1)], [held(2, "call_2")]])
    assert "make it two" in turn.told["call_1"]
    assert [one["n"] for one in world.where.ran()] == [2]
    world.reviewer.assert_held("demo.held", 1)


def test_early(world: World) -> None:
    turn = world.driver.start([[held()]])
    assert turn.saved is not None
    again = world.driver.resume([[held()]], turn.saved)
    assert (again.ended, world.where.ran()) == (False, [])
    assert again.saved is not None
    world.reviewer.approve("demo.held").wait()
    assert world.driver.resume([[held()]], again.saved).ended
    assert len(world.where.ran()) == 1
    world.reviewer.assert_held("demo.held", 1)


def test_expired(world: World) -> None:
    turn = world.finish([[held(EXPIRES_SOON)]])
    assert world.where.ran() == []
    assert "expired" in turn.told["call_1"]


def test_down(world: World) -> None:
    away = type(world.driver)(dataclasses.replace(world.where, url="http://127.0.0.1:9"))
    turn = away.start([[held()]])
    assert world.where.ran() == []
    assert "no answer from the gateway" in turn.told["call_1"]


def test_outage(world: World) -> None:
    turn = world.driver.start([[held()]])
    assert turn.saved is not None
    world.reviewer.approve("demo.held").wait()
    away = type(world.driver)(dataclasses.replace(world.where, url="http://127.0.0.1:9"))
    again = away.resume([[held()]], turn.saved)
    assert (again.ended, world.where.ran()) == (False, [])
    assert "Not executed" not in str(again.told)
    assert again.saved is not None
    assert world.driver.resume([[held()]], again.saved).ended
    assert len(world.where.ran()) == 1
    world.reviewer.assert_held("demo.held", 1)
    world.reviewer.assert_redeemed("demo.held")


def test_cancelled(world: World) -> None:
    async def play() -> None:
        task = asyncio.ensure_future(world.driver.wait([[held()]]))
        await asyncio.to_thread(world.reviewer.wait_until_held, "demo.held")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(play())
    assert world.where.ran() == []
    held_now = world.reviewer.held("demo.held")
    assert world.reviewer.withdrawn() == (held_now if world.driver.cancels_at_once else [])
    assert len(held_now) == 1


@dataclasses.dataclass
class Killed:
    """A held call whose process was killed when it had saved the call, and the vote after that."""

    where: Where
    script: Script
    turn: Turn
    vote: Vote
    reviewer: Reviewer

    def continued(self, driver: Driver) -> None:
        """Continues the call. The text is all that this process has from the other process."""
        assert self.turn.saved is not None
        assert driver.resume(self.script, self.turn.saved).ended


_killed: dict[str, Killed] = {}


@pytest.fixture
def killed(world: World) -> dict[str, Killed]:
    """The calls of both cases, in one process that the first of them kills: to load a framework takes seconds."""
    if _killed:
        return _killed
    rows: dict[str, str | None] = {"killed": None, "killed_model": "model"}
    scripts = {"killed": [[held()]], "killed_model": [[Call("row_model", ROWS["model"].given)]]}
    path = Path(__file__).with_name("child.py")
    process = subprocess.Popen([sys.executable, str(path), NAME], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    begun: dict[str, tuple[Where, Turn]] = {}
    with process.stdin as stdin, process.stdout as stdout:
        for case in rows.keys() - world.driver.not_applicable:
            directory = Path(world.where.directory) / case
            directory.mkdir()
            where = dataclasses.replace(world.where, directory=str(directory), task_id=f"{world.where.task_id}-{case}")
            script = [[dataclasses.asdict(call) for call in turn] for turn in scripts[case]]
            orders = {"row": rows[case], "script": script, "where": dataclasses.asdict(where)}
            stdin.write(json.dumps(orders).encode() + b"\n")
            stdin.flush()
            begun[case] = (where, Turn(**json.loads(stdout.readline())))
            assert (begun[case][1].ended, where.ran()) == (False, [])
        process.kill()
    assert process.wait() == -signal.SIGKILL
    for case, (where, turn) in begun.items():
        vote = world.reviewer.approve(f"{PREFIX}{scripts[case][0][0].tool}")
        vote.wait()
        _killed[case] = Killed(where, scripts[case], turn, vote, world.reviewer)
    return _killed


def test_killed(world: World, killed: dict[str, Killed]) -> None:
    one = killed["killed"]
    one.continued(type(world.driver)(one.where))
    assert len(one.where.ran()) == 1
    one.reviewer.assert_held("demo.held", 1)


def test_killed_model(world: World, killed: dict[str, Killed]) -> None:
    row, one = ROWS["model"], killed["killed_model"]
    assert one.vote.payload == row.payload
    one.continued(type(world.driver)(one.where, [function_of("model", one.where)]))
    # the function gets what reviewers saw, with its own types
    assert one.where.ran() == [{"tool": "model", "got": row.got}]
    one.reviewer.assert_held("demo.row_model", 1)


def test_substituted(world: World) -> None:
    turn = world.driver.start([[held(1)]])
    assert turn.saved is not None
    world.reviewer.approve("demo.held").wait()
    # some adapters report this to the model, others to the program that continues the run
    told = ""
    try:
        told = world.driver.resume([[held(1)]], turn.saved, change={"n": 99}).told["call_1"]
    except NotExecuted as error:
        told = str(error)
    assert world.where.ran() == []
    assert "not the arguments" in told


def test_parallel(world: World) -> None:
    world.reviewer.approve("demo.held")
    turn = world.finish([[Call("allowed", {"n": 1}, "call_1"), held(2, "call_2")]])
    assert sorted((one["tool"], one["n"]) for one in world.where.ran()) == [("allowed", 1), ("held", 2)]
    assert "allowed ran" in turn.told["call_1"]
    assert "held ran" in turn.told["call_2"]


def test_both(world: World) -> None:
    world.reviewer.approve("demo.held")
    world.reviewer.approve("demo.held")
    world.finish([[held(1), held(2, "call_2")]])
    assert sorted(one["n"] for one in world.where.ran()) == [1, 2]
    world.reviewer.assert_held("demo.held", 2)
    world.reviewer.assert_redeemed("demo.held", 2)


def test_streaming(world: World) -> None:
    world.reviewer.approve("demo.held")
    turn = world.finish([[held()]], world.driver.stream)
    assert len(world.where.ran()) == 1
    assert "held ran" in turn.told["call_1"]


def test_sub_agent(world: World) -> None:
    world.reviewer.approve("demo.held")
    world.finish([[held()]], world.driver.sub_agent)
    assert len(world.where.ran()) == 1
    world.reviewer.assert_redeemed("demo.held")


def test_raises(world: World) -> None:
    # some frameworks report the error to the model, others end the run
    told = ""
    try:
        told = world.finish([[Call("failing", {"n": 1})]]).told["call_1"]
    except LookupError as error:
        told = str(error)
    assert "no funds" in told or "error occurred" in told
    assert len(world.where.ran()) == 1
    assert world.reviewer.outcomes() == [("demo.failing", "failed")]


def test_null(world: World) -> None:
    vote = world.reviewer.approve("demo.held")
    world.finish([[held(1, memo=None)]])
    vote.wait()
    assert vote.payload == {"n": 1, "memo": None}
    assert world.where.ran() == [{"tool": "held", "n": 1, "memo": None}]
