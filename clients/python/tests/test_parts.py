"""Handles, webhooks, traces, forks, and a thousand waiting calls."""

from __future__ import annotations

import base64
import gc
import hashlib
import hmac
import json
import multiprocessing
import os
import re
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import countersign_sdk
from countersign_sdk import Countersign, trace_context, verify_webhook
from countersign_sdk.handle import Handle, checked_handle
from countersign_sdk.testing import Gateway, Reviewer
from fake import FakeGateway

ROOT = Path(__file__).resolve().parents[3]
HANDLE: dict[str, Any] = {
    "v": 1,
    "status": "pending_review",
    "task_id": "t",
    "tool_name": "pay",
    "nonce": "n",
    "action_hash": "0" * 64,
    "thread_id": "thr_1",
}


@pytest.mark.parametrize(
    "change",
    [
        {"v": 2},
        {"v": None},
        {"status": "rejected"},
        {"thread_id": None},
        {"thread_id": 5},
        {"status": "allow"},
        {"task_id": 5},
        {"action_hash": "x"},
        {"again": 0},
        {"again": "1"},
        {"again": True},
        {"payload": []},
        {"approval_token": "cst_x"},
    ],
)
def test_what_is_no_handle_is_refused(change: dict[str, Any]) -> None:
    changed = {name: value for name, value in {**HANDLE, **change}.items() if value is not None}
    with pytest.raises(ValueError, match="handle"):
        checked_handle(changed)


def test_a_handle_is_as_the_schema_in_the_documents_has_it() -> None:
    assert checked_handle(HANDLE) == HANDLE
    page = (ROOT / "docs/agent-side.md").read_text()
    schema = json.loads(page.partition("## Handle")[2].partition("```json\n")[2].partition("```")[0])
    assert set(schema["properties"]) == set(Handle.__annotations__)
    assert set(schema["required"]) == {"v", "status", "task_id", "tool_name", "nonce", "action_hash"}


def test_each_adapter_has_an_extra_with_the_oldest_tested_version() -> None:
    project = (ROOT / "clients/python/pyproject.toml").read_text()
    drivers = sorted((ROOT / "clients/python/tests/adapters").glob("driver_*.py"))
    assert len(drivers) == 8
    for driver in drivers:
        extra = driver.stem.removeprefix("driver_").replace("_", "-")
        found = re.search(rf"^{extra} = \[(.*)\]$", project, re.MULTILINE)
        assert found is not None, extra
        oldest = re.search(r"^    oldest = \[(.*)\]", driver.read_text(), re.MULTILINE)
        assert oldest is not None, extra
        for package, least in re.findall(r'"([\w-]+)>=([\d.]+)', found[1]):
            assert re.search(rf'"{package}=={re.escape(least)}(\.0)?"', oldest[1]), (package, least)


