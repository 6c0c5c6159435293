"""Random interleavings of calls, over two conversations and three event loops with one client.

The law: only approved values run, each once, in the thread of their own conversation.
"""

from __future__ import annotations

import asyncio
import os
import random
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from countersign_sdk import AsyncCountersign, NotExecuted
from countersign_sdk._steps import Clock  # pyright: ignore[reportPrivateUsage]
from countersign_sdk._wire import Answer, Request, Unreachable  # pyright: ignore[reportPrivateUsage]
from fake import FakeGateway

# the soak plays all of them
GAMES = 10_000 if "COUNTERSIGN_TEST_SOAK" in os.environ else 500
LOOPS = 3
CALLS = 2
NO_CLIENT: Any = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(500)))


class Desk(FakeGateway):
    """A gateway whose reviewers approve, reject or ask for a change, and that loses answers on the way."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self.chance, self.lock = chance, threading.Lock()
        self.payloads: dict[str, dict[str, Any]] = {}
        # what policy or reviewers permit to run once: the task and the payload
        self.permitted: dict[str, tuple[str, dict[str, Any]]] = {}
        self.revised = 0

    async def ask(self, request: Request, most: float | None = None) -> Answer:
        """Answers in the place of the client's connections."""
        for _ in range(self.chance.randrange(3)):
            await asyncio.sleep(0)
        url = f"http://gateway{request.path}"
        sent = httpx.Request(request.method, url, headers=dict(request.headers), content=request.content)
        # three loops ask from three Python threads
        with self.lock:
            response = self.answer(sent)
            if self.chance.random() < 0.04:
                raise Unreachable("the answer was lost")
        return Answer(response.status_code, dict(response.headers), response.content)

    def _requests(self, request: httpx.Request, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.first = self.chance.choice(["allow", "pending_review", "pending_review", "pending_review", "reject"])
        status, answer = super()._requests(request, body)
        if answer["status"] == "allow":
            self.permitted[request.headers["idempotency-key"]] = (answer["task_id"], body["payload"])
        elif "thread_id" in answer:
            self.payloads[answer["thread_id"]] = body["payload"]
        return status, answer

    def _decisions(self, request: httpx.Request, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        thread = self.threads[request.url.params["thread_id"]]
        if thread.status == "pending_review":
            thread.status = self.chance.choice(["approved", "approved", "rejected", "changes_requested"])
        return super()._decisions(request, body)

    def _events(self, request: httpx.Request, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        kind, _, name = body["event_type"].rpartition(".")
        if not kind.startswith("revision."):
            return super()._events(request, body)
        revision, thread = body["payload"]["revision"], self.threads[name]
        assert kind == f"revision.{thread.task_id}"
        if thread.status != "changes_requested":
            return 409, {"code": "not_pending", "detail": "decided"}
        thread.status, thread.action_hash = "pending_review", revision["action_hash"]
        self.payloads[name] = revision["request_payload"]
        self.revised += 1
        return 201, {"status": "pending_review"}

    def _validate(self, request: httpx.Request, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        status, answer = super()._validate(request, body)
        if answer["valid"]:
            assert body["request_payload"] == self.payloads[body["thread_id"]]
            self.permitted[body["thread_id"]] = (body["task_id"], body["request_payload"])
        return status, answer


def task_of(n: int) -> str:
    """Returns the conversation of a call."""
    return f"conversation-{n % 2}"


class Game:
    """One game: each loop plays calls of both conversations at once, and cancels some."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.desk = Desk(self.chance)
        self.gate = AsyncCountersign("http://127.0.0.1:1", "csk_test", http=NO_CLIENT, max_wait=0.0)
        core = self.gate._core  # pyright: ignore[reportPrivateUsage]
        core.clock = Clock(jitter=lambda: 0.001)
        self.gate._http = self.desk  # type: ignore # pyright: ignore[reportPrivateUsage]
        self.ran: list[tuple[str, int, int, int]] = []
        self.plain = self.gate.tool("pay")(self._pay)
        self.later = self.gate.tool("pay")(self._pay_later)

    def _pay(self, loop: int, n: int, cents: int) -> int:
        self.ran.append((task_of(n), loop, n, cents))
        return cents

    async def _pay_later(self, loop: int, n: int, cents: int) -> int:
        self.ran.append((task_of(n), loop, n, cents))
        await asyncio.sleep(0)
        return cents

    async def call(self, loop: int, n: int) -> None:
        """One call of an agent in its conversation, which corrects its arguments as reviewers ask."""
        pay: Callable[..., Awaitable[int]] = self.later if self.chance.random() < 0.9 else self.plain
        cents = self.chance.randrange(1000)

        def revise(_: str, old: dict[str, Any]) -> dict[str, Any]:
            return {**old, "cents": old["cents"] + 1000}

        with self.gate.call(task_id=task_of(n), revise=revise):
            assert await pay(loop, n, cents) % 1000 == cents

    async def loop(self, number: int) -> None:
        calls = [asyncio.ensure_future(self.call(number, n)) for n in range(CALLS)]
        for one in calls:
            for _ in range(self.chance.randrange(8)):
                await asyncio.sleep(0)
            if self.chance.random() < 0.2:
                one.cancel()
        for result in await asyncio.gather(*calls, return_exceptions=True):
            if isinstance(result, BaseException) and not isinstance(result, (NotExecuted, asyncio.CancelledError)):
                raise result

    def play(self) -> None:
        failures: list[BaseException] = []

        def run(number: int) -> None:
            try:
                asyncio.run(self.loop(number))
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(LOOPS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for failure in failures:
            raise failure

    def check(self) -> None:
        permitted = Counter((task, one["loop"], one["n"], one["cents"]) for task, one in self.desk.permitted.values())
        assert not Counter(self.ran) - permitted
        assert max(Counter((loop, n) for _, loop, n, _ in self.ran).values(), default=1) == 1


def test_only_approved_values_run_each_once_and_in_the_thread_of_their_conversation() -> None:
    ran = revised = reported = 0
    for seed in range(GAMES):
        game = Game(seed)
        game.play()
        game.check()
        ran += len(game.ran)
        revised += game.desk.revised
        reported += game.desk.outcomes().count("executed")
    assert ran > GAMES
    # reviewers asked for changes, and the runs were reported but for those whose loop ended first
    assert revised > GAMES / 2
    assert reported > ran * 0.9
