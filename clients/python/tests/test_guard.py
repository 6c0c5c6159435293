"""`guard`, `propose` and `resume` against a real gateway."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from typing import Any

import pytest

import countersign_sdk
from countersign_sdk import AsyncCountersign, Countersign, NotExecuted
from countersign_sdk.testing import Gateway, Reviewer, bundle

PAY = {
    "type": "object",
    "additionalProperties": False,
    "required": ["amount"],
    "properties": {"amount": {"type": "integer", "minimum": 1}, "to": {"type": ["string", "null"]}},
}


@pytest.fixture
def countersign_bundle() -> dict[str, str]:
    files = bundle(
        allow=["allowed.tool", "once.tool"],
        review={"held.tool": {"type": "object"}, "pay": PAY},
        reject=["rejected.tool"],
    )
    once = json.loads(files["tools/once.tool.yaml"])
    return {**files, "tools/once.tool.yaml": json.dumps({**once, "proof": "always"})}


def test_a_call_that_a_rule_approves_needs_no_reviewer_and_runs_once(gate: Countersign, reviewer: Reviewer) -> None:
    ran: list[object] = []
    handle = gate.propose("once.tool", {"n": 1}, call_id="step", on_held=lambda _: pytest.fail("asked"))
    assert handle["status"] == "approved"
    gate.resume(handle, ran.append)
    assert ran == [{"n": 1}]
    for _ in range(3):
        with pytest.raises(countersign_sdk.NoProof, match="was started"):
            gate.guard("once.tool", {"n": 1}, ran.append, call_id="step", on_held=lambda _: pytest.fail("asked"))
    assert ran == [{"n": 1}]
    assert reviewer.held("once.tool") == []


def test_runs_what_policy_allows_and_reports_it(gate: Countersign, reviewer: Reviewer) -> None:
    payload = {"text": "ü 😀", "n": [1, 2.5, None, True], "deep": {"a": {}}}
    assert gate.guard("allowed.tool", payload, lambda approved: approved) == payload
    assert reviewer.outcomes() == [("allowed.tool", "executed")]


def test_runs_what_people_approve_with_its_proof_redeemed_before(gate: Countersign, reviewer: Reviewer) -> None:
    held: list[countersign_sdk.Held] = []
    decided: list[countersign_sdk.Decided] = []
    reviewer.approve("held.tool")
    options: Any = {"on_held": held.append, "on_decision": decided.append, "workflow_name": "invoices"}
    result = gate.guard("held.tool", {"n": 1}, lambda approved: (approved, reviewer.redeemed()), **options)
    thread = reviewer.held()[0]
    assert result == ({"n": 1}, [thread])
    assert reviewer.thread(thread)["workflow_name"] == "invoices"
    assert [(one.thread_id, one.payload, one.console_url[-len(thread) :]) for one in held] == [
        (thread, {"n": 1}, thread)
    ]
    assert [(one.status, one.thread_id) for one in decided] == [("approved", thread)]
    assert reviewer.outcomes() == [("held.tool", "executed")]


def test_does_not_run_what_policy_rejects(gate: Countersign, reviewer: Reviewer) -> None:
    with pytest.raises(countersign_sdk.Rejected) as refused:
        gate.guard("rejected.tool", {}, lambda _: pytest.fail("it ran"))
    assert str(refused.value).startswith("Not executed: The tests reject rejected.tool.")
    assert (refused.value.code, refused.value.retryable) == ("rejected", False)
    reviewer.assert_not_ran()


def test_does_not_run_what_people_reject(gate: Countersign, reviewer: Reviewer) -> None:
    reviewer.reject("held.tool", comment="not like this")
    with pytest.raises(countersign_sdk.Rejected, match="not like this") as refused:
        gate.guard("held.tool", {}, lambda _: pytest.fail("it ran"))
    assert refused.value.thread_id == reviewer.held()[0]
    assert refused.value.console_url is not None
    assert refused.value.console_url.endswith(f"/console/#/thread/{refused.value.thread_id}")


def test_a_held_call_has_a_page_and_an_allowed_one_has_none(gate: Countersign) -> None:
    held = gate.propose("held.tool", {})
    assert gate.page_of(held) == f"{gate._core.console}/console/#/thread/{held.get('thread_id')}"
    assert gate.page_of(gate.propose("allowed.tool", {})) is None


def test_a_call_is_revised_in_the_same_review(gate: Countersign, reviewer: Reviewer) -> None:
    reviewer.request_changes("pay", comment="less")
    reviewer.approve("pay")
    revise = lambda feedback, payload: {**payload, "amount": 1} if "less" in feedback else None  # noqa: E731
    assert gate.guard("pay", {"amount": 5}, lambda approved: approved, revise=revise) == {"amount": 1}
    reviewer.assert_held("pay", 1)


def test_changes_that_nobody_makes(gate: Countersign, reviewer: Reviewer) -> None:
    reviewer.request_changes("pay", comment="less")
    with pytest.raises(countersign_sdk.ChangesRequested, match="less") as asked:
        gate.guard("pay", {"amount": 5}, lambda _: pytest.fail("it ran"))
    handle = asked.value.handle
    assert handle is not None
    reviewer.approve("pay")
    assert gate.resume(gate.revise(handle, {"amount": 2}), lambda approved: approved) == {"amount": 2}
    reviewer.assert_held("pay", 1)


@pytest.mark.parametrize(
    ("payload", "place"),
    [({"amount": "all"}, "/amount"), ({}, "/amount"), ({"amount": 1, "memo": ""}, "/memo"), ({"amount": 0}, "/amount")],
)
def test_names_the_place_that_does_not_fit_the_contract(
    gate: Countersign, reviewer: Reviewer, payload: dict[str, Any], place: str
) -> None:
    with pytest.raises(countersign_sdk.InvalidPayload, match=place) as refused:
        gate.guard("pay", payload, lambda _: pytest.fail("it ran"))
    assert refused.value.places == (place,)
    assert reviewer.held() == []


def test_a_tool_that_the_agent_may_not_use(gate: Countersign) -> None:
    with pytest.raises(countersign_sdk.UnknownTool, match=r"use payy \(did you mean pay\?\)\. Use another tool\."):
        gate.guard("payy", {}, lambda _: None)
    with pytest.raises(countersign_sdk.UnknownTool, match=r"use no\.such\. Use another tool\."):
        gate.guard("no.such", {}, lambda _: pytest.fail("it ran"))


def test_what_the_tool_raises_passes_through_and_is_reported(gate: Countersign, reviewer: Reviewer) -> None:
    def fails(_: Any) -> None:
        raise LookupError("no funds")

    with pytest.raises(LookupError, match="no funds"):
        gate.guard("allowed.tool", {}, fails)
    assert reviewer.outcomes() == [("allowed.tool", "failed")]


def test_a_call_that_ran_is_never_reported_as_not_executed(gate: Countersign) -> None:
    def nested(_: Any) -> object:
        return gate.guard("rejected.tool", {}, lambda _: None)

    with pytest.raises(RuntimeError, match="ran, and failed") as failed:
        gate.guard("allowed.tool", {}, nested)
    assert isinstance(failed.value.__cause__, NotExecuted)


def test_the_decorator_makes_the_arguments_by_name_the_payload(gate: Countersign, reviewer: Reviewer) -> None:
    @gate.tool("pay")
    def pay(amount: int, to: str | None = None) -> str:
        """Moves money."""
        return f"{amount} to {to}"

    vote = reviewer.approve("pay")
    assert pay(5) == "5 to None"
    vote.wait()
    assert vote.payload == {"amount": 5, "to": None}
    assert (pay.__name__, pay.__doc__) == ("pay", "Moves money.")


@pytest.mark.parametrize("source", ["def f(*rest): ...", "async def f(a): ..."])
def test_the_decorator_refuses_what_has_no_payload(gate: Countersign, source: str) -> None:
    names: dict[str, Any] = {}
    exec(source, names)
    with pytest.raises(TypeError, match=r"name in a payload|AsyncCountersign"):
        gate.tool("pay")(names["f"])


def test_a_handle_is_small_plain_json_and_is_resumed_by_another_process(
    countersign_gateway: Gateway, gate: Countersign, reviewer: Reviewer
) -> None:
    handle = gate.propose("held.tool", {"n": 2})
    text = json.dumps(handle)
    assert len(text.encode()) <= 1024
    assert countersign_gateway.agent_key not in text
    reviewer.approve("held.tool").wait()
    script = (
        "import json, sys; from countersign_sdk import Countersign; gate = Countersign(sys.argv[1], sys.argv[2]);"
        "print(json.dumps(gate.resume(json.loads(sys.argv[3]), lambda approved: approved)))"
    )
    arguments = [countersign_gateway.url, countersign_gateway.agent_key, text]
    ran = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == {"n": 2}
    with pytest.raises(countersign_sdk.NoProof):
        gate.resume(handle, lambda _: pytest.fail("it ran twice"))


def test_a_handle_of_a_large_payload_asks_for_it(gate: Countersign, reviewer: Reviewer) -> None:
    payload = {"text": "x" * 2000}
    handle = gate.propose("held.tool", payload)
    assert len(json.dumps(handle)) <= 1024
    reviewer.approve().wait()
    with pytest.raises(ValueError, match="payload="):
        gate.resume(handle, lambda _: pytest.fail("it ran"))
    with pytest.raises(countersign_sdk.ArgumentsChanged):
        gate.resume(handle, lambda _: pytest.fail("it ran"), payload={"text": "y"})
    assert gate.resume(handle, lambda approved: approved, payload=payload) == payload


def test_a_handle_that_nobody_decided_stays_open(gate: Countersign, reviewer: Reviewer) -> None:
    handle = gate.propose("held.tool", {"n": 3})
    with pytest.raises(countersign_sdk.StillPending) as waiting:
        gate.resume(handle, lambda _: pytest.fail("it ran"), max_wait=0)
    assert waiting.value.handle == handle
    assert waiting.value.retryable
    reviewer.approve("held.tool").wait()
    assert gate.resume(handle, lambda approved: approved) == {"n": 3}


def test_a_handle_of_an_allowed_call_runs_once_for_each_allow(gate: Countersign, reviewer: Reviewer) -> None:
    handle = gate.propose("allowed.tool", {}, call_id="c1")
    assert handle["status"] == "allow"
    assert [gate.resume(handle, lambda _: "ran") for _ in range(3)] == ["ran"] * 3
    allowed = [one for one in reviewer._records("decision.allowed")]  # pyright: ignore[reportPrivateUsage]
    assert len(allowed) == 3


def test_the_same_call_id_continues_the_same_review_once(gate: Countersign, reviewer: Reviewer) -> None:
    with pytest.raises(countersign_sdk.StillPending) as waiting:
        gate.guard("held.tool", {"n": 4}, lambda _: pytest.fail("it ran"), call_id="c", max_wait=1)
    reviewer.approve("held.tool").wait()
    assert gate.guard("held.tool", {"n": 4}, lambda approved: approved, call_id="c") == {"n": 4}
    with pytest.raises(countersign_sdk.NoProof, match="its end is unknown") as spent:
        gate.guard("held.tool", {"n": 4}, lambda _: pytest.fail("it ran twice"), call_id="c")
    assert spent.value.thread_id == waiting.value.thread_id


def test_a_withdrawn_call_never_runs(gate: Countersign, reviewer: Reviewer) -> None:
    handle = gate.propose("held.tool", {"n": 5})
    assert gate.withdraw(handle, "no longer needed")
    assert gate.withdraw(handle)
    with pytest.raises(countersign_sdk.Withdrawn):
        gate.resume(handle, lambda _: pytest.fail("it ran"))
    assert reviewer.pending() == []
    reviewer.approve("held.tool")
    handle = gate.propose("held.tool", {"n": 6})
    gate.resume(handle, lambda approved: approved)
    assert not gate.withdraw(handle)


def test_a_failing_hook_ends_the_call(gate: Countersign, reviewer: Reviewer) -> None:
    def fails(_: object) -> None:
        raise LookupError("no chat")

    with pytest.raises(countersign_sdk.Aborted, match="no chat"):
        gate.guard("held.tool", {"n": 7}, lambda _: pytest.fail("it ran"), on_held=fails)
    assert reviewer.pending() == []


def test_threads_share_a_gate(gate: Countersign, reviewer: Reviewer) -> None:
    for _ in range(8):
        reviewer.approve("held.tool")
    results: list[object] = []
    run = lambda n: results.append(gate.guard("held.tool", {"n": n}, lambda approved: approved["n"]))  # noqa: E731
    threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, results)) == [str(n) for n in range(8)]
    reviewer.assert_redeemed("held.tool", 8)


def test_runs_asynchronously(async_gate: AsyncCountersign, reviewer: Reviewer) -> None:
    async def run() -> Any:
        async with async_gate as gate:

            @gate.tool("held.tool")
            async def held(n: int) -> int:
                await asyncio.sleep(0)
                return n

            @gate.tool("allowed.tool")
            def blocking() -> str:
                return threading.current_thread().name

            for _ in range(3):
                reviewer.approve("held.tool")
            return await asyncio.gather(held(1), held(2), held(n=3), blocking())

    *numbers, thread = asyncio.run(run())
    assert numbers == [1, 2, 3]
    assert thread != threading.main_thread().name


@pytest.mark.parametrize(
    ("given", "is_kept"),
    [(None, True), ("request timed out", True), ("the user pressed stop", False)],
)
def test_a_cancelled_call_with_an_id_is_kept_after_a_time_out(
    async_gate: AsyncCountersign, reviewer: Reviewer, given: str | None, is_kept: bool
) -> None:
    async def run() -> None:
        async with async_gate as gate:
            call: asyncio.Future[object] = asyncio.ensure_future(
                gate.guard("held.tool", {"why": given}, lambda _: pytest.fail("it ran"), call_id=f"call-{given}")
            )
            await asyncio.to_thread(reviewer.wait_until_held, "held.tool")
            call.cancel(*([] if given is None else [given]))
            with pytest.raises(asyncio.CancelledError):
                await call

    asyncio.run(run())
    held = reviewer.held("held.tool")
    assert len(held) == 1
    assert reviewer.withdrawn() == ([] if is_kept else held)


def test_a_cancelled_call_is_withdrawn(async_gate: AsyncCountersign, reviewer: Reviewer) -> None:
    async def run() -> None:
        async with async_gate as gate:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(gate.guard("held.tool", {}, lambda _: pytest.fail("it ran")), 0.5)

    asyncio.run(run())
    assert (reviewer.pending(), len(reviewer.held())) == ([], 1)
    assert reviewer.withdrawn() == reviewer.held()