def test_the_package_has_the_license_of_the_repository() -> None:
    assert (ROOT / "clients/python/LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_the_type_of_a_handle_is_readable_at_run_time() -> None:
    optional = {"again", "thread_id", "payload"}
    assert set(get_type_hints(Handle)) == set(HANDLE) | optional
    assert Handle.__optional_keys__ == optional
    pydantic = pytest.importorskip("pydantic")
    adapter = pydantic.TypeAdapter(Handle)
    assert adapter.validate_python({**HANDLE, "payload": {"a": [1]}})["payload"] == {"a": [1]}
    assert adapter.validate_python({**HANDLE})["nonce"] == "n"
    with pytest.raises(ValueError, match="action_hash"):
        adapter.validate_python({name: value for name, value in HANDLE.items() if name != "action_hash"})


def functions_of(owner: Any) -> list[Any]:
    public = [one for name, one in vars(owner).items() if not name.startswith("_") or name == "__init__"]
    return [one.fget if isinstance(one, property) else one for one in public if callable(one) or hasattr(one, "fget")]


def test_each_public_function_has_readable_types_and_a_docstring() -> None:
    names = [getattr(countersign_sdk, name) for name in countersign_sdk.__all__ if not name.startswith("_")]
    classes = [one for one in names if isinstance(one, type)]
    functions = [one for one in names if callable(one) and not isinstance(one, type)]
    for owner in (*classes, Gateway, Reviewer):
        functions += [one for one in functions_of(owner) if hasattr(one, "__code__")]
        assert owner.__doc__, owner
    assert len(functions) > 40
    for function in functions:
        get_type_hints(function)
        assert function.__doc__ or function.__name__ == "__init__", function


def test_the_asynchronous_class_says_what_the_synchronous_one_says() -> None:
    for name, one in vars(Countersign).items():
        other = vars(countersign_sdk.AsyncCountersign).get(name)
        if name.startswith("_") or not callable(one) or other is None:
            continue
        missing = set(re.findall(r"^ +(?::raises \w+|\w+):", str(one.__doc__), re.MULTILINE))
        missing -= set(re.findall(r"^ +(?::raises \w+|\w+):", str(other.__doc__), re.MULTILINE))
        assert not missing, (name, missing)
    described = str(countersign_sdk.Options.__doc__)
    assert [name for name in countersign_sdk.Options.__annotations__ if name not in described] == []


def test_a_client_shows_its_address_and_task_and_never_its_key() -> None:
    for gate in (FakeGateway().gate(), FakeGateway().async_gate()):
        assert repr(gate) == f"{type(gate).__name__}('http://127.0.0.1:1', task_id='t')"


def test_a_handle_with_other_arguments_never_runs() -> None:
    gate = FakeGateway().gate()
    handle = gate.propose("pay", {"n": 1})
    for changed in ({**handle, "payload": {"n": 2}}, {**handle, "tool_name": "other"}, {**handle, "task_id": "other"}):
        with pytest.raises(countersign_sdk.ArgumentsChanged):
            gate.resume(changed, lambda _: pytest.fail("it ran"))


def test_a_long_call_id_is_refused_before_anything_waits_for_ever() -> None:
    gateway = FakeGateway()
    with pytest.raises(ValueError, match="call_id"):
        gateway.gate().propose("pay", {}, call_id="c" * 1000)
    assert [thread.status for thread in gateway.threads.values()] in ([], ["rejected"])


SECRET = "whsec_" + base64.b64encode(b"s" * 24).decode()
OTHER = "whsec_" + base64.b64encode(b"o" * 24).decode()


def delivery(secret: str, body: bytes, now: int = 1000, identity: str = "whd_1") -> dict[str, str]:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    mac = hmac.new(key, f"{identity}.{now}.".encode() + body, hashlib.sha256).digest()
    return {
        "Webhook-Id": identity,
        "Webhook-Timestamp": str(now),
        "Webhook-Signature": f"v1,{base64.b64encode(mac).decode()}",
        "X-Guard-Signature": f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}",
    }


def test_a_webhook_is_verified() -> None:
    body = json.dumps({"id": "whd_1", "type": "review.approved"}).encode()
    headers = delivery(SECRET, body)
    assert verify_webhook(SECRET, headers, body, now=1000)["type"] == "review.approved"
    assert verify_webhook([OTHER, SECRET], headers, body.decode(), now=1299)["id"] == "whd_1"
    refused: list[tuple[Any, dict[str, str], bytes, float]] = [
        (OTHER, headers, body, 1000),
        (SECRET, headers, body + b" ", 1000),
        (SECRET, headers, body, 1301),
        (SECRET, headers, body, 699),
        (SECRET, headers, body, float("nan")),
        (SECRET, {**headers, "X-Guard-Signature": ""}, body, 1000),
        (SECRET, {**headers, "Webhook-Signature": "v1,x"}, body, 1000),
        (SECRET, {**headers, "Webhook-Id": "whd_2"}, body, 1000),
        (SECRET, delivery(SECRET, b"[]"), b"[]", 1000),
        (SECRET, delivery(SECRET, b"x"), b"x", 1000),
        (SECRET, {}, body, 1000),
    ]
    for secret, given, raw, now in refused:
        with pytest.raises(countersign_sdk.WebhookRefused):
            verify_webhook(secret, given, raw, now=now)
    for wrong in ("", "whsec_", "secret"):
        with pytest.raises(ValueError, match="whsec_"):
            verify_webhook(wrong, headers, body, now=1000)
    with pytest.raises(TypeError, match="raw"):
        verify_webhook(SECRET, headers, {"id": "whd_1"}, now=1000)  # type: ignore[arg-type]


