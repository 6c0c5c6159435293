"""The agent's side of Countersign in one file: Python 3.9 or newer, standard library only.

    from countersign import Gate, NotExecuted

    gate = Gate("http://127.0.0.1:8787", os.environ["COUNTERSIGN_AGENT_KEY"])
    try:
        result = gate.guard("ledger.transfer", payload, lambda approved: ledger.transfer(**approved))
    except NotExecuted as refused:
        return str(refused)  # fit for the model

A call runs only when the gateway allowed it, or when people approved it and its one-time proof was redeemed just before
(docs/agent-api.md). Everything else, every error included, is NotExecuted, and nothing ran.
"""

import hashlib
import http.client
import inspect
import itertools
import json
import re
import socket
import threading
import time
import urllib.parse
import uuid

__all__ = ["Gate", "NotExecuted"]

_POLL_SECONDS = 50
_TRIES = 4
_RETRIED = (429, 502, 503, 504)
_LONGEST_PAUSE = 30.0
_LONGEST_OWN_PAUSE = 5.0
_LEAST_PAUSE = 1.0
_MOST_BYTES = 4 * 1024 * 1024
_MOST_REPLAYED = 1000
_NO_PROOF = (
    "approved, but without a proof: an earlier run of this call, another reader, or an answer that was lost, had it"
    ", or this agent gets none (signed_approvals: false)"
)
# what the call itself has to change: it does not fit its contract, holds what the gateway's JSON does not, or is too large
_OF_THE_CALL = ("invalid_policy_input", "invalid_json", "body_too_large")
_SECRET = re.compile(r"\bcs[krt]_[\w-]{40,}")
_CLAIMS = ("workflow_name", "task_label", "subject", "preview", "risk_level", "summary", "images")


class NotExecuted(Exception):
    """The call did not run. `outcome` is one of rejected, changes_requested, timeout, aborted, invalid_payload,
    no_proof, proof_refused, gateway_error and unknown_status; the message says why, and is fit for the model."""

    def __init__(self, outcome, message, thread_id=None):
        super().__init__(message)
        self.outcome = outcome
        self.thread_id = thread_id


