"""One client in many event loops, and Python threads that no cancellation abandons."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import http.server
import logging
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from countersign_sdk import AsyncCountersign, StillPending
from fake import FakeGateway


@contextmanager
def served(gateway: FakeGateway) -> Generator[str]:
    """Serves the gateway on loopback, with connections that stay open."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            sent = httpx.Request(self.command, f"http://gateway{self.path}", headers=dict(self.headers), content=body)
            answer = gateway.answer(sent)
            self.send_response(answer.status_code)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.content)

        do_GET = do_POST = _answer

        def log_message(self, format: str, *args: object) -> None:
            """Prints nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.block_on_close = False
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def clients_of(gate: AsyncCountersign) -> int:
    return len(gate._http._loops)  # pyright: ignore[reportPrivateUsage]


async def two(gate: AsyncCountersign) -> list[int]:
    pay: Callable[[int], Any] = gate.tool("pay")(lambda n: n)
    return [await pay(1), await pay(2)]


def test_one_client_works_in_every_loop_and_ends_its_connections_with_each() -> None:
    gateway = FakeGateway()
    with served(gateway) as url:
        gate = AsyncCountersign(url, "csk_test", task_id="t")
        for _ in range(3):
            assert asyncio.run(two(gate)) == [1, 2]
            assert clients_of(gate) == 0
        with concurrent.futures.ThreadPoolExecutor(3) as threads:
            assert list(threads.map(lambda _: asyncio.run(two(gate)), range(6))) == [[1, 2]] * 6
        assert clients_of(gate) == 0
        # `filterwarnings` makes an error of a connection that stays open
        gc.collect()
    assert gateway.outcomes() == ["executed"] * 18


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_a_loop_that_closes_without_its_generators_leaves_no_client_for_long() -> None:
    with served(FakeGateway()) as url:
        gate = AsyncCountersign(url, "csk_test", task_id="t")
        for _ in range(3):
            loop = asyncio.new_event_loop()
            assert loop.run_until_complete(two(gate)) == [1, 2]
            loop.close()
            assert clients_of(gate) == 1
        assert asyncio.run(two(gate)) == [1, 2]
        assert clients_of(gate) == 0
        gc.collect()


def test_a_closed_client_closes_only_the_connections_of_its_loop() -> None:
    with served(FakeGateway()) as url:
        gate = AsyncCountersign(url, "csk_test", task_id="t")

        async def closed() -> int:
            async with gate:
                await two(gate)
                assert clients_of(gate) == 2
            return clients_of(gate)

        async def play() -> None:
            await two(gate)
            assert await asyncio.to_thread(asyncio.run, closed()) == 1
            await two(gate)

        asyncio.run(play())


def test_a_synchronous_client_that_waits_in_a_loop_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    gate = FakeGateway(polls=10**9).gate(max_wait=0.01)

    def wait(n: int) -> None:
        with pytest.raises(StillPending):
            gate.guard("pay", {"n": n}, lambda _: pytest.fail("it ran"))

    async def play() -> None:
        wait(1)
        wait(2)

    wait(0)
    assert caplog.records == []
    asyncio.run(play())
    assert [one.getMessage().partition(",")[0] for one in caplog.records if one.levelno == logging.WARNING] == [
        "a call waits for reviewers in a running event loop"
    ]


class Slow:
    """A function whose Python thread ends when the test says so."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.started, self.release, self.error = threading.Event(), threading.Event(), error
        self.ended = 0

    def __call__(self, n: int = 1) -> int:
        self.started.set()
        assert self.release.wait(20)
        self.ended += 1
        if self.error is not None:
            raise self.error
        return n


async def begun(slow: Slow, gate: AsyncCountersign) -> asyncio.Task[int]:
    call: asyncio.Task[int] = asyncio.ensure_future(gate.tool("pay")(slow.__call__)(1))
    await asyncio.to_thread(slow.started.wait, 20)
    return call


@pytest.mark.parametrize(
    ("error", "reported"),
    [(None, "executed"), (LookupError("no funds"), "failed"), (StopIteration("odd"), "failed")],
)
def test_a_cancellation_waits_for_the_thread_and_evidence_tells_how_it_ended(
    error: BaseException | None, reported: str
) -> None:
    gateway, slow = FakeGateway(), Slow(error)

    async def play() -> None:
        call = await begun(slow, gateway.async_gate())
        for _ in range(3):
            call.cancel()
            await asyncio.sleep(0)
        assert not call.done()
        slow.release.set()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(play())
    assert (slow.ended, gateway.outcomes()) == (1, [reported])


def test_a_timeout_of_the_caller_waits_for_the_thread() -> None:
    gateway, slow = FakeGateway(), Slow()

    async def play() -> None:
        waiting = asyncio.ensure_future(asyncio.wait_for(await begun(slow, gateway.async_gate()), 0))
        await asyncio.sleep(0)
        slow.release.set()
        with pytest.raises(asyncio.TimeoutError):
            await waiting

    asyncio.run(play())
    assert (slow.ended, gateway.outcomes()) == (1, ["executed"])


def test_a_closing_client_waits_for_the_thread_of_a_cancelled_call() -> None:
    gateway, slow = FakeGateway(), Slow()

    async def play() -> None:
        gate = gateway.async_gate()
        call = await begun(slow, gate)
        call.cancel()
        closing = asyncio.ensure_future(gate.aclose())
        for _ in range(5):
            await asyncio.sleep(0)
        assert not closing.done()
        slow.release.set()
        await closing
        assert gateway.outcomes() == ["executed"]
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(play())


def test_a_program_that_ends_waits_for_the_thread_of_a_call_in_another_task() -> None:
    gateway, slow = FakeGateway(), Slow()

    async def play() -> None:
        await begun(slow, gateway.async_gate())
        # `asyncio.run` cancels every task when this coroutine ends
        threading.Timer(0.05, slow.release.set).start()

    asyncio.run(play())
    assert (slow.ended, gateway.outcomes()) == (1, ["executed"])