def test_requests_carry_the_trace_context_that_is_given() -> None:
    gateway = FakeGateway(first="allow")
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with trace_context(parent, "a=b"):
        gateway.gate().guard("pay", {}, lambda _: None)
    assert {request.headers["tracestate"] for request in gateway.sent} == {"a=b"}
    assert {request.headers["traceparent"] for request in gateway.sent} == {parent}
    gateway.gate().guard("pay", {}, lambda _: None)
    assert "traceparent" not in gateway.sent[-1].headers


def test_spans_are_made_where_opentelemetry_is_installed() -> None:
    trace = pytest.importorskip("opentelemetry.trace")
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    processors = pytest.importorskip("opentelemetry.sdk.trace.export")
    exporter = export.InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(processors.SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    gateway = FakeGateway()
    tracer = trace.get_tracer("test")
    with tracer.start_as_current_span("agent") as agent:
        gateway.gate().guard("pay", {}, lambda _: tracer.start_span("inner").end())
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert set(spans) == {"countersign.propose", "countersign.decide", "countersign.run", "inner", "agent"}
    assert {span.context.trace_id for span in spans.values()} == {agent.get_span_context().trace_id}
    assert spans["inner"].parent.span_id == spans["countersign.run"].context.span_id
    assert spans["countersign.decide"].attributes["countersign.thread_id"] == "thr_0"
    validated = next(one for one in gateway.sent if one.url.path.endswith("/validate"))
    assert f"{spans['countersign.decide'].context.span_id:016x}" in validated.headers["traceparent"]


def in_child(gate: Countersign, results: Any) -> None:
    results.put([gate.guard("allowed.tool", {"n": n}, lambda approved: approved["n"]) for n in range(5)])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_of_a_fork_shares_no_connection_with_its_parent(gate: Countersign) -> None:
    gate.guard("allowed.tool", {}, lambda _: None)
    handle = gate.propose("allowed.tool", {}, call_id="fork")
    context = multiprocessing.get_context("fork")
    results: Any = context.Queue()
    children = [context.Process(target=in_child, args=(gate, results)) for _ in range(3)]
    for child in children:
        child.start()
    assert [gate.guard("allowed.tool", {"n": n}, lambda approved: approved["n"]) for n in range(5)] == list(range(5))
    assert [results.get(timeout=30) for _ in children] == [list(range(5))] * 3
    for child in children:
        child.join()
    assert gate.resume(handle, lambda _: "ran") == "ran"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_client_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    hooks: list[Any] = []
    monkeypatch.setattr(os, "register_at_fork", lambda **given: hooks.append(given))
    gone = [weakref.ref(FakeGateway().gate()) for _ in range(3)]
    gc.collect()
    assert ([one() for one in gone], hooks) == ([None] * 3, [])


# the soak runs all calls
THOUSAND = 1000 if "COUNTERSIGN_TEST_SOAK" in os.environ else 200


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="this system shows no memory of a process")
def test_a_thousand_calls_wait_without_a_thread_each(countersign_gateway: Gateway, reviewer: Reviewer) -> None:
    script = Path(__file__).with_name("thousand.py")
    arguments = [str(script), countersign_gateway.url, countersign_gateway.agent_key, str(THOUSAND)]
    with subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stdin is not None
        measured = json.loads(run.stdout.readline())
        run.stdin.write("\n")
        run.stdin.flush()
        run.wait(120)
    assert measured["threads"] <= 2
    assert measured["waiting"] == THOUSAND
    print(f"{measured['megabytes']:.1f} MB for {THOUSAND} calls that wait")
    assert measured["megabytes"] < 60 * max(THOUSAND / 1000, 0.3)
    assert reviewer.pending() == []
