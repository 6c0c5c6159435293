"""A reviewer for tests, who votes on held calls and reads their evidence records."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

import httpx

from .gateway import Gateway

_LOOK_SECONDS = 0.03


@dataclass
class Vote:
    """A vote that waits for its call. `wait()` returns the thread's id after the vote is cast."""

    tool: str | None
    decision: str
    comment: str | None
    payload: dict[str, Any] | None = None
    thread_id: str | None = None
    cast: threading.Event = field(default_factory=threading.Event)

    def wait(self, seconds: float = 30.0) -> str:
        """Returns the thread, once the vote is cast.

        :raises AssertionError: no call was held in time
        """
        if not self.cast.wait(seconds) or self.thread_id is None:
            raise AssertionError(f"no call of {self.tool or 'any tool'} was held within {seconds} s")
        return self.thread_id


class Reviewer:
    """Votes in the background, so that a test may wait for its agent.

    Reads only the calls of its own test.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        headers = {"authorization": f"Bearer {gateway.reviewer_key}"}
        self._api = httpx.Client(base_url=f"{gateway.url}/api/review", headers=headers, trust_env=False, timeout=20)
        records = gateway.evidence()
        self._first = records[-1]["number"] if records else 0
        self._lock = threading.Lock()
        self._votes: list[Vote] = []
        self._ended = threading.Event()
        self._voter: threading.Thread | None = None
        self.failure: BaseException | None = None

    def approve(self, tool: str | None = None, comment: str | None = None) -> Vote:
        """Approves the tool's held call, or its next held call."""
        return self._ask_for(Vote(tool, "approve", comment))

    def reject(self, tool: str | None = None, comment: str | None = None) -> Vote:
        """Rejects the tool's held call, or its next held call."""
        return self._ask_for(Vote(tool, "reject", comment))

    def request_changes(self, tool: str | None = None, comment: str = "please change it") -> Vote:
        """Asks for changes of the tool's held call, or of its next held call."""
        return self._ask_for(Vote(tool, "request_changes", comment))

    def decide(self, thread_id: str, decision: str, comment: str | None = None) -> None:
        """Votes now, on the current revision of a thread.

        :raises AssertionError: the gateway refused the vote
        """
        revision = self.thread(thread_id)["revision"]
        body = {"decision": decision, "revision": revision, **({} if comment is None else {"comment": comment})}
        answer = self._api.post(f"/threads/{thread_id}/votes", json=body)
        if answer.is_error:
            raise AssertionError(f"the vote was refused: {answer.text}")

    def thread(self, thread_id: str) -> dict[str, Any]:
        """Returns the thread as a reviewer sees it."""
        answer = self._api.get(f"/threads/{thread_id}")
        answer.raise_for_status()
        return dict(answer.json())

    def pending(self, tool: str | None = None) -> list[dict[str, Any]]:
        """Returns the threads of this test that wait for reviewers, oldest first; at most the last 100."""
        own = {record["thread_id"] for record in self._records("review.pending")}
        params = {"status": "pending_review", "sort": "newest", "limit": "100"}
        answer = self._api.get("/threads", params=params)
        answer.raise_for_status()
        threads = [one for one in reversed(answer.json()["threads"]) if one["thread_id"] in own]
        return [one for one in threads if tool in (None, one["tool_name"])]

    def wait_until_held(self, tool: str | None = None, count: int = 1, seconds: float = 30.0) -> list[dict[str, Any]]:
        """Returns the held calls of the tool, once there are `count` of them.

        :raises AssertionError: they were not held in time
        """
        until = time.monotonic() + seconds
        while True:
            threads = self.pending(tool)
            if len(threads) >= count:
                return threads
            if time.monotonic() > until:
                raise AssertionError(f"{len(threads)} calls of {tool or 'any tool'} are held, not {count}")
            time.sleep(_LOOK_SECONDS)

    def held(self, tool: str | None = None) -> list[str]:
        """Returns the ids of this test's threads, in the order of their opening."""
        found = [record["thread_id"] for record in self._records("review.pending") if tool in (None, record["tool"])]
        return list(dict.fromkeys(found))

    def redeemed(self, tool: str | None = None) -> list[str]:
        """Returns the ids of the threads whose proof was redeemed."""
        return [record["thread_id"] for record in self._records("token.redeemed") if tool in (None, record["tool"])]

    def withdrawn(self) -> list[str]:
        """Returns the ids of the threads that the agent withdrew."""
        return [record["thread_id"] for record in self._records("review.withdrawn")]

    def ran(self, tool: str | None = None) -> list[str]:
        """Returns the tools that ran, whether they failed or not, in order of the reports."""
        return [name for name, outcome in self.outcomes() if outcome != "not_run" and tool in (None, name)]

    def outcomes(self) -> list[tuple[str, str]]:
        """Returns every report of a call: the tool, and `executed`, `failed` or `not_run`."""
        hashes: dict[str, str] = {}
        tasks: dict[str, str] = {}
        reports: list[tuple[str, str]] = []
        for record in self._gateway.evidence(self._first):
            details = record.get("details", {})
            if record["type"] == "decision.allowed":
                hashes[str(details.get("action_hash"))] = tasks[record["task_id"]] = record["tool"]
            elif record["type"] == "call.ended":
                # evidence has no hash of a sensitive call, so the last call of its task counts
                known = hashes.get(str(details.get("action_hash")), tasks.get(record["task_id"], ""))
                reports.append((record.get("tool", known), details["outcome"]))
        return reports

    def assert_held(self, tool: str, times: int = 1) -> None:
        """Asserts how many calls of the tool were held."""
        held = self.held(tool)
        assert len(held) == times, f"{tool} was held {len(held)} times, not {times}"

    def assert_redeemed(self, tool: str, times: int = 1) -> None:
        """Asserts how many proofs of the tool were redeemed."""
        redeemed = self.redeemed(tool)
        assert len(redeemed) == times, f"{len(redeemed)} proofs of {tool} were redeemed, not {times}"

    def assert_ran(self, tool: str, times: int = 1) -> None:
        """Asserts how often the tool ran, as its agent reported."""
        ran = self.ran(tool)
        assert len(ran) == times, f"{tool} ran {len(ran)} times, not {times}"

    def assert_not_ran(self, tool: str | None = None) -> None:
        """Asserts that no run of the tool, or of any tool, was reported."""
        ran = self.ran(tool)
        assert not ran, f"{', '.join(ran)} ran"

    def close(self) -> None:
        """Ends the votes in the background."""
        self._ended.set()
        if self._voter is not None:
            self._voter.join()
        self._api.close()

    def _records(self, kind: str) -> list[dict[str, Any]]:
        return [record for record in self._gateway.evidence(self._first) if record["type"] == kind]

    def _ask_for(self, vote: Vote) -> Vote:
        with self._lock:
            self._votes.append(vote)
            if self._voter is None:
                self._voter = threading.Thread(target=self._keep_voting, daemon=True)
                self._voter.start()
        return vote

    def _keep_voting(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            with self._lock:
                waiting = [vote for vote in self._votes if not vote.cast.is_set()]
            try:
                self._cast(waiting)
            except Exception as error:
                self.failure = error
                return

    def _cast(self, waiting: list[Vote]) -> None:
        if not waiting:
            return
        for thread in self.pending():
            vote = next((one for one in waiting if one.tool in (None, thread["tool_name"])), None)
            if vote is None:
                continue
            waiting.remove(vote)
            self.decide(thread["thread_id"], vote.decision, vote.comment)
            vote.payload = self.thread(thread["thread_id"])["payload"]
            vote.thread_id = thread["thread_id"]
            vote.cast.set()
