"""The time that a caller waits: deadlines, a gateway that is away, and TLS that cannot succeed."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest

from countersign_sdk import (
    AsyncCountersign,
    Countersign,
    GatewayUnavailable,
    GatewayUntrusted,
    NotExecuted,
    Options,
    _flow,
)
from countersign_sdk._call import proposal_of  # pyright: ignore[reportPrivateUsage]
from countersign_sdk._run_sync import drive  # pyright: ignore[reportPrivateUsage]
from countersign_sdk._steps import Ask, Clock, Effect, Invoke, Pause  # pyright: ignore[reportPrivateUsage]
from fake import FakeGateway


class Away:
    """A gateway that answers some routes with 503 until it is back."""

    def __init__(self, *routes: str) -> None:
        self.routes, self.is_away, self.arrived = routes, True, threading.Event()

    def __call__(self, route: str, _answer: dict[str, Any], _count: int) -> httpx.Response | None:
        if route not in self.routes:
            return None
        if self.is_away:
            return httpx.Response(503, json={"code": "not_ready", "detail": "away"}, headers={"retry-after": "0"})
        self.arrived.set()
        return None


def brief(gate: Countersign | AsyncCountersign) -> Any:
    gate._core.foreground_seconds = 0.05  # pyright: ignore[reportPrivateUsage]
    gate._core.clock = Clock(jitter=lambda: 0.1)  # pyright: ignore[reportPrivateUsage]
    return gate


def test_a_result_does_not_wait_for_a_gateway_that_is_away(caplog: pytest.LogCaptureFixture) -> None:
    away = Away("outcomes")
    gateway = FakeGateway(change=away)
    assert brief(gateway.gate()).guard("pay", {}, lambda _: "ran") == "ran"
    assert "continues in the background" in caplog.text
    away.is_away = False
    assert away.arrived.wait(20)


def test_an_asynchronous_result_does_not_wait_for_a_gateway_that_is_away() -> None:
    away = Away("outcomes")
    gateway = FakeGateway(change=away)

    async def play() -> None:
        gate = brief(gateway.async_gate())
        assert await gate.guard("pay", {}, lambda _: "ran") == "ran"
        away.is_away = False
        assert await asyncio.to_thread(away.arrived.wait, 20)

    asyncio.run(play())


def test_a_program_that_ends_waits_for_no_background() -> None:
    gateway = FakeGateway(change=Away("outcomes"))

    async def play() -> float:
        async with brief(gateway.async_gate()) as gate:
            await gate.guard("pay", {}, lambda _: "ran")
            return time.monotonic()

    assert time.monotonic() - asyncio.run(play()) < 5


def test_an_interrupt_does_not_wait_for_a_gateway_that_is_away() -> None:
    away = Away("withdrawals")
    gateway = FakeGateway(change=away)

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        brief(gateway.gate()).guard("pay", {}, lambda _: pytest.fail("it ran"), on_held=interrupted)
    away.is_away = False
    assert away.arrived.wait(20)
    assert [thread.status for thread in gateway.threads.values()] == ["rejected"]


@pytest.fixture
def silent() -> Generator[str]:
    """The address of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_request_of_the_foreground_ends_although_its_own_timeout_is_longer(
    silent: str, asynchronous: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_flow, "_BACKGROUND_SECONDS", 0.05)
    call = FakeGateway(first="allow").gate().authorize("pay", {})
    began = time.monotonic()
    if asynchronous:
        asyncio.run(brief(AsyncCountersign(silent, "csk_test", timeout=60)).report(call))
    else:
        brief(Countersign(silent, "csk_test", timeout=60)).report(call)
    assert time.monotonic() - began < 10


def test_a_deadline_bounds_a_gateway_that_is_silent(silent: str) -> None:
    began = time.monotonic()
    with pytest.raises(GatewayUnavailable):
        Countersign(silent, "csk_test", timeout=60).guard("pay", {}, lambda _: pytest.fail("it ran"), deadline=0.1)
    assert time.monotonic() - began < 10


class Timed:
    """Plays the steps of a call with a clock of its own: each request takes some seconds."""

    def __init__(self, gateway: FakeGateway, **seconds: float) -> None:
        self.gateway, self.seconds, self.now = gateway, seconds, 0.0
        self.asked: list[tuple[str, float, int]] = []

    def perform(self, effect: Effect) -> object:
        if isinstance(effect, Pause):
            self.now += effect.seconds
            return None
        if isinstance(effect, Invoke):
            return effect.function(*effect.arguments)
        assert isinstance(effect, Ask)
        route = effect.request.path.partition("?")[0].rpartition("/")[2]
        assert effect.most is not None
        self.asked.append((route, self.now + effect.most, effect.request.wait))
        self.now += max(self.seconds.get(route, 0.0), effect.request.wait)
        request = effect.request
        answer = self.gateway.gate()._http.ask(request)  # pyright: ignore[reportPrivateUsage]
        return answer

    def call(self, options: Options) -> object:
        gate = self.gateway.gate()
        gate._core.clock = Clock(lambda: self.now, lambda: 1.0)  # pyright: ignore[reportPrivateUsage]
        proposal = proposal_of("t", "pay", {}, {})
        return drive(_flow.authorize_steps(gate._core, proposal, options), self.perform)  # pyright: ignore


