"""A gateway that lies, fails or asks for time: no tool runs, and the caller gets the reason."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

import countersign_sdk
from countersign_sdk import AsyncCountersign, Countersign, NotExecuted
from countersign_sdk._steps import Clock, Patience, _pause  # pyright: ignore[reportPrivateUsage]
from fake import FakeGateway

SECRETS = f"csk_acme_{'k' * 49} and cst_{'t' * 49}"


def problem(status: int, code: str) -> httpx.Response:
    return httpx.Response(status, json={"code": code, "detail": "no"})


LIES: dict[str, tuple[str, Any, str]] = {
    "an unknown status": ("requests", {"status": "sure"}, "unexpected_answer"),
    "no status": ("requests", {"status": None}, "unexpected_answer"),
    "allow without the hash": ("requests", {"status": "allow", "action_hash": None}, "unexpected_answer"),
    "allow of another action": ("requests", {"status": "allow", "action_hash": "0" * 64}, "unexpected_answer"),
    "allow in another task": ("requests", {"status": "allow", "task_id": "another"}, "unexpected_answer"),
    "pending without a thread": ("requests", {"status": "pending_review", "thread_id": None}, "unexpected_answer"),
    "approved at once without a proof": ("requests", {"status": "approved"}, "no_proof"),
    "allow where people decide": ("decisions", {"status": "allow"}, "unexpected_answer"),
    "a decision about another thread": ("decisions", {"thread_id": "thr_other"}, "unexpected_answer"),
    "approved about another action": ("decisions", {"action_hash": "0" * 64}, "unexpected_answer"),
    "a new proof of another action": ("proofs", {"action_hash": "0" * 64}, "unexpected_answer"),
    "a new proof of another thread": ("proofs", {"thread_id": "thr_other"}, "no_proof"),
    "no new proof": ("proofs", {"approval_token": None}, "no_proof"),
    "a proof that was redeemed": ("proofs", problem(409, "proof_used"), "no_proof"),
    "a gateway that replaces no proof": ("proofs", problem(404, "not_found"), "no_proof"),
    "a freeze after the proof was lost": ("proofs", {"status": "rejected", "approval_token": None}, "rejected"),
    "a gateway that is away after the proof was lost": ("proofs", problem(503, "not_ready"), "gateway_unavailable"),
    "valid with a reason why not": ("validate", {"reason": "expired"}, "proof_refused"),
    "a proof that is spent": ("validate", {"valid": False, "reason": "used"}, "outcome_unknown"),
    "valid in another task": ("validate", {"task_id": "another"}, "proof_refused"),
    "valid of another thread": ("validate", {"thread_id": "thr_other"}, "proof_refused"),
    "valid of another action": ("validate", {"action_hash": "0" * 64}, "proof_refused"),
    "valid that is a text": ("validate", {"valid": "true"}, "proof_refused"),
    "a redemption that is not confirmed": ("validate", httpx.Response(503, json={}), "outcome_unknown"),
    "allow with status 201": ("requests", httpx.Response(201, json={"status": "allow"}), "unexpected_answer"),
    "allow with status 302": ("requests", httpx.Response(302, json={}, headers={"location": "/"}), "unexpected_answer"),
    "a refusal of an odd shape": ("requests", httpx.Response(400, json={"errors": 5, "code": []}), "unexpected_answer"),
    "a list": ("requests", httpx.Response(200, json=[{"status": "allow"}]), "unexpected_answer"),
    "no JSON": ("requests", httpx.Response(200, text="allow"), "unexpected_answer"),
    "deep JSON": ("requests", httpx.Response(200, text="[" * 100_000), "unexpected_answer"),
    "a page of a proxy": ("requests", httpx.Response(404, text="nothing here"), "unexpected_answer"),
    "a bad key": ("requests", httpx.Response(401, json={"code": "unauthenticated", "detail": "no"}), "gateway_refused"),
    "no policy": ("requests", httpx.Response(503, json={"code": "not_ready", "detail": "no"}), "gateway_unavailable"),
    "a payload it cannot hold": (
        "requests",
        httpx.Response(
            400, json={"code": "invalid_json", "detail": "no", "errors": [{"pointer": "/a", "message": "x"}]}
        ),
        "invalid_payload",
    ),
    "a payload that is too large": (
        "requests",
        httpx.Response(413, json={"code": "body_too_large", "detail": SECRETS}),
        "invalid_payload",
    ),
    "a contract that is none": ("resolve", {"tools": [{"name": "pay", "input_schema": 5}]}, "unknown_tool"),
    "no contracts": ("resolve", {"tools": None}, "unknown_tool"),
}


def still_clock() -> Clock:
    return Clock(jitter=lambda: 0.0)


def called(gateway: FakeGateway, ran: list[Any]) -> None:
    gate = gateway.gate()
    gate._core.clock = still_clock()  # pyright: ignore[reportPrivateUsage]
    gate.guard("pay", {}, ran.append)


def called_async(gateway: FakeGateway, ran: list[Any]) -> None:
    gate = gateway.async_gate()
    gate._core.clock = still_clock()  # pyright: ignore[reportPrivateUsage]
    asyncio.run(gate.guard("pay", {}, ran.append))


@pytest.mark.parametrize("name", LIES)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_runs_nothing(name: str, asynchronous: bool) -> None:
    route, lie, code = LIES[name]

    def change(asked: str, answer: dict[str, Any], _: int) -> Any:
        if asked == "decisions" and route == "proofs":
            return {key: value for key, value in answer.items() if key != "approval_token"}
        if asked != route:
            return None
        if isinstance(lie, httpx.Response):
            return httpx.Response(lie.status_code, content=lie.content, headers=lie.headers)
        return {key: value for key, value in {**answer, **lie}.items() if value is not None}

    gateway = FakeGateway(change=change)
    ran: list[Any] = []
    call = called_async if asynchronous else called
    with pytest.raises(NotExecuted) as refused:
        call(gateway, ran)
    assert (refused.value.code, ran) == (code, [])
    opening = "It may have run: " if code in ("no_proof", "proof_refused") else "Not executed: "
    assert str(refused.value).startswith(opening)
    assert "cs" not in str(refused.value).replace("countersign", "") or "[secret]" in str(refused.value)


def test_each_error_has_its_own_code_and_survives_pickling() -> None:
    import pickle

    classes = [one for one in vars(countersign_sdk).values() if isinstance(one, type) and issubclass(one, NotExecuted)]
    assert len({one.code for one in classes}) == len(classes) >= 15
    for one in classes:
        copy = pickle.loads(pickle.dumps(one("why", "thr_1", "http://x")))
        assert (type(copy), copy.reason, copy.thread_id, copy.console_url) == (one, "why", "thr_1", "http://x")


class Cut(FakeGateway):
    """A gateway whose connection breaks on the first answer with a proof."""

    def answer(self, request: httpx.Request) -> httpx.Response:
        response = super().answer(request)
        if b"approval_token" in response.content and self.asked.count("decisions") == 1:
            raise httpx.ReadError("the line was cut")
        return response


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_proof_that_was_lost_with_its_answer_is_replaced(asynchronous: bool) -> None:
    gateway, ran = Cut(), list[Any]()
    (called_async if asynchronous else called)(gateway, ran)
    assert (ran, gateway.asked.count("proofs"), gateway.asked.count("validate")) == ([{}], 1, 1)
    assert gateway.outcomes() == ["executed"]


def test_who_resumes_after_a_crash_inside_the_tool_reads_that_it_was_started() -> None:
    gateway = FakeGateway()
    handle = gateway.gate().propose("pay", {})
    gateway.gate().authorize_handle(handle)
    with pytest.raises(countersign_sdk.NoProof) as unknown:
        gateway.gate().resume(handle, lambda _: pytest.fail("it ran"))
    assert str(unknown.value).startswith("It may have run: it was started, and its end is unknown")


def resumed_once(gateway: FakeGateway, asynchronous: bool) -> object:
    """Resumes an approved call without waiting, as an adapter does."""
    if not asynchronous:
        gate = gateway.gate()
        gate._core.clock = still_clock()  # pyright: ignore[reportPrivateUsage]
        return gate.resume(gate.propose("pay", {}), lambda _: "ran", max_wait=0)
    async_gate = gateway.async_gate()
    async_gate._core.clock = still_clock()  # pyright: ignore[reportPrivateUsage]

    async def call() -> object:
        return await async_gate.resume(await async_gate.propose("pay", {}), lambda _: "ran", max_wait=0)

    return asyncio.run(call())


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_poll_that_may_not_wait_is_repeated_after_a_failure(asynchronous: bool) -> None:
    gateway = FakeGateway(outage=3)
    assert resumed_once(gateway, asynchronous) == "ran"
    assert gateway.asked.count("decisions") == 4


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_outage_leaves_a_handle_that_continues_the_call(asynchronous: bool) -> None:
    gateway = FakeGateway(outage=4)
    with pytest.raises(countersign_sdk.GatewayUnavailable) as away:
        resumed_once(gateway, asynchronous)
    handle = away.value.handle
    assert handle is not None
    assert (handle.get("thread_id"), away.value.thread_id) == ("thr_0", "thr_0")
    assert gateway.gate().resume(handle, lambda _: "ran", max_wait=0) == "ran"
    assert len(gateway.threads) == 1


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_outage_during_a_guarded_call_leaves_a_handle(asynchronous: bool) -> None:
    gateway = FakeGateway(outage=4)
    call = guarded_briefly_async if asynchronous else guarded_briefly
    with pytest.raises(countersign_sdk.GatewayUnavailable) as away:
        call(gateway, "c" * 9)
    assert away.value.handle is not None
    assert gateway.gate().resume(away.value.handle, lambda _: "ran") == "ran"
    # a handle cannot hold this id, and the error still names the outage
    with pytest.raises(countersign_sdk.GatewayUnavailable) as away:
        call(FakeGateway(outage=4), "c" * 1000)
    assert away.value.handle is None


def guarded_briefly(gateway: FakeGateway, call_id: str) -> None:
    gateway.gate().guard("pay", {}, lambda _: pytest.fail("it ran"), call_id=call_id, max_wait=0)


def guarded_briefly_async(gateway: FakeGateway, call_id: str) -> None:
    asyncio.run(gateway.async_gate().guard("pay", {}, lambda _: pytest.fail("it ran"), call_id=call_id, max_wait=0))


def test_an_outage_before_a_thread_leaves_no_handle() -> None:
    gateway = FakeGateway(change=lambda *_: httpx.Response(503, json={}, headers={"retry-after": "0"}))
    with pytest.raises(countersign_sdk.GatewayUnavailable) as away:
        gateway.gate().propose("pay", {})
    assert away.value.handle is None


def test_a_redemption_whose_answer_was_lost_is_known_not_to_have_run() -> None:
    def lost(asked: str, _: dict[str, Any], count: int) -> Any:
        if asked == "validate" and count == 1:
            raise httpx.ReadError("cut")
        return None

    gateway = FakeGateway(change=lost)
    with pytest.raises(NotExecuted) as refused:
        gateway.gate().guard("pay", {}, lambda _: pytest.fail("it ran"))
    assert refused.value.code == "outcome_unknown"
    assert gateway.outcomes() == ["not_run"]


def test_an_allow_that_is_always_an_old_one_is_not_asked_for_without_end() -> None:
    gateway = FakeGateway(first="allow")
    gateway.change = lambda route, answer, _: (
        httpx.Response(200, json=answer, headers={"idempotent-replayed": "true"}) if route == "requests" else None
    )
    with pytest.raises(countersign_sdk.GatewayUnavailable, match="given before"):
        gateway.gate().guard("pay", {}, lambda _: pytest.fail("it ran"), call_id="c")
    assert gateway.asked.count("requests") == 1001


def test_an_allow_is_counted_for_each_run_of_a_known_id_and_once_for_others() -> None:
    gateway = FakeGateway(first="allow")
    gate = gateway.gate()
    for _ in range(3):
        gate.guard("pay", {}, lambda _: None, call_id="c")
    assert len(gateway.keys) == 3
    gateway.gate().guard("pay", {}, lambda _: None, call_id="c")
    assert len(gateway.keys) == 4


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("withdrawn invoice", "rejected"),
        ("withdrawn", "rejected"),
        ("expired invoice", "rejected"),
        ("withdrawn: no longer needed", "withdrawn"),
        ("expired: no reviewer decided in time", "expired"),
    ],
)
def test_a_comment_of_a_reviewer_is_no_code(message: str, code: str) -> None:
    gateway = FakeGateway()
    gateway.change = lambda route, answer, _: (
        {**answer, "status": "reject", "message": message} if route == "requests" else None
    )
    with pytest.raises(NotExecuted) as refused:
        gateway.gate().guard("pay", {}, lambda _: pytest.fail("it ran"))
    assert refused.value.code == code
    with pytest.raises(NotExecuted) as refused:
        asyncio.run(gateway.async_gate().guard("pay", {}, lambda _: pytest.fail("it ran")))
    assert refused.value.code == code


def test_a_contract_out_of_date_refuses_nothing() -> None:
    gateway = FakeGateway(first="allow", schema={"type": "object", "required": ["old"]})
    gate = gateway.gate()
    gate.guard("pay", {"old": 1}, lambda _: None)
    gateway.schema = {"type": "object"}
    assert gate.guard("pay", {}, lambda _: "ran") == "ran"
    assert gateway.asked.count("resolve") == 2


@pytest.mark.parametrize(
    "url",
    ["", "gateway", "ftp://gateway", "http://u:p@gateway", "http://gateway/?a=b", "http://gateway/#a", "http://g:x"],
)
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        Countersign(url, "csk_x")


@pytest.mark.parametrize("key", ["", " ", "csk x", "csk_ü", "a\nb"])
def test_a_key_that_fits_in_no_header(key: str) -> None:
    with pytest.raises(ValueError, match="key") as refused:
        Countersign("http://gateway", key)
    assert "ü" not in str(refused.value)


def test_says_which_variable_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COUNTERSIGN_URL", raising=False)
    monkeypatch.delenv("COUNTERSIGN_AGENT_KEY", raising=False)
    with pytest.raises(ValueError, match="set COUNTERSIGN_URL, or pass it"):
        Countersign()
    monkeypatch.setenv("COUNTERSIGN_URL", "http://gateway")
    with pytest.raises(ValueError, match="set COUNTERSIGN_AGENT_KEY, or pass it"):
        AsyncCountersign()


@pytest.mark.parametrize("wait", [float("nan"), -1.0])
def test_a_wait_that_is_none(wait: float) -> None:
    with pytest.raises(ValueError, match="max_wait"):
        FakeGateway().gate(max_wait=wait)
    with pytest.raises(ValueError, match="max_wait"):
        FakeGateway().gate().guard("pay", {}, lambda _: None, max_wait=wait)


def test_an_option_that_is_none() -> None:
    with pytest.raises(TypeError, match="colour"):
        FakeGateway().gate().guard("pay", {}, lambda _: None, colour="red")  # type: ignore[call-arg]


def test_pauses_grow_differ_and_are_never_shorter_than_asked() -> None:
    halves, whole = Clock(jitter=lambda: 0.5), Clock(jitter=lambda: 1.0)
    assert [_pause(n, None, whole) for n in (1, 2, 3, 9)] == [0.2, 0.4, 0.8, 5.0]
    assert _pause(1, None, halves) == 0.1
    assert [_pause(n, 7.0, one) for n in (1, 9) for one in (whole, halves)] == [7.0, 10.5, 7.0, 10.5]
    assert (_pause(1, 0.0, whole), _pause(9, 0.0, whole), _pause(1, 9e8, whole)) == (0.2, 1.0, 30.0)
    assert Patience(Clock(now=lambda: 2.0), tries=None, until=1.0).is_over(1)


Handler = Callable[[socket.socket], None]


@contextmanager
def serving(handle: Handler) -> Generator[str]:
    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    class Each(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                handle(self.request)

    with Server(("127.0.0.1", 0), Each) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def silent(connection: socket.socket) -> None:
    while connection.recv(65536):
        pass


def dripping(start: bytes, drop: bytes) -> Handler:
    def drip(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(start)
        while True:
            connection.sendall(drop)
            time.sleep(0.02)

    return drip


SLOW: dict[str, Handler] = {
    "silence": silent,
    "a connection that is cut": lambda connection: connection.close(),
    "headers that drip": dripping(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n"),
    "a body that drips": dripping(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n", b" "),
    "no HTTP": dripping(b"hello\r\n", b"\r\n"),
}


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("name", SLOW)
def test_ends_in_time(name: str, asynchronous: bool) -> None:
    with serving(SLOW[name]) as url:
        began = time.monotonic()
        call = slow_async if asynchronous else slow
        with pytest.raises(countersign_sdk.GatewayUnavailable):
            call(url)
        assert time.monotonic() - began < 20


def slow(url: str) -> None:
    with Countersign(url, "csk_x", timeout=0.2) as gate:
        gate.guard("pay", {}, lambda _: pytest.fail("it ran"))


def slow_async(url: str) -> None:
    async def call() -> None:
        async with countersign_sdk.AsyncCountersign(url, "csk_x", timeout=0.2) as gate:
            await gate.guard("pay", {}, lambda _: pytest.fail("it ran"))

    asyncio.run(call())


def test_nobody_there() -> None:
    with (
        Countersign("http://127.0.0.1:9", "csk_x") as gate,
        pytest.raises(countersign_sdk.GatewayUnavailable, match="no answer"),
    ):
        gate.guard("pay", {}, lambda _: pytest.fail("it ran"))


class Recording(http.server.BaseHTTPRequestHandler):
    """Answers every request with 404 and records its path."""

    paths: list[str] = []  # noqa: RUF012

    def do_POST(self) -> None:
        self.paths.append(self.path)
        self.send_response(404)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


def test_keeps_the_path_of_the_address() -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recording) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with (
            Countersign(f"http://127.0.0.1:{server.server_address[1]}/under/", "csk_x") as gate,
            pytest.raises(countersign_sdk.UnexpectedAnswer),
        ):
            gate.guard("pay", {}, lambda _: pytest.fail("it ran"))
        server.shutdown()
    assert Recording.paths == ["/under/api/agent/tools/resolve"]
