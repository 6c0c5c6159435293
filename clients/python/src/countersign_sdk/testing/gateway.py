"""Starts a real gateway from a checkout, a package or npm, or uses a gateway that runs already."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import httpx

_START_SECONDS = 60.0
# longer, because npm first installs the package
_INSTALL_SECONDS = 300.0
_STOP_SECONDS = 15.0
_KEEPER = str(Path(__file__).with_name("_keeper.py"))
TENANT, AGENT, REVIEWER = "test", "agent", "reviewer"


class GatewayProblem(Exception):
    """The test gateway did not start, load its bundle or issue keys."""


class Gateway:
    """A gateway, with an agent key and a reviewer key that it issued for the tests."""

    def __init__(self, url: str, admin_key: str, names: tuple[str, str, str] = (TENANT, AGENT, REVIEWER)) -> None:
        self.url = url
        self.tenant, self.agent, self.reviewer = names
        self._admin = httpx.Client(
            base_url=url, headers={"authorization": f"Bearer {admin_key}"}, trust_env=False, timeout=20
        )
        self.agent_key = self._issue("agents", self.agent)
        self.reviewer_key = self._issue("reviewers", self.reviewer)

    def _issue(self, kind: str, name: str) -> str:
        path = f"/api/admin/{kind}/{quote(self.tenant)}/{quote(name)}/key"
        answer = self._admin.post(path, json={})
        if answer.is_error:
            self._admin.close()
            raise GatewayProblem(f"no key for {self.tenant}/{name}: {answer.text}")
        return str(answer.json()["api_key"])

    def evidence(self, after: int = 0) -> list[dict[str, Any]]:
        """Returns the tenant's evidence records, oldest first. ``details`` also has the disclosed members.

        after: the number of a record; only later records are returned.
        """
        found: list[dict[str, Any]] = []
        while True:
            last = found[-1]["number"] if found else after
            params = {"tenant": self.tenant, "after": str(last), "disclosures": "true"}
            answer = self._admin.get("/api/admin/evidence", params=params)
            answer.raise_for_status()
            lines = [json.loads(line) for line in answer.text.splitlines() if line]
            if not lines:
                return found
            found += [_record(line) for line in lines]

    def stop(self) -> None:
        """Ends the connections. Stops a gateway that `start_gateway` started, and deletes its store."""
        self._admin.close()


def _record(line: dict[str, Any]) -> dict[str, Any]:
    record = line["record"]
    details = {**record.get("details", {}), **line.get("disclosures", {}).get("members", {})}
    return {"number": line["number"], **record, "details": details}


class _Started(Gateway):
    def __init__(self, process: subprocess.Popen[str], url: str, admin_key: str, directory: str) -> None:
        self._process = process
        # reads the log to its end, so that the gateway never blocks
        self._reader = threading.Thread(target=_read_to_end, args=(process,), daemon=True)
        self._reader.start()
        self._directory = directory
        super().__init__(url, admin_key)

    def stop(self) -> None:
        super().stop()
        _end(self._process, self._reader)
        shutil.rmtree(self._directory, ignore_errors=True)


def start_gateway(source: str, files: Mapping[str, str] | str | Path) -> Gateway:
    """Starts a gateway, or uses a gateway that is already running.

    source: one of

    - a directory: a built checkout, an installed package, or a parent of node_modules;
    - the file that `npm pack` writes;
    - an npm package, such as `countersign@0.1.0`;
    - the address of a gateway, with its admin key in COUNTERSIGN_ADMIN_KEY.

    files: the bundle, as a directory or as a mapping from path to text. A running gateway keeps its own bundle.

    :raises GatewayProblem: the gateway does not start, load the bundle or issue keys
    """
    if source.startswith(("http://", "https://")):
        return _running(source)
    directory = tempfile.mkdtemp(prefix="countersign-test-")
    try:
        policies = _written(files, Path(directory) / "policies")
        return _start(_command(source), policies, directory)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def _running(url: str) -> Gateway:
    names = (
        os.environ.get("COUNTERSIGN_TEST_TENANT", TENANT),
        os.environ.get("COUNTERSIGN_TEST_AGENT", AGENT),
        os.environ.get("COUNTERSIGN_TEST_REVIEWER", REVIEWER),
    )
    admin_key = os.environ.get("COUNTERSIGN_ADMIN_KEY")
    if not admin_key:
        raise GatewayProblem(f"set COUNTERSIGN_ADMIN_KEY to the admin key of {url}: the tests issue their own keys")
    return Gateway(url.rstrip("/"), admin_key, names)


def _written(files: Mapping[str, str] | str | Path, policies: Path) -> Path:
    if not isinstance(files, Mapping):
        return Path(files).resolve()
    for name, text in files.items():
        path = policies / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return policies


def _command(source: str) -> list[str]:
    root = Path(source)
    for program in (root / "dist/bin/main.js", root / "node_modules/countersign/dist/bin/main.js"):
        if program.is_file():
            return ["node", str(program.resolve())]
    if root.is_dir():
        raise GatewayProblem(f"{source} holds no built gateway: run `npm ci && npm run build` there")
    if root.is_file() and root.suffix == ".tgz":
        source = str(root.resolve())
    elif "/" in source and not source.startswith("@"):
        raise GatewayProblem(f"{source} is no directory, and no file of `npm pack`")
    return ["npm", "exec", "--yes", f"--package={source}", "--", "countersign"]


def _start(command: list[str], policies: Path, directory: str) -> Gateway:
    admin_key = secrets.token_urlsafe(32)
    arguments = ["serve", "--port", "0", "--metrics-port", "0", "--store", _store(directory)]
    own = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERSIGN_")}
    if shutil.which(command[0]) is None:
        raise GatewayProblem(f"`{command[0]}` is not on the PATH: install Node 20.19 or newer, which brings it")
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", _KEEPER, directory, *command, *arguments, "--policies", str(policies)],
        env={**own, "COUNTERSIGN_ADMIN_KEY": admin_key},
        # the end of this pipe stops the gateway, however this process ends
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # one signal reaches the keeper, npm and the gateway
        start_new_session=True,
    )
    try:
        seconds = _INSTALL_SECONDS if command[0] == "npm" else _START_SECONDS
        return _Started(process, _address(process, policies, seconds), admin_key, directory)
    except BaseException:
        _end(process)
        assert process.stdout is not None
        process.stdout.close()
        raise


_databases = itertools.count()


def _store(directory: str) -> str:
    """Returns the store of a gateway: files, or its own database in COUNTERSIGN_TEST_STORE.

    That variable contains the address of a Redis server.
    """
    redis = os.environ.get("COUNTERSIGN_TEST_STORE")
    return f"file:{directory}/data" if not redis else f"{redis}/{next(_databases)}"


def _address(process: subprocess.Popen[str], policies: Path, seconds: float) -> str:
    """Reads the log until the gateway listens, and returns its address.

    :raises GatewayProblem: the gateway exits, does not load the bundle, or is too slow (`seconds`)
    """
    timer = threading.Timer(seconds, _signal, (process, getattr(signal, "SIGKILL", signal.SIGTERM)))
    timer.daemon = True
    timer.start()
    said: list[str] = []
    assert process.stdout is not None
    for line in process.stdout:
        said.append(line)
        entry = _entry(line)
        if entry.get("msg") == "listening":
            timer.cancel()
            _check_loaded(said, policies)
            return str(entry["url"])
    timer.cancel()
    raise GatewayProblem(f"the gateway did not start:\n{''.join(said[-20:])}")


def _read_to_end(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    with process.stdout as log:
        for _ in log:
            pass


def _check_loaded(said: list[str], policies: Path) -> None:
    if not any(_entry(line).get("msg") == "policies loaded" for line in said):
        raise GatewayProblem(f"the bundle in {policies} does not load:\n{''.join(said)}")


def _entry(line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}


def _end(process: subprocess.Popen[str], reader: threading.Thread | None = None) -> None:
    """Stops the process and its children. The log ends when the last of these processes exits."""
    _signal(process, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_STOP_SECONDS)
    if reader is not None:
        reader.join(_STOP_SECONDS)
    _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))
    process.wait()
    assert process.stdin is not None
    process.stdin.close()


def _signal(process: subprocess.Popen[str], number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)
        elif process.stdin is not None:
            # the keeper stops the gateway
            process.stdin.close()
