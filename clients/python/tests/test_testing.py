"""Sources of the pytest plugin's gateway: a packed npm package, and a running gateway."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from countersign import Countersign
from countersign.testing import Gateway, GatewayProblem, Reviewer, bundle, start_gateway

# the file of `npm pack`, which test/clients/python.test.ts makes
PACKED = os.environ.get("COUNTERSIGN_TEST_PACKED", "")
TEST = """
def test_a_held_call_runs_once(gate, reviewer):
    reviewer.approve("held.tool")
    assert gate.guard("held.tool", {"order": 7}, lambda approved: approved["order"]) == 7
    reviewer.assert_held("held.tool")
    reviewer.assert_ran("held.tool")
"""


@pytest.mark.skipif(PACKED == "", reason="COUNTERSIGN_TEST_PACKED names no file of `npm pack`")
def test_starts_the_gateway_of_a_packed_npm_package_and_leaves_no_process() -> None:
    gateway = start_gateway(PACKED, bundle(allow=["allowed.tool"]))
    try:
        with Countersign(gateway.url, gateway.agent_key) as gate:
            assert gate.guard("allowed.tool", {"n": 1}, lambda approved: approved["n"]) == 1
        reviewer = Reviewer(gateway)
        assert reviewer.outcomes() == []
        reviewer.close()
    finally:
        gateway.stop()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{gateway.url}/livez", trust_env=False)


def nested(directory: Path, url: str, admin_key: str | None) -> subprocess.CompletedProcess[str]:
    """Runs a user's test against the gateway at this address."""
    path = directory / "test_theirs.py"
    path.write_text(TEST)
    env = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERSIGN_")}
    if admin_key is not None:
        env["COUNTERSIGN_ADMIN_KEY"] = admin_key
    arguments = ["-q", "-p", "no:cacheprovider", "--rootdir", str(directory), "--countersign-gateway", url, str(path)]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        env=env,
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )


def test_uses_a_gateway_that_runs_already(countersign_gateway: Gateway, tmp_path: Path) -> None:
    admin_key = countersign_gateway._admin.headers["authorization"].removeprefix("Bearer ")
    ran = nested(tmp_path, countersign_gateway.url, admin_key)
    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr
    # the gateway still runs
    assert httpx.get(f"{countersign_gateway.url}/livez", trust_env=False).status_code == 200


def test_says_which_key_is_missing_for_a_gateway_that_runs_already(
    countersign_gateway: Gateway, tmp_path: Path
) -> None:
    ran = nested(tmp_path, countersign_gateway.url, None)
    assert "set COUNTERSIGN_ADMIN_KEY to the admin key of" in ran.stdout


@pytest.mark.parametrize("source", ["./nowhere", "./nowhere.tgz", "/nowhere/countersign-0.1.0.tgz"])
def test_names_a_source_that_is_not_there(source: str) -> None:
    with pytest.raises(GatewayProblem, match="is no directory, and no file of `npm pack`"):
        start_gateway(source, bundle())
