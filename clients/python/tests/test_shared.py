"""The data that both languages share: refusals and handles. The tests of JavaScript read shared.json, too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from countersign_sdk import NotExecuted
from countersign_sdk._canonical import canonical
from fake import FakeGateway

SHARED: dict[str, list[dict[str, Any]]] = json.loads((Path(__file__).parent / "shared.json").read_text("utf-8"))


def _classes(base: type[NotExecuted]) -> list[type[NotExecuted]]:
    return [base, *(one for child in base.__subclasses__() for one in _classes(child))]


def test_both_languages_have_the_same_refusals() -> None:
    rows = [
        {"class": one.__name__, "code": one.code, "retryable": one.retryable, "sentence": str(one("why"))}
        for one in _classes(NotExecuted)
        if one.__module__ == NotExecuted.__module__
    ]
    assert sorted(rows, key=lambda row: str(row["code"])) == SHARED["refusals"]


@pytest.mark.parametrize("one", SHARED["handles"], ids=lambda one: one["name"])
def test_both_languages_make_the_same_handle(one: dict[str, Any]) -> None:
    gateway = FakeGateway(first=one["answer"]["status"])
    gateway.change = lambda route, answer, _: {**answer, **one["answer"]} if route == "requests" else None
    gate = gateway.gate(on_held=lambda _: None)
    call: dict[str, Any] = one["call"]
    handles = [
        gate.propose(call["tool"], call["payload"], task_id=call["task_id"], call_id=call["call_id"])
        for _ in range(one.get("times", 1))
    ]
    assert canonical(cast("Any", handles[-1])) == one["handle"]
