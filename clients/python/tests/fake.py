"""A gateway in memory, with the rules that the client relies on. A test may change each answer."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from countersign_sdk import AsyncCountersign, Countersign

Change = Callable[[str, dict[str, Any], int], "httpx.Response | dict[str, Any] | None"]
NO_CHANGE: Change = lambda _route, _answer, _count: None  # noqa: E731


@dataclass
class Thread:
    status: str
    action_hash: str
    task_id: str
    token: str | None = None
    redeemed: bool = False
    reissued: int = 0
    message: str = "look"
    left: bool = False


@dataclass
class FakeGateway:
    """A gateway in memory.

    first: the decision on a new proposal.
    polls: the number of polls that answer `pending_review` before the approval.
    outage: the number of first polls that fail before the gateway acts on them.
    change: may replace each answer.
    """

    first: str = "pending_review"
    polls: int = 0
    outage: int = 0
    change: Change = NO_CHANGE
    schema: dict[str, Any] = field(default_factory=lambda: {"type": "object"})
    threads: dict[str, Thread] = field(default_factory=dict)
    keys: dict[str, dict[str, Any]] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    reports: list[dict[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    sent: list[httpx.Request] = field(default_factory=list)

    def answer(self, request: httpx.Request) -> httpx.Response:
        route, body = self._route(request)
        self.asked.append(route)
        self.sent.append(request)
        if route == "decisions" and self.asked.count(route) <= self.outage:
            if self.asked.count(route) % 2:
                raise httpx.ReadError("reset")
            return httpx.Response(503, json={})
        headers: dict[str, str] = {}
        if route == "requests" and request.headers["idempotency-key"] in self.keys:
            headers["idempotent-replayed"] = "true"
        status, answer = getattr(self, f"_{route}")(request, body)
        changed = self.change(route, answer, self.asked.count(route))
        if isinstance(changed, httpx.Response):
            return changed
        return httpx.Response(status, json=answer if changed is None else changed, headers=headers)

    def _route(self, request: httpx.Request) -> tuple[str, dict[str, Any]]:
        body = json.loads(request.content) if request.content else {}
        return request.url.path.rstrip("/").rpartition("/")[2], body

    def _resolve(self, _: httpx.Request, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return 200, {"tools": [{"name": name, "input_schema": self.schema} for name in body["tools"]]}

    def _requests(self, request: httpx.Request, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        key = request.headers["idempotency-key"]
        if key not in self.keys:
            task = request.url.path.split("/")[4]
            answer = {"status": self.first, "task_id": task, "action_hash": body["action_hash"], "message": "look"}
            if self.first == "pending_review":
                name = f"thr_{len(self.threads)}"
                self.threads[name] = Thread("pending_review", body["action_hash"], task)
                answer["thread_id"] = name
            self.keys[key] = answer
        return 200, self.keys[key]

    def _decisions(self, request: httpx.Request, _: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        name = request.url.params["thread_id"]
        thread = self.threads[name]
        if thread.status == "pending_review" and self.polls <= 0:
            thread.status = "approved"
        self.polls -= 1
        answer = {
            "status": thread.status,
            "task_id": thread.task_id,
            "thread_id": name,
            "action_hash": thread.action_hash,
            "message": thread.message,
        }
        if thread.status == "approved" and thread.token is None:
            thread.token = answer["approval_token"] = f"cst_{name}"
        return 200, answer

    def _proofs(self, request: httpx.Request, _: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        name = request.url.path.split("/")[4]
        thread = self.threads[name]
        if thread.redeemed:
            return 409, {"code": "proof_used", "detail": "the proof of this thread was redeemed"}
        if thread.status != "approved" or thread.token is None:
            return 409, {"code": "not_pending", "detail": "there is no proof to replace"}
        thread.reissued += 1
        thread.token = f"cst_{name}_{thread.reissued}"
        about = {"task_id": thread.task_id, "thread_id": name, "action_hash": thread.action_hash}
        return 200, {"status": "approved", "approval_token": thread.token, **about}

    def _validate(self, _: httpx.Request, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        thread = self.threads[body["thread_id"]]
        about = {"task_id": thread.task_id, "thread_id": body["thread_id"], "action_hash": thread.action_hash}
        if thread.token != body["signature"] or thread.status != "approved":
            return 200, {"valid": False, "reason": "invalid"}
        if thread.redeemed:
            return 200, {"valid": False, "reason": "used"}
        thread.redeemed = True
        return 200, {"valid": True, **about}

    def _withdrawals(self, request: httpx.Request, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        thread = self.threads[request.url.path.split("/")[4]]
        if thread.redeemed:
            return 409, {"code": "not_pending", "detail": "redeemed"}
        if body.get("grace_seconds"):
            thread.left = True
            return 200, {"status": thread.status}
        thread.status, thread.message = "rejected", "withdrawn: by the agent"
        return 200, {"status": "rejected"}

    def _events(self, _: httpx.Request, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.events.append(body)
        return 201, {}

    def _outcomes(self, _: httpx.Request, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.reports.append(body)
        return 201, {}

    def outcomes(self) -> list[str]:
        return [one["outcome"] for one in self.reports]

    def gate(self, **options: Any) -> Countersign:
        http = httpx.Client(transport=httpx.MockTransport(self.answer))
        return Countersign("http://127.0.0.1:1", "csk_test", task_id="t", http=http, **options)

    def async_gate(
        self, before: Callable[[httpx.Request], Awaitable[None]] | None = None, **options: Any
    ) -> AsyncCountersign:
        async def answer(request: httpx.Request) -> httpx.Response:
            if before is not None:
                await before(request)
            response = self.answer(request)
            if before is not None:
                await before(request)
            return response

        http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
        return AsyncCountersign("http://127.0.0.1:1", "csk_test", task_id="t", http=http, **options)