class Gate:
    """What an agent runtime wraps around every governed tool. One gate for one piece of work; may be shared by threads.

    url: the gateway's address, without credentials or query. key: the agent's key, `csk_...`, a server-side secret.
    task_id: groups the calls, a random one when absent. max_wait: longest time to wait for people, seconds.
    timeout: longest time for one request beyond a wait that it asked for, seconds. ssl_context: for an https address.
    """

    def __init__(self, url, key, task_id=None, max_wait=900.0, timeout=10.0, ssl_context=None):
        parts = urllib.parse.urlsplit(url.strip())
        strange = parts.username or parts.password or parts.query or parts.fragment
        if parts.scheme not in ("http", "https") or not parts.hostname or strange:
            raise ValueError("url must be the http or https address of a gateway, without credentials or query")
        key = key.strip()
        if not key or not all("!" <= char <= "~" for char in key):
            raise ValueError("key must be the key of an agent (csk_...), in visible ASCII characters")
        # never left out: http.client would take the last part of an IPv6 address for it
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._parts, self._key, self._ssl = parts, key, ssl_context
        self._max_wait, self._timeout = max_wait, timeout
        self.task_id = task_id or f"task-{uuid.uuid4()}"

    def guard(self, tool, payload, execute, **options):
        """Runs `execute(approved)` once, or raises NotExecuted. `approved` is a copy of the payload as it was submitted.

        payload: a dict of what JSON has. Options: call_id (the runtime's id of this call: the same id, tool and payload
        go on with the same thread for 24 hours; what policy allows at once is judged again each time), max_wait, on_pending(decision),
        and what the agent says of itself: workflow_name, task_label, subject, preview, risk_level, summary, images.
        What `execute` raises passes through; the gateway is told that it failed. A NotExecuted of another call is the cause of a
        RuntimeError then, because this call ran. It has to run the call itself: what only begins when somebody awaits or reads it is a TypeError.
        """
        approved, thread_id = self._permitted(tool, payload, **options)
        try:
            result = execute(approved)
            if inspect.isawaitable(result) or inspect.isgenerator(result) or inspect.isasyncgen(result):
                raise TypeError("execute returned what has not run yet: it has to run the call itself")
        except BaseException as error:
            self._report("tool.execution.failed", f"{tool} failed", tool, thread_id)
            if isinstance(error, NotExecuted):
                raise RuntimeError(f"{tool} ran, and failed: {error}") from error
            raise
        self._report("tool.execution.completed", f"{tool} completed", tool, thread_id)
        return result

    def permit(self, tool, payload, **options):
        """The same for runtimes that execute elsewhere: returns what may run now, once, and reports nothing."""
        return self._permitted(tool, payload, **options)[0]

    def _permitted(self, tool, payload, call_id=None, max_wait=None, on_pending=None, **claims):
        unknown = set(claims) - set(_CLAIMS)
        if unknown:
            raise TypeError(f"unknown options: {', '.join(sorted(unknown))}")
        try:
            return self._decided(tool, payload, call_id, max_wait, on_pending, claims)
        except NotExecuted:
            raise
        except Exception as error:  # an answer of a shape that nobody thought of is no permission
            raise NotExecuted("gateway_error", f"{type(error).__name__}: {error}") from error

    def _decided(self, tool, payload, call_id, max_wait, on_pending, claims):
        payload = _copy(payload)
        action = {"v": 1, "task_id": self.task_id, "tool_name": tool, "payload": payload}
        request = {**_copy(claims), "tool_name": tool, "payload": payload}
        nonce = {"nonce": call_id or str(uuid.uuid4())}
        decision, action_hash = self._submit({**action, **nonce}, request, comes_again=bool(call_id))
        deadline = time.monotonic() + (self._max_wait if max_wait is None else max_wait)
        if decision.get("status") == "pending_review":
            thread_id = decision.get("thread_id")
            if not isinstance(thread_id, str):
                raise NotExecuted("unknown_status", "a pending decision without a thread")
            _tell(on_pending, decision, thread_id)
            decision = self._wait(thread_id, deadline)
        thread_id, status = decision.get("thread_id"), decision.get("status")
        if status not in ("allow", "approved"):
            raise _refused(decision)
        if decision.get("action_hash") != action_hash or decision.get("task_id") != self.task_id:
            raise NotExecuted("unknown_status", "the decision is about another action", thread_id)
        if status == "approved":
            self._redeem(decision, payload, action_hash)
        return payload, thread_id

    def _submit(self, action, request, comes_again):
        """An allow is for one run: what the gateway gave before is asked for anew under the next number, where others may know the id.

        Whether the first answer was lost on its way here or used by somebody else nobody can tell: it rather counts twice than runs twice.
        """
        task = urllib.parse.quote(self.task_id, safe="")
        path = f"/api/agent/tasks/{task}/requests"
        for again in range(_MOST_REPLAYED + 1):
            action_hash = _hash(action if again == 0 else {**action, "again": again})
            headers = {"idempotency-key": action_hash}
            decision, replayed = self._attempt("POST", path, {**request, "action_hash": action_hash}, headers)
            if decision.get("status") != "allow" or not (replayed and comes_again):
                return decision, action_hash
        raise NotExecuted("gateway_error", "allowed, but every answer is said to have been given before")

    def _wait(self, thread_id, deadline):
        query = urllib.parse.urlencode({"thread_id": thread_id})
        while True:
            left = deadline - time.monotonic()
            if not left > 0:
                raise NotExecuted("timeout", "nobody decided in the time the agent may wait", thread_id)
            seconds = max(1, int(min(_POLL_SECONDS, left)))
            asked = time.monotonic()
            headers = {"prefer": f"wait={seconds}"}
            path = f"/api/agent/decisions?{query}"
            # people go on deciding while the gateway is away for a moment
            decision, _ = self._attempt("GET", path, None, headers, seconds, thread_id, deadline)
            if decision.get("thread_id", thread_id) != thread_id:
                raise NotExecuted("unknown_status", "the decision is about another thread", thread_id)
            # what people were asked about has a proof, or is not approved: an allow would run without one
            if decision.get("status") == "allow":
                raise NotExecuted("unknown_status", "allowed, where people were to decide", thread_id)
            if decision.get("status") != "pending_review":
                return {**decision, "thread_id": thread_id}
            # a gateway that does not hold the request is asked when it likes, and never in a tight loop
            early = _poll_after(decision, seconds) - (time.monotonic() - asked)
            time.sleep(max(0.0, min(early, deadline - time.monotonic())))

    def _redeem(self, decision, payload, action_hash):
        """Only `valid: true` about this very task, thread and action counts, and without a reason why not."""
        thread_id, token = decision["thread_id"], decision.get("approval_token")
        if not isinstance(token, str):
            raise NotExecuted("no_proof", _NO_PROOF, thread_id)
        proof = {
            "task_id": self.task_id,
            "signature": token,
            "request_payload": payload,
            "thread_id": thread_id,
            "action_hash": action_hash,
        }
        result, _ = self._attempt("POST", "/api/agent/approvals/validate", proof, thread_id=thread_id)
        same = all(result.get(name) == proof[name] for name in ("task_id", "thread_id", "action_hash"))
        if result.get("valid") is not True or "reason" in result or not same:
            raise NotExecuted("proof_refused", f"the proof was refused: {result.get('reason', 'invalid')}", thread_id)

    def _report(self, event_type, event_summary, tool, thread_id):
        """The report is evidence, not permission: when it fails the result still stands."""
        payload = {"tool_name": tool, **({} if thread_id is None else {"thread_id": thread_id})}
        event = {"event_type": event_type, "event_summary": event_summary, "payload": payload}
        task = urllib.parse.quote(self.task_id, safe="")
        try:
            self._ask("POST", f"/api/agent/tasks/{task}/events", event, {}, 0)
        except Exception:
            pass

    def _attempt(self, method, path, body=None, headers=None, wait=0, thread_id=None, until=None):
        """Repeats what may be repeated. Every call is safe to repeat: a second redemption only reads `used`.

        Four tries, or as many as fit in the time `until` (of time.monotonic()). Returns the answer, and whether the gateway says that it gave it before.
        """
        pause = 0.1
        for made in itertools.count(1):
            try:
                status, answer, response = self._ask(method, path, body, headers or {}, wait)
            except (OSError, http.client.HTTPException) as error:
                status, answer, response = None, {"detail": f"no answer from the gateway: {error}"}, {}
            except ValueError as error:
                status, answer, response = None, {"detail": str(error)}, {}
            if status == 200:
                return answer, "idempotent-replayed" in response
            left = float(_TRIES - made) if until is None else until - time.monotonic()
            if left <= 0 or (status is not None and status not in _RETRIED):
                raise _failed(status, answer, thread_id)
            asked = re.fullmatch("[0-9]{1,9}", response.get("retry-after", ""))
            # nobody may have the gateway asked in a tight loop
            seconds = min(max(int(asked[0]), min(pause, _LEAST_PAUSE)), _LONGEST_PAUSE) if asked else pause
            time.sleep(seconds if until is None else min(seconds, left))
            pause = min(2 * pause, _LONGEST_OWN_PAUSE)
        raise AssertionError("unreachable")

    def _ask(self, method, path, body, headers, wait):
        """One request and its answer, whole and in time. Redirects are not followed, proxies not used."""
        limit = self._timeout + wait
        secure = {"context": self._ssl} if self._parts.scheme == "https" else {}
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._parts.hostname, self._port, timeout=limit, **secure)
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        typed = {} if body is None else {"content-type": "application/json"}
        sent = {"authorization": f"Bearer {self._key}", "accept": "application/json", **typed, **headers}
        # the timeout of a socket is one for each piece, and an answer that drips would never end
        watch, late = None, threading.Event()
        try:
            connection.connect()
            watch = threading.Timer(limit, _cut, [connection.sock, late])
            watch.daemon = True
            watch.start()
            connection.request(method, self._parts.path.rstrip("/") + path, content, sent)
            response = connection.getresponse()
            text = response.read(_MOST_BYTES + 1)
            if len(text) > _MOST_BYTES:
                raise ValueError("the answer is too long")
            return response.status, _members(text, response.status), response.headers
        except (OSError, http.client.HTTPException, ValueError) as error:
            # what was cut off is no answer, and says nothing of who stands at this address
            raise TimeoutError("timed out") if late.is_set() else error
        finally:
            if watch is not None:
                watch.cancel()
            connection.close()


