"""Runs of tools, and their reports: generators, wrapped coroutines, lost reports, closed clients."""

from __future__ import annotations

import asyncio
import decimal
import functools
import importlib.util
import inspect
import logging
import typing
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from countersign_sdk import AsyncCountersign, GatewayUnavailable, NotExecuted
from countersign_sdk._adapter import Governed
from fake import FakeGateway

if TYPE_CHECKING:
    from typing_extensions import assert_type
else:

    def assert_type(value: Any, _: Any) -> Any:
        return value


def yields(n: int = 1) -> Generator[int]:
    yield n


async def yields_later(n: int = 1) -> AsyncGenerator[int]:
    yield n


async def later(n: int = 1) -> int:
    await asyncio.sleep(0)
    return n


class Yielding:
    """A function object whose call returns a generator."""

    def __call__(self, n: int = 1) -> Generator[int]:
        yield n


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Hides from `inspect` what the function is, as many decorators do."""

    def call(n: int = 1) -> Any:
        return function(n)

    return call


@pytest.mark.parametrize("function", [yields, yields_later, functools.partial(yields, 2)])
def test_a_generator_function_is_refused_before_anything_is_proposed(function: Callable[..., Any]) -> None:
    gateway = FakeGateway()
    gate, async_gate = gateway.gate(), gateway.async_gate()
    handle = gate.propose("pay", {})
    asked = list(gateway.asked)
    with pytest.raises(TypeError, match=r"yields its results|asynchronous"):
        gate.tool("pay")(function)
    with pytest.raises(TypeError, match="yields its results"):
        async_gate.tool("pay")(function)
    with pytest.raises(TypeError, match=r"yields its results|asynchronous"):
        gate.guard("pay", {}, function)
    with pytest.raises(TypeError, match=r"yields its results|asynchronous"):
        gate.resume(handle, function)
    with pytest.raises(TypeError, match="yields its results"):
        asyncio.run(async_gate.guard("pay", {}, function))
    with pytest.raises(TypeError, match="yields its results"):
        asyncio.run(async_gate.resume(handle, function))
    assert gateway.asked == asked


@pytest.mark.parametrize("function", [later, functools.partial(later, 2)])
def test_an_async_function_is_refused_by_the_synchronous_client(function: Callable[..., Any]) -> None:
    gateway = FakeGateway()
    with pytest.raises(TypeError, match="use AsyncCountersign"):
        gateway.gate().tool("pay")(function)
    with pytest.raises(TypeError, match="use AsyncCountersign"):
        gateway.gate().guard("pay", {}, function)
    assert gateway.asked == []


@pytest.mark.parametrize("function", [yields, yields_later, Yielding()])
@pytest.mark.parametrize("decorated", [False, True])
def test_a_hidden_generator_is_never_reported_as_completed(function: Callable[..., Any], decorated: bool) -> None:
    gateway = FakeGateway()
    gate, async_gate = gateway.gate(), gateway.async_gate()
    hidden = wrapped(function)
    calls: list[Callable[[], object]] = [
        lambda: gate.tool("pay")(hidden)(1) if decorated else gate.guard("pay", {}, lambda _: hidden()),
        lambda: asyncio.run(
            async_gate.tool("pay")(hidden)(1) if decorated else async_gate.guard("pay", {}, lambda _: hidden())
        ),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="not run yet"):
            call()
    assert gateway.outcomes() == ["failed", "failed"]


def test_a_coroutine_behind_a_synchronous_wrapper_runs() -> None:
    gateway = FakeGateway()
    gate = gateway.async_gate()

    async def twice(approved: dict[str, int]) -> Any:
        return later(approved["n"])

    async def play() -> list[object]:
        return [await gate.tool("pay")(wrapped(later))(3), await gate.guard("pay", {"n": 4}, twice)]

    assert asyncio.run(play()) == [3, 4]
    assert gateway.outcomes() == ["executed"] * 2


def test_a_decorated_function_keeps_its_types() -> None:
    gate = FakeGateway(first="allow").async_gate()

    @gate.tool("pay")
    async def slow(n: int) -> str:
        return str(n)

    @gate.tool("pay")
    def plain(n: int, *, to: str = "") -> list[int]:
        return [n, len(to)]

    async def play() -> None:
        # mypy reads the types, and the test runs the functions
        assert_type(await slow(1), str)
        assert_type(await plain(2, to="abc"), list[int])
        assert (await slow(1), await plain(2, to="abc")) == ("1", [2, 3])
        with pytest.raises(TypeError):
            await slow("1", 2)  # type: ignore[call-arg, arg-type]

    asyncio.run(play())


def test_a_decorated_function_looks_like_its_function_and_shows_no_other() -> None:
    def pay(n: int, *, to: decimal.Decimal | None = None) -> Unknown:  # type: ignore # noqa: F821
        """Pays."""

    for client in (FakeGateway().gate(), FakeGateway().async_gate()):
        guarded: Any = client.tool("pay")(pay)
        assert (guarded.__name__, guarded.__doc__, guarded.__module__) == ("pay", "Pays.", __name__)
        types = {"n": int, "to": decimal.Decimal | None}
        assert {name: one.annotation for name, one in inspect.signature(guarded).parameters.items()} == types
        assert typing.get_type_hints(guarded) == types
        assert not hasattr(guarded, "__wrapped__")


def test_a_tool_that_smolagents_saves_never_runs_without_the_gateway(tmp_path: Path) -> None:
    smolagents = pytest.importorskip("smolagents")
    module = tmp_path / "shop.py"
    module.write_text(
        "def refund(order: int) -> str:\n"
        "    'Refunds an order.\\n\\nArgs:\\n    order: the order\\n'\n"
        "    return 'it ran'\n"
    )
    spec: Any = importlib.util.spec_from_file_location("shop", module)
    shop = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(shop)
    plain = smolagents.tool(shop.refund)
    plain.save(tmp_path / "plain")
    assert smolagents.Tool.from_code((tmp_path / "plain/tool.py").read_text())(order=1) == "it ran"
    guarded = smolagents.tool(FakeGateway(first="reject").gate().tool("orders.refund")(shop.refund))
    with pytest.raises(NotExecuted):
        guarded(order=1)
    # the source of a wrapper does not run elsewhere, so nothing is saved
    with pytest.raises(ValueError, match="undefined"):
        guarded.save(tmp_path / "guarded")


def test_a_block_gives_its_options_to_decorated_functions() -> None:
    gateway = FakeGateway(first="allow")
    gate, other, async_gate = gateway.gate(), gateway.gate(), gateway.async_gate()
    pay = gate.tool("pay", task_id="own", workflow_name="w")(lambda n: n)
    later_pay = async_gate.tool("pay", task_id="own")(later)

    def tasks() -> list[str]:
        return [one.url.path.split("/")[4] for one in gateway.sent if one.url.path.endswith("/requests")]

    async def request(name: str) -> None:
        with async_gate.call(task_id=name):
            await later_pay(1)

    async def requests() -> None:
        await asyncio.gather(request("a"), request("b"))

    with gate.call(task_id="outer", call_id="c"):
        with gate.call(task_id="inner"):
            pay(1)
        pay(1)
        other.tool("pay")(lambda n: n)(1)
    pay(1)
    assert tasks() == ["inner", "outer", "t", "own"]
    asyncio.run(requests())
    assert sorted(tasks()[4:]) == ["a", "b"]
    for client in (gate, async_gate):
        with pytest.raises(TypeError, match="colour"), client.call(colour="red"):  # type: ignore[call-arg]
            pass


def test_a_method_is_refused_and_a_bound_method_is_guarded() -> None:
    gateway = FakeGateway(first="allow")
    gate, async_gate = gateway.gate(), gateway.async_gate()

    class Bank:
        def pay(self, n: int) -> int:
            return n

    for client in (gate, async_gate):
        with pytest.raises(TypeError, match=r"pay is a method.*bank\.transfer"):
            client.tool("pay")(Bank.pay)
    assert gate.tool("pay")(Bank().pay)(3) == 3
    assert asyncio.run(async_gate.tool("pay")(Bank().pay)(4)) == 4


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_outage_keeps_the_review_that_a_call_revises(asynchronous: bool) -> None:
    gateway = FakeGateway()
    handle = gateway.gate().propose("pay", {"n": 1})
    gateway.change = lambda route, _, count: httpx.Response(503, json={}) if route == "events" and count == 1 else None
    governed = Governed()
    governed.reviews["t", "pay"] = (handle, {"n": 1})

    def propose(n: int) -> Any:
        if not asynchronous:
            return governed.propose(gateway.gate(), "pay", {"n": n}, "c", "t")
        return asyncio.run(governed.apropose(gateway.async_gate(), "pay", {"n": n}, "c", "t"))

    with pytest.raises(GatewayUnavailable):
        propose(2)
    assert propose(2)["thread_id"] == handle.get("thread_id")
    assert (len(gateway.threads), governed.reviews) == (1, {})
    # a thread that has ended cannot be revised, so the call opens another one
    governed.reviews["t", "pay"] = (handle, {"n": 1})
    gone = httpx.Response(409, json={"code": "not_pending", "detail": "ended"})
    gateway.change = lambda route, *_: gone if route == "events" else None
    assert propose(3)["thread_id"] == "thr_1"
    assert governed.reviews == {}


class Broken(FakeGateway):
    """A gateway whose client cannot send a report, as a closed client cannot."""

    def _outcomes(self, _: httpx.Request, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        raise RuntimeError("Cannot send a request, as the client has been closed.")


def test_a_report_that_fails_changes_no_result_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    gateway = Broken()
    assert gateway.gate().guard("pay", {}, lambda _: "ran") == "ran"
    assert asyncio.run(gateway.async_gate().guard("pay", {}, lambda _: "ran")) == "ran"
    warnings = [one for one in caplog.records if one.name == "countersign" and one.levelno == logging.WARNING]
    assert ["the report of pay (task t, thread thr_" in one.getMessage() for one in warnings] == [True, True]


def test_a_report_that_fails_hides_no_error_of_the_tool() -> None:
    def fails(_: object) -> None:
        raise LookupError("no funds")

    with pytest.raises(LookupError, match="no funds"):
        Broken().gate().guard("pay", {}, fails)
    with pytest.raises(LookupError, match="no funds"):
        asyncio.run(Broken().async_gate().guard("pay", {}, fails))


async def guarded(gate: AsyncCountersign, run: Callable[[Any], Awaitable[str]]) -> str:
    return await gate.guard("pay", {}, run)


def test_a_closed_client_waits_for_the_tools_that_run() -> None:
    gateway = FakeGateway()

    async def play() -> object:
        gate = gateway.async_gate()
        started, go_on = asyncio.Event(), asyncio.Event()

        async def run(_: object) -> str:
            started.set()
            await go_on.wait()
            return "ran"

        call: asyncio.Future[str] = asyncio.ensure_future(guarded(gate, run))
        await started.wait()
        closing = asyncio.ensure_future(gate.aclose())
        for _ in range(5):
            await asyncio.sleep(0)
        assert not closing.done()
        go_on.set()
        await closing
        # the report arrived before the client closed
        assert gateway.outcomes() == ["executed"]
        return await call

    assert asyncio.run(play()) == "ran"


def test_a_tool_may_close_its_own_client() -> None:
    gateway = FakeGateway()

    async def play() -> object:
        gate = gateway.async_gate()

        async def run(_: object) -> str:
            await gate.aclose()
            return "ran"

        return await asyncio.wait_for(guarded(gate, run), 20)

    assert asyncio.run(play()) == "ran"
