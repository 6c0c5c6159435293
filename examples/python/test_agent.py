"""Tests an agent with a real gateway: `pytest --countersign-gateway DIRECTORY test_agent.py`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from countersign_sdk import Countersign, NotExecuted
from countersign_sdk.testing import Reviewer, bundle


@pytest.fixture
def countersign_bundle() -> dict[str, str]:
    amount = {"type": "object", "required": ["order"], "properties": {"order": {"type": "string"}}}
    return bundle(allow=["orders.read"], review={"payments.refund": amount})


def agent(gate: Countersign) -> Callable[[str], str]:
    """The agent under test: it reads an order and asks for its refund."""

    @gate.tool("orders.read")
    def read(order: str) -> int:
        return 12_500

    @gate.tool("payments.refund")
    def refund(order: str, amount_cents: int) -> str:
        return f"refunded {amount_cents} for {order}"

    def work(order: str) -> str:
        try:
            return refund(order, read(order))
        except NotExecuted as refused:
            return str(refused)

    return work


def test_a_refund_runs_after_approval(gate: Countersign, reviewer: Reviewer) -> None:
    vote = reviewer.approve("payments.refund")
    assert agent(gate)("A-7") == "refunded 12500 for A-7"
    assert vote.payload == {"order": "A-7", "amount_cents": 12_500}
    assert reviewer.ran() == ["orders.read", "payments.refund"]
    reviewer.assert_redeemed("payments.refund")


def test_a_rejected_refund_does_not_run(gate: Countersign, reviewer: Reviewer) -> None:
    reviewer.reject("payments.refund", comment="this order was refunded already")
    assert "refunded already" in agent(gate)("A-7")
    reviewer.assert_not_ran("payments.refund")
