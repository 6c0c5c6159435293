"""Requests to the agent API, and readers of their answers. No I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn, cast
from urllib.parse import quote, urlencode, urlsplit
from uuid import uuid4

from ._canonical import canonical
from ._json import Json, JsonObject
from .errors import GatewayRefused, GatewayUnavailable, InvalidPayload, NotExecuted, UnexpectedAnswer

# in bytes; the contracts of all tools are far smaller
LARGEST_ANSWER = 32 * 1024 * 1024
LONGEST_WAIT_SECONDS = 55
# a proxy answers 502 and 504 while an instance starts or stops
_RETRIED = (429, 502, 503, 504)
# problems of the call itself: it does not match its contract, is invalid JSON or is too large
_OF_THE_CALL = ("invalid_policy_input", "invalid_json", "body_too_large")
# keys and proofs, removed from messages: a proxy may repeat them in a refusal, and messages reach logs and models
_SECRET = re.compile(r"\bcs[krt]_[\w-]{40,}")


@dataclass(frozen=True)
class Request:
    """A request to the agent API.

    wait: seconds that the gateway may hold the request.
    expected: the status of a success.
    """

    method: str
    path: str
    body: JsonObject | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    wait: int = 0
    expected: int = 200

    @property
    def content(self) -> bytes | None:
        return None if self.body is None else canonical(self.body).encode()


class Answer(NamedTuple):
    """An answer of the gateway.

    headers: names in lower case.
    text: at most LARGEST_ANSWER bytes.
    """

    status: int
    headers: Mapping[str, str]
    text: bytes

    @property
    def replayed(self) -> bool:
        """Whether the gateway gave this answer before."""
        return "idempotent-replayed" in self.headers

    @property
    def retryable(self) -> bool:
        return self.status in _RETRIED

    @property
    def retry_after(self) -> float | None:
        asked = self.headers.get("retry-after", "")
        return float(asked) if re.fullmatch("[0-9]{1,9}", asked) else None


class Unreachable(Exception):
    """No complete answer arrived in time. The gateway may still have acted."""


class Untrusted(Exception):
    """TLS failed before a request was sent, for example because the client does not trust the certificate."""


def base_of(url: str) -> str:
    """Returns the address of a gateway without a final slash.

    :raises ValueError: for another kind of URL, or for a URL with credentials, which messages would repeat
    """
    parts = urlsplit(url.strip())
    strange = parts.username or parts.password or parts.query or parts.fragment
    if parts.scheme not in ("http", "https") or not parts.hostname or strange or parts.port == 0:
        raise ValueError("url must be the http or https address of a gateway, without credentials or query")
    return url.strip().rstrip("/")


def key_of(key: str) -> str:
    """Returns the key without surrounding spaces.

    :raises ValueError: for characters that do not fit in a header
    """
    trimmed = key.strip()
    if not re.fullmatch("[!-~]+", trimmed):
        raise ValueError("key must be the key of an agent (csk_...), in visible ASCII characters")
    return trimmed


def submission(task_id: str, body: JsonObject, action_hash: str) -> Request:
    headers = {"idempotency-key": action_hash}
    return Request("POST", f"{_task(task_id)}/requests", {**body, "action_hash": action_hash}, headers)


def reading(thread_id: str, wait: int) -> Request:
    headers = {"prefer": f"wait={wait}"} if wait > 0 else {}
    return Request("GET", f"/api/agent/decisions?{urlencode({'thread_id': thread_id})}", None, headers, wait)


def redemption(body: JsonObject) -> Request:
    return Request("POST", "/api/agent/approvals/validate", body)


def withdrawal(thread_id: str, reason: str | None, grace: int | None = None) -> Request:
    """Returns the request that withdraws a thread.

    grace: seconds after which the gateway withdraws the thread, unless its agent reads the decision before.
    """
    members = {"reason": reason, "grace_seconds": grace}
    body: JsonObject = {name: value for name, value in members.items() if value is not None}
    return Request("POST", f"/api/agent/threads/{quote(thread_id, safe='')}/withdrawals", body)


def reissue(thread_id: str) -> Request:
    return Request("POST", f"/api/agent/threads/{quote(thread_id, safe='')}/proofs")


def recording(task_id: str, event: JsonObject) -> Request:
    return Request("POST", f"{_task(task_id)}/events", event, expected=201)


def outcome_of(
    task_id: str, action_hash: str, thread_id: str | None, outcome: str, duration_ms: int | None = None
) -> Request:
    body: JsonObject = {"action_hash": action_hash, "outcome": outcome}
    if thread_id is not None:
        body["thread_id"] = thread_id
    else:
        # a call that policy allowed several times has the same hash
        body["run"] = uuid4().hex
    if duration_ms is not None:
        body["duration_ms"] = duration_ms
    return Request("POST", f"{_task(task_id)}/outcomes", body, expected=201)


def resolution(*tools: str) -> Request:
    return Request("POST", "/api/agent/tools/resolve", {"tools": [*tools]})


def _task(task_id: str) -> str:
    return f"/api/agent/tasks/{quote(task_id, safe='')}"


def members_of(answer: Answer, expected: int) -> JsonObject:
    """Returns the members of an answer with the expected status.

    :raises NotExecuted: for a refusal, or for an answer that is not from the agent API
    """
    members = _object(answer.text)
    # a repeated report is 200 in place of 201
    if answer.status != expected and (expected, answer.status) != (201, 200):
        refuse(answer.status, members)
    if members is None:
        raise _unreadable(answer.status)
    return members


def refuse(status: int, problem: JsonObject | None) -> NoReturn:
    """Raises the error of a problem (RFC 9457). Checks the type of each member that it reads."""
    facts = problem or {}
    code, detail = facts.get("code"), facts.get("detail", "")
    if not isinstance(code, str) or not isinstance(detail, str):
        raise _unreadable(status)
    places = _complaints(facts.get("errors"))
    told = _SECRET.sub("[secret]", ": ".join([detail or code, *(["; ".join(map(" ".join, places))] if places else [])]))
    if code in _OF_THE_CALL:
        raise InvalidPayload(told, places=[place for place, _ in places])
    if status in _RETRIED or status >= 500:
        raise GatewayUnavailable(told)
    refused = GatewayRefused(told)
    refused.problem = code
    raise refused


def _complaints(errors: Json) -> list[tuple[str, str]]:
    found = [one for one in errors if isinstance(one, dict)] if isinstance(errors, list) else []
    return [(str(one.get("pointer")), str(one.get("message"))) for one in found]


def _unreadable(status: int) -> NotExecuted:
    message = (
        f"the response with status {status} is not an answer of the agent API:"
        " something else may answer at this address, or between"
    )
    return GatewayUnavailable(message) if status in _RETRIED else UnexpectedAnswer(message)


def _object(text: bytes) -> JsonObject | None:
    try:
        value = json.loads(text.decode())
    except (ValueError, RecursionError):
        return None
    return cast("JsonObject", value) if isinstance(value, dict) else None
