"""Sources of the pytest plugin's gateway: a packed npm package, and a running gateway."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from countersign_sdk import Countersign
from countersign_sdk.testing import Gateway, GatewayProblem, Reviewer, bundle, start_gateway

# the file that test/clients/python.test.ts creates with `npm pack`
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


UNENDING = """
import os, time

def test_that_does_not_end(countersign_gateway):
    with open("started.new", "w") as file:
        file.write(f"{countersign_gateway.url} {countersign_gateway._process.pid} {countersign_gateway._directory}")
    os.rename("started.new", "started")
    time.sleep(600)
"""


def exists(group: int) -> bool:
    """Returns whether the process group has a process."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition was not met in time"
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_the_gateway_ends_with_a_pytest_that_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "test_theirs.py").write_text(UNENDING)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    pytest_process = subprocess.Popen([*command, "test_theirs.py"], cwd=tmp_path, stdout=subprocess.DEVNULL)
    started = tmp_path / "started"
    until(lambda: started.exists() or pytest_process.poll() is not None)
    url, group, directory = started.read_text().split(" ")
    assert httpx.get(f"{url}/livez", trust_env=False).status_code == 200
    assert exists(int(group))
    pytest_process.send_signal(number)
    # pytest still handles the signal itself
    assert pytest_process.wait(60) == (2 if number == signal.SIGINT else -number)
    until(lambda: not exists(int(group)))
    assert not Path(directory).exists()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/livez", trust_env=False)


def test_says_what_a_gateway_said_that_ends_at_once(tmp_path: Path) -> None:
    program = tmp_path / "dist/bin/main.js"
    program.parent.mkdir(parents=True)
    program.write_text("console.log('the port is taken'); process.exitCode = 3")
    with pytest.raises(GatewayProblem) as problem:
        start_gateway(str(tmp_path), bundle())
    assert str(problem.value) == "the gateway did not start:\nthe port is taken\n"


def test_names_a_program_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(GatewayProblem, match="`node` is not on the PATH: install Node"):
        start_gateway(os.environ["COUNTERSIGN_TEST_GATEWAY"], bundle())


@pytest.mark.parametrize("source", ["./nowhere", "./nowhere.tgz", "/nowhere/countersign-0.1.0.tgz"])
def test_names_a_source_that_is_not_there(source: str) -> None:
    with pytest.raises(GatewayProblem, match="is no directory, and no file of `npm pack`"):
        start_gateway(source, bundle())