def test_one_deadline_bounds_the_proposal_the_wait_and_the_redemption() -> None:
    timed = Timed(FakeGateway(), resolve=3, requests=2, decisions=1, validate=0.5)
    timed.call({"deadline": 12.0})
    assert [(route, until) for route, until, _ in timed.asked] == [
        (route, 12.0) for route in ("resolve", "requests", "decisions", "validate")
    ]
    assert timed.now <= 12.0
    # a poll ends early enough for the redemption
    assert [wait for route, _, wait in timed.asked if route == "decisions"] == [6]


@pytest.mark.parametrize(
    ("seconds", "polls", "code"),
    [
        ({"resolve": 9.0}, 0, "gateway_unavailable"),
        ({"requests": 2.0}, 10**9, "still_pending"),
        ({"decisions": 1.0}, 10**9, "still_pending"),
    ],
)
def test_a_call_whose_deadline_passes_ends_with_its_reason(seconds: dict[str, float], polls: int, code: str) -> None:
    away = Away("requests" if code == "gateway_unavailable" else "")
    timed = Timed(FakeGateway(polls=polls, change=away), **seconds)
    with pytest.raises(NotExecuted) as ended:
        timed.call({"deadline": 8.0, "max_wait": 900.0})
    assert ended.value.code == code
    assert timed.now <= 9.0


def test_a_deadline_that_is_none_is_refused() -> None:
    gate = FakeGateway().gate()
    handle = gate.propose("pay", {})
    for wrong in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="deadline"):
            gate.guard("pay", {}, lambda _: pytest.fail("it ran"), deadline=wrong)
        with pytest.raises(ValueError, match="deadline"):
            gate.resume(handle, lambda _: pytest.fail("it ran"), deadline=wrong)


class Secured:
    """A server of TLS with a certificate of its own, which counts the handshakes that it begins."""

    def __init__(self, folder: Path) -> None:
        key, self.certificate = folder / "key.pem", folder / "certificate.pem"
        subprocess.run(
            f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=gateway"
            f" -addext subjectAltName=IP:127.0.0.1 -keyout {key} -out {self.certificate}".split(),
            check=True,
            capture_output=True,
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        self.handshakes = 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self._context = context
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                plain, _ = self._server.accept()
            except OSError:
                return
            self.handshakes += 1
            try:
                with self._context.wrap_socket(plain, server_side=True) as connection:
                    connection.recv(65536)
                    connection.sendall(
                        b'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 12\r\n\r\n{"tools":[]}'
                    )
            except OSError:
                plain.close()

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


@pytest.fixture
def secured(tmp_path: Path) -> Generator[Secured]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    server = Secured(tmp_path)
    yield server
    server.close()


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_certificate_that_is_not_trusted_is_tried_once_and_names_verify(secured: Secured, asynchronous: bool) -> None:
    def resolve(url: str, **options: Any) -> object:
        if asynchronous:
            return asyncio.run(AsyncCountersign(url, "csk_test", **options).resolve())
        with Countersign(url, "csk_test", **options) as gate:
            return gate.resolve()

    url = f"https://127.0.0.1:{secured.port}"
    with pytest.raises(GatewayUntrusted, match=r"verify=.*Ask the operator") as untrusted:
        resolve(url)
    assert (secured.handshakes, untrusted.value.retryable) == (1, False)
    known = str(secured.certificate)
    assert resolve(url, verify=known) == []
    assert resolve(url, verify=ssl.create_default_context(cafile=known)) == []
    with pytest.raises(GatewayUntrusted, match="verify="):
        resolve(url.replace("127.0.0.1", "localhost"), verify=known)


def test_a_server_without_tls_is_tried_once() -> None:
    tried = 0
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            nonlocal tried
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                tried += 1
                with connection:
                    connection.recv(65536)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=serve, daemon=True).start()
        with pytest.raises(GatewayUntrusted, match="address"):
            Countersign(f"https://127.0.0.1:{server.getsockname()[1]}", "csk_test").resolve()
        server.shutdown(socket.SHUT_RDWR)
    assert tried == 1
