"""Cancellation at every point. A tool never runs after a cancellation, without a proof, or twice."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx
import pytest

from countersign_sdk import Countersign, NotExecuted
from fake import FakeGateway

# the soak runs all cases
CASES = 10_000 if "COUNTERSIGN_TEST_SOAK" in os.environ else 1_000


@dataclass
class Game:
    """One call, cancelled after some steps of the event loop."""

    gateway: FakeGateway
    chance: random.Random
    ran: list[Any] = field(default_factory=list)
    finished: list[bool] = field(default_factory=list)
    cancelled: bool = False
    started_after: bool = False

    async def before(self, _: httpx.Request) -> None:
        for _step in range(self.chance.randrange(3)):
            await asyncio.sleep(0)

    async def tool(self, approved: Any) -> str:
        self.started_after = self.started_after or self.cancelled
        (thread,) = self.gateway.threads.values()
        assert thread.redeemed
        self.ran.append(approved)
        for _ in range(self.chance.randrange(3)):
            await asyncio.sleep(0)
        self.finished.append(True)
        return "done"

    async def call(self) -> str:
        gate = self.gateway.async_gate(self.before)
        hooks: dict[str, Any] = {"on_held": self.hook, "on_decision": self.hook}
        try:
            if self.chance.random() < 0.5:
                return await gate.guard("pay", {"n": 1}, self.tool, **hooks)
            handle = await gate.propose("pay", {"n": 1}, on_held=self.hook)
            try:
                return await gate.resume(handle, self.tool, on_decision=self.hook)
            except asyncio.CancelledError:
                raise
        finally:
            with anyio.CancelScope(shield=True):
                await gate.aclose()

    async def hook(self, _: object) -> None:
        await asyncio.sleep(0)

    def check(self, outcome: str) -> None:
        threads = list(self.gateway.threads.values())
        assert not self.started_after
        assert len(self.ran) <= 1
        if outcome == "done":
            assert self.ran == [{"n": 1}]
            assert self.gateway.outcomes() == ["executed"]
            return
        assert all(thread.redeemed or thread.status == "rejected" or thread.left for thread in threads), threads
        redeemed = any(thread.redeemed for thread in threads)
        if self.finished:
            expected = ["executed"]
        elif self.ran:
            expected = ["failed"]
        else:
            expected = ["not_run"] if redeemed else []
        assert self.gateway.outcomes() == expected


async def cancelled_by_task(game: Game, steps: int) -> str:
    task = asyncio.ensure_future(game.call())
    for _ in range(steps):
        await asyncio.sleep(0)
    game.cancelled = task.cancel()
    try:
        return await task
    except asyncio.CancelledError:
        return "cancelled"


async def cancelled_by_scope(game: Game, steps: int) -> str:
    result = "cancelled"

    async def call() -> None:
        nonlocal result
        result = await game.call()

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        for _ in range(steps):
            await asyncio.sleep(0)
        game.cancelled = result != "done"
        group.cancel_scope.cancel()
    return result


@pytest.mark.parametrize("cancel", [cancelled_by_task, cancelled_by_scope])
def test_random_cancellations_at_every_await(cancel: Callable[[Game, int], Any]) -> None:
    async def play() -> dict[str, int]:
        reached: dict[str, int] = {}
        for number in range(CASES // 2):
            chance = random.Random(number)
            game = Game(FakeGateway(polls=chance.randrange(2)), chance)
            outcome = await cancel(game, chance.randrange(120))
            game.check(outcome)
            state = f"{outcome} {game.gateway.outcomes()} {len(game.gateway.threads)}"
            reached[state] = reached.get(state, 0) + 1
        return reached

    reached = asyncio.run(play())
    # outcomes: not proposed; withdrawn; redeemed but not run; cancelled during the run; ran to its end; done
    assert len(reached) >= 5, reached


class Interrupted:
    """Raises KeyboardInterrupt before or after the gateway acts on one request."""

    def __init__(self, gateway: FakeGateway, at: int, after: bool) -> None:
        self.gateway, self.at, self.after, self.count = gateway, at, after, 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.count += 1
        if self.count == self.at and not self.after:
            raise KeyboardInterrupt
        response = self.gateway.answer(request)
        if self.count == self.at:
            raise KeyboardInterrupt
        return response


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", range(1, 7))
@pytest.mark.parametrize("first", ["pending_review", "allow"])
def test_keyboard_interrupt_at_every_request(at: int, after: bool, first: str) -> None:
    gateway = FakeGateway(first=first)
    http = httpx.Client(transport=httpx.MockTransport(Interrupted(gateway, at, after)))
    gate = Countersign("http://127.0.0.1:1", "csk_test", task_id="t", http=http)
    ran: list[Any] = []
    try:
        gate.guard("pay", {}, ran.append)
    except KeyboardInterrupt:
        asked = [one for one in gateway.asked if one not in ("resolve", "outcomes")]
        reported = at > len(asked)
        for thread in gateway.threads.values():
            assert thread.redeemed or thread.status == "rejected" or ran
        if not ran:
            redeemed = any(thread.redeemed for thread in gateway.threads.values())
            allowed = first == "allow" and "requests" in gateway.asked
            assert gateway.outcomes() == (["not_run"] if redeemed or allowed else [])
        assert len(ran) <= 1 or reported
    else:
        assert ran == [{}]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, TimeoutError, MemoryError])
def test_a_hook_is_interrupted(kind: type[BaseException]) -> None:
    gateway = FakeGateway()

    def interrupted(_: object) -> None:
        raise kind

    with pytest.raises((kind, NotExecuted)):
        gateway.gate().guard("pay", {}, lambda _: pytest.fail("it ran"), on_held=interrupted)
    assert [thread.status for thread in gateway.threads.values()] == ["rejected"]


def test_a_tool_that_is_interrupted_is_reported() -> None:
    gateway = FakeGateway()

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gateway.gate().guard("pay", {}, interrupted)
    assert gateway.outcomes() == ["failed"]


def test_a_caller_who_gives_up_waits_for_no_gateway_for_ever() -> None:
    gateway = FakeGateway(polls=10**9)

    async def run() -> float:
        loop = asyncio.get_running_loop()
        gate = gateway.async_gate(timeout=0.2)
        call: Coroutine[Any, Any, None] = gate.guard("pay", {}, lambda _: pytest.fail("it ran"))
        task = asyncio.ensure_future(call)
        await asyncio.sleep(0.05)
        gateway.change = lambda _route, _answer, _count: httpx.Response(503, headers={"retry-after": "0"})
        began = loop.time()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return loop.time() - began

    assert asyncio.run(run()) < 30
