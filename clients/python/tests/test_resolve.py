"""Contracts of tools that arrive in pages."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx

from fake import FakeGateway

NAMES = [f"t{number}" for number in range(600)]


class Pages(FakeGateway):
    """A gateway with room for `room` contracts in one answer."""

    room = 7

    def _resolve(self, _: httpx.Request, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        asked = body["tools"] or NAMES
        assert len(body["tools"]) <= 256
        known = [name for name in asked if name in NAMES]
        page, more = known[: self.room], known[self.room :]
        answer: dict[str, Any] = {
            "tools": [{"name": name, "input_schema": {}} for name in page],
            "unknown": [name for name in asked if name not in NAMES],
        }
        return 200, {**answer, "more": more} if more else answer


def names(contracts: Any) -> list[str]:
    return [one["name"] for one in contracts]


def test_all_tools_arrive_in_as_many_answers_as_it_takes() -> None:
    assert sorted(names(Pages().gate().resolve())) == sorted(NAMES)
    assert sorted(names(asyncio.run(Pages().async_gate().resolve()))) == sorted(NAMES)


def test_named_tools_arrive_and_unknown_ones_do_not() -> None:
    wanted = [*NAMES[:300], "none", *NAMES[300:320]]
    assert sorted(names(Pages().gate().resolve(*wanted))) == sorted(NAMES[:320])


def test_one_answer_is_enough_where_there_is_room() -> None:
    gateway = Pages()
    gateway.room = 600
    assert names(gateway.gate().resolve()) == NAMES
    assert [json.loads(one.content) for one in gateway.sent] == [{"tools": []}]


def test_a_gateway_that_answers_nothing_is_not_asked_for_ever() -> None:
    gateway = Pages()
    gateway.room = 0
    assert gateway.gate().resolve("t1", "t2") == []
    assert len(gateway.sent) == 1