def _poll_after(decision, wait):
    """Seconds from one poll to the next. Who has held the request as long as it might has waited for long enough."""
    wish = decision.get("recommended_poll_after_seconds")
    return max(1.0, min(wish, wait)) if isinstance(wish, (int, float)) else 1.0


def _tell(on_pending, decision, thread_id):
    """Who listens gets a copy, and what it raises ends the call."""
    try:
        if on_pending is not None:
            on_pending(dict(decision))
    except Exception as error:
        raise NotExecuted("aborted", f"on_pending failed: {error}", thread_id) from error


def _members(text, status):
    """Raises ValueError for what is no JSON object: a page of a proxy, say, or the answer of another program."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise ValueError(
            f"what came with status {status} is no answer of the agent API: something else may stand at this address, or between"
        )
    return answer


def _cut(sock, late):
    late.set()
    try:
        # not sock.shutdown: that of an https socket takes TLS off, and what came in meanwhile would be read as the answer
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
    except OSError:
        pass


def _copy(value):
    """What goes over the wire is what runs: tuples are lists there, and keys are text."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise NotExecuted("invalid_payload", f"not JSON: {error}") from error


def _hash(action):
    text = json.dumps(action, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _refused(decision):
    status, thread_id = decision.get("status"), decision.get("thread_id")
    outcomes = {"reject": "rejected", "rejected": "rejected", "changes_requested": "changes_requested"}
    message = decision.get("message") or f"the gateway answered {status}"
    return NotExecuted(outcomes.get(status, "unknown_status"), message, thread_id)


def _failed(status, answer, thread_id):
    places = "; ".join(f"{one.get('pointer')} {one.get('message')}" for one in answer.get("errors") or [])
    message = answer.get("detail") or answer.get("title") or f"the gateway answered {status}"
    outcome = "invalid_payload" if answer.get("code") in _OF_THE_CALL else "gateway_error"
    # what answers may repeat keys and tokens, and messages go to logs and models
    told = _SECRET.sub("[secret]", f"{message}: {places}" if places else str(message))
    return NotExecuted(outcome, told, thread_id)
