"""The pytest plugin. The plugin loads with the package, and starts a gateway when a test needs it.

Set the gateway with `--countersign-gateway`, the ini option `countersign_gateway` or
COUNTERSIGN_TEST_GATEWAY: a directory, an npm package or an address. Set the bundle by overriding
the fixture `countersign_bundle`.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from countersign_sdk import AsyncCountersign, Countersign
    from countersign_sdk.testing import Gateway, Reviewer


def pytest_addoption(parser: pytest.Parser) -> None:
    told = "the gateway of the tests: a directory, an npm package, or an address"
    parser.getgroup("countersign").addoption("--countersign-gateway", default=None, help=told)
    parser.addini("countersign_gateway", told, default="")


@pytest.fixture
def countersign_bundle() -> Mapping[str, str] | str | Path:
    """The bundle of a test: a directory, or a mapping from path to text. Override it to use another bundle."""
    from countersign_sdk.testing import bundle

    return bundle(allow=["allowed.tool"], review=["held.tool"], reject=["rejected.tool"])


@pytest.fixture(scope="session")
def countersign_gateways(request: pytest.FixtureRequest) -> Generator[_Gateways]:
    gateways = _Gateways(_source(request.config))
    yield gateways
    gateways.stop()


@pytest.fixture
def countersign_gateway(countersign_gateways: _Gateways, countersign_bundle: Mapping[str, str] | str | Path) -> Gateway:
    """The gateway with the bundle of this test. Tests with the same bundle share a gateway."""
    return countersign_gateways.with_bundle(countersign_bundle)


@pytest.fixture
def gate(countersign_gateway: Gateway, request: pytest.FixtureRequest) -> Generator[Countersign]:
    """A `Countersign` client of the real gateway."""
    from countersign_sdk import Countersign

    with Countersign(countersign_gateway.url, countersign_gateway.agent_key, max_wait=60.0) as made:
        yield made


@pytest.fixture
def async_gate(countersign_gateway: Gateway) -> AsyncCountersign:
    """An `AsyncCountersign` client of the same gateway."""
    from countersign_sdk import AsyncCountersign

    return AsyncCountersign(countersign_gateway.url, countersign_gateway.agent_key, max_wait=60.0)


@pytest.fixture
def reviewer(countersign_gateway: Gateway) -> Generator[Reviewer]:
    """A reviewer who votes in the background as the test instructs."""
    from countersign_sdk.testing import Reviewer

    made = Reviewer(countersign_gateway)
    yield made
    made.close()
    if made.failure is not None:
        pytest.fail(f"the reviewer could not vote: {made.failure}")


class _Gateways:
    """One gateway for each bundle, started when a test first needs it."""

    def __init__(self, source: str | None) -> None:
        self._source = source
        self._started: dict[str, Gateway] = {}

    def with_bundle(self, files: Mapping[str, str] | str | Path) -> Gateway:
        from countersign_sdk.testing import start_gateway

        if self._source is None:
            pytest.fail(
                "no gateway for the tests: set --countersign-gateway, the ini option countersign_gateway or "
                "COUNTERSIGN_TEST_GATEWAY to a directory, an npm package or an address",
                pytrace=False,
            )
        key = str(sorted(files.items())) if isinstance(files, Mapping) else str(files)
        if key not in self._started:
            self._started[key] = start_gateway(self._source, files)
        return self._started[key]

    def stop(self) -> None:
        for gateway in self._started.values():
            gateway.stop()


def _source(config: pytest.Config) -> str | None:
    given = config.getoption("--countersign-gateway") or config.getini("countersign_gateway")
    return str(given or os.environ.get("COUNTERSIGN_TEST_GATEWAY") or "") or None
