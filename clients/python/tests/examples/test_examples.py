"""Runs the programs of examples/python as their first lines say."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import os
import runpy
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from typing import Any

import httpx
import pytest

from countersign_sdk.testing import Gateway, Reviewer, bundle
from fake import FakeGateway

EXAMPLES = Path(__file__).resolve().parents[4] / "examples/python"
SECRET = "whsec_" + base64.b64encode(b"s" * 24).decode()


@pytest.fixture
def countersign_bundle() -> dict[str, str]:
    return bundle(review=["payments.refund"])


@pytest.fixture
def environment(countersign_gateway: Gateway) -> dict[str, str]:
    given = {"COUNTERSIGN_URL": countersign_gateway.url, "COUNTERSIGN_AGENT_KEY": countersign_gateway.agent_key}
    return {**os.environ, **given, "WEBHOOK_SECRET": SECRET, "PYTHONUNBUFFERED": "1"}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for path in EXAMPLES.glob("*.py"):
        shutil.copy(path, tmp_path)
    return tmp_path


def test_the_refund_agent_is_killed_and_resumed(
    directory: Path, environment: dict[str, str], reviewer: Reviewer
) -> None:
    command = [sys.executable, "refund_agent.py"]
    started = subprocess.Popen([*command, "start"], cwd=directory, env=environment, stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    with started.stdout as said:
        assert said.readline() == "held: people have to decide\n"
        started.kill()
    started.wait()
    reviewer.approve("payments.refund").wait()
    ran = subprocess.run(
        [*command, "resume"], cwd=directory, env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "The tool answered: refunded 125.00 for A-7\n"
    reviewer.assert_held("payments.refund")
    reviewer.assert_redeemed("payments.refund")


@pytest.fixture
def service(directory: Path, environment: dict[str, str]) -> Generator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "service:app", "--port", str(port), "--log-level", "warning"]
    running = subprocess.Popen(command, cwd=directory, env=environment)
    url = f"http://127.0.0.1:{port}"
    until = time.monotonic() + 60
    while True:
        try:
            httpx.get(f"{url}/refunds/none")
            break
        except httpx.HTTPError:
            assert time.monotonic() < until
            assert running.poll() is None
            time.sleep(0.1)
    yield url
    running.terminate()
    running.wait()


def delivery(thread_id: str, secret: str = SECRET, kind: str = "review.approved") -> dict[str, Any]:
    body = json.dumps({"id": "whd_1", "type": kind, "thread_id": thread_id}).encode()
    now = str(int(time.time()))
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    mac = base64.b64encode(hmac.new(key, f"whd_1.{now}.".encode() + body, hashlib.sha256).digest()).decode()
    guard = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    headers = {"webhook-id": "whd_1", "webhook-timestamp": now, "webhook-signature": f"v1,{mac}"}
    return {"content": body, "headers": {**headers, "x-guard-signature": f"sha256={guard}"}}


def test_the_service_returns_while_people_decide(service: str, reviewer: Reviewer) -> None:
    asked = httpx.post(f"{service}/refunds", json={"order": "A-7", "amount_cents": 12_500}).json()
    assert asked["status"] == "held"
    thread_id = asked["thread_id"]
    assert httpx.post(f"{service}/webhook", **delivery(thread_id, "whsec_other")).status_code == 400
    # the delivery arrives before a decision, so the gateway will retry it
    assert httpx.post(f"{service}/webhook", **delivery(thread_id)).status_code == 503
    reviewer.approve("payments.refund").wait()
    for _ in range(2):
        assert httpx.post(f"{service}/webhook", **delivery(thread_id)).status_code == 204
    shown = httpx.get(f"{service}/refunds/{thread_id}").json()
    assert shown == {"status": "done", "result": "refunded 125.00 for A-7"}
    reviewer.assert_redeemed("payments.refund")


Play = Callable[[httpx.AsyncClient, FakeGateway], Awaitable[None]]


def play_service(
    play: Play, gateway: FakeGateway, directory: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plays with the service in this process, in front of a gateway in memory."""
    monkeypatch.chdir(directory)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    names = runpy.run_path("service.py")

    async def slow(_: httpx.Request) -> None:
        await asyncio.sleep(0.01)

    async def run() -> None:
        names["ask"].__globals__["gate"] = gateway.async_gate(slow)
        transport = httpx.ASGITransport(app=names["app"])
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
            await play(client, gateway)

    asyncio.run(run())
    names["jobs"].close()


REFUND = {"order": "A-7", "amount_cents": 12_500}
DONE = {"status": "done", "result": "refunded 125.00 for A-7"}


async def webhook(client: httpx.AsyncClient, thread_id: str, kind: str = "review.approved") -> int:
    return (await client.post("/webhook", **delivery(thread_id, kind=kind))).status_code


async def outage(client: httpx.AsyncClient, gateway: FakeGateway) -> None:
    gateway.outage = 4
    thread_id = (await client.post("/refunds", json=REFUND)).json()["thread_id"]
    assert await webhook(client, thread_id) == 503
    assert (await client.get(f"/refunds/{thread_id}")).json()["status"] == "held"
    assert await webhook(client, thread_id) == 204
    assert (await client.get(f"/refunds/{thread_id}")).json() == DONE


async def early(client: httpx.AsyncClient, _: FakeGateway) -> None:
    assert await webhook(client, "thr_0") == 503
    thread_id = (await client.post("/refunds", json=REFUND)).json()["thread_id"]
    assert (thread_id, await webhook(client, thread_id)) == ("thr_0", 204)
    assert (await client.get(f"/refunds/{thread_id}")).json() == DONE


async def repeated(client: httpx.AsyncClient, gateway: FakeGateway) -> None:
    thread_id = (await client.post("/refunds", json=REFUND)).json()["thread_id"]
    codes = await asyncio.gather(*(webhook(client, thread_id) for _ in range(3)))
    assert sorted(codes) == [204, 503, 503]
    assert await webhook(client, thread_id) == 204
    assert (await client.get(f"/refunds/{thread_id}")).json() == DONE
    assert gateway.asked.count("validate") == 1


async def withdrawn(client: httpx.AsyncClient, gateway: FakeGateway) -> None:
    thread_id = (await client.post("/refunds", json=REFUND)).json()["thread_id"]
    gateway.threads[thread_id].status = "rejected"
    gateway.threads[thread_id].message = "withdrawn: by the agent"
    assert await webhook(client, thread_id, "review.withdrawn") == 204
    assert "withdrawn" in (await client.get(f"/refunds/{thread_id}")).json()["result"]


@pytest.mark.parametrize("play", [outage, early, repeated, withdrawn])
def test_the_service_loses_no_webhook(
    play: Play, directory: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    play_service(play, FakeGateway(), directory, environment, monkeypatch)


def test_the_tests_of_an_agent_pass(directory: Path) -> None:
    gateway = os.environ["COUNTERSIGN_TEST_GATEWAY"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--countersign-gateway", gateway]
    ran = subprocess.run([*command, "test_agent.py"], cwd=directory, capture_output=True, text=True, check=False)
    assert "2 passed" in ran.stdout, ran.stdout + ran.stderr
