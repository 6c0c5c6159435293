# Generated from aio.py by tests/unasync.py. Do not edit.
"""`Countersign`: the client of a synchronous agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, ParamSpec, TypeVar, cast

import httpx

from . import _flow
from ._call import AuthorizedCall, Decided, Held, Options, agent_key, core_of, proposal_of
from ._contract_of import contract_of
from ._flow import Approval
from ._fork import renew_after_fork
from ._function import MEMBER, GuardedFunction, run_of
from ._http import SyncHttp, Verify
from ._json import JsonObject
from ._run_sync import Decorator, Runner
from ._tool import TOOL, named, options_block, options_of, refuse_async
from ._typing import Unpack
from .handle import Handle, checked_handle

P = ParamSpec("P")
T = TypeVar("T")


class Countersign(Runner):
    """A client of the gateway, for one task.

    Python threads may share it. After a fork, the child process opens its own connections.

    url, key: the gateway's address and the agent's key. Defaults: COUNTERSIGN_URL and
    COUNTERSIGN_AGENT_KEY.
    task_id: the task of the calls; random by default.
    max_wait: seconds to wait for reviewers.
    timeout: seconds for one request, in addition to the wait that the request asks for.
    unsigned_approvals: only for an agent with `signed_approvals: false` in directory.yaml.
    console_url: the console's address, if it differs from the gateway's.
    on_held, on_decision: called for each held call, and for each decision.
    http: a client of httpx to use instead, for a proxy or a client certificate. You close it. Its own timeouts do not
    stop an answer that arrives slowly.
    verify: True, or your own authorities as an `ssl.SSLContext` or as the path of a PEM file. The client ignores the
    variables of the environment, such as HTTPS_PROXY and SSL_CERT_FILE.

    :raises ValueError: for an invalid url, key or max_wait
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        task_id: str | None = None,
        max_wait: float = 900.0,
        timeout: float = 10.0,
        unsigned_approvals: bool = False,
        console_url: str | None = None,
        on_held: Callable[[Held], object] | None = None,
        on_decision: Callable[[Decided], object] | None = None,
        http: httpx.Client | None = None,
        verify: Verify = True,
    ) -> None:
        self._core = core_of(url, task_id, max_wait, unsigned_approvals, console_url, on_held, on_decision)
        super().__init__(SyncHttp(self._core.base, agent_key(key), timeout, http, verify))
        renew_after_fork(self._core, self._http)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._core.base!r}, task_id={self.task_id!r})"

    @property
    def task_id(self) -> str:
        """The task of calls without a `task_id` of their own."""
        return self._core.task_id

    def page_of(self, handle: Mapping[str, Any]) -> str | None:
        """Returns the address of the console page of a held call. A call that was allowed at once has none."""
        return self._core.page_of(handle.get("thread_id"))

    def guard(
        self,
        tool: str,
        payload: Mapping[str, object],
        run: Callable[[Any], T],
        **options: Unpack[Options],
    ) -> T:
        """Calls `run(approved)` once, or raises `NotExecuted`.

        `approved` is a copy of the payload that the gateway allowed. The client reports errors of `run` to the gateway
        and re-raises them.

        :raises NotExecuted: the tool did not run
        :raises RuntimeError: `run` raised a `NotExecuted` of another guarded call
        :raises TypeError: `run` is asynchronous or a generator
        """
        refuse_async(run)
        proposal = proposal_of(self.task_id, tool, payload, options)
        return cast("T", self._drive(_flow.guarded(self._core, proposal, run, options)))

    def authorize(self, tool: str, payload: Mapping[str, object], **options: Unpack[Options]) -> AuthorizedCall:
        """Returns a call that may run once, now, in a runtime that executes elsewhere.

        Report how it ended with `report`.
        """
        proposal = proposal_of(self.task_id, tool, payload, options)
        return self._drive(_flow.authorize_steps(self._core, proposal, options))

    def propose(
        self, tool: str, payload: Mapping[str, object], *, keep_payload: bool = True, **options: Unpack[Options]
    ) -> Handle:
        """Proposes the call and returns its handle immediately.

        The handle is plain JSON. Save it, and continue the call with `resume`.

        keep_payload: False leaves the payload out of the handle. A payload that would make the handle larger than 1 kB
        is also left out. Pass the payload to `resume` in both cases.

        :raises NotExecuted: policy rejects the call
        """
        proposal = proposal_of(self.task_id, tool, payload, options)
        return self._drive(_flow.propose_steps(self._core, proposal, options, keep_payload))

    def resume(
        self,
        handle: Mapping[str, Any],
        run: Callable[..., T],
        *,
        payload: Mapping[str, object] | None = None,
        **options: Unpack[Options],
    ) -> T:
        """Waits for the decision on a proposed call, redeems its proof and runs the call once.

        run: called with the approved payload; or a function of `tool`, which gets the arguments that the payload
        holds, with the types that it declares.
        max_wait: seconds; 0 does not wait.
        payload: the proposed payload, if the handle does not contain it.

        :raises NotExecuted: the tool did not run; a `StillPending` leaves the call open
        """
        run = run_of(run)
        refuse_async(run)
        steps = _flow.resumed(self._core, checked_handle(handle), payload, run, options)
        return cast("T", self._drive(steps))

    def authorize_handle(
        self, handle: Mapping[str, Any], *, payload: Mapping[str, object] | None = None, **options: Unpack[Options]
    ) -> AuthorizedCall:
        """Resumes a call, which may run once, now, in a runtime that executes elsewhere."""
        return self._drive(_flow.authorized_from(self._core, checked_handle(handle), payload, options))

    def approval(
        self, handle: Mapping[str, Any], *, payload: Mapping[str, object] | None = None, **options: Unpack[Options]
    ) -> Approval:
        """Waits for the decision on a proposed call, and leaves its proof unused. Continue with `run_approved`.

        For an adapter whose framework asks for the decision before it runs the tool.

        :raises NotExecuted: the call may not run
        """
        return self._drive(_flow.approval_from(self._core, checked_handle(handle), payload, options))

    def run_approved(self, approval: Approval, run: Callable[..., T]) -> T:
        """Redeems the proof of an approved call, runs it once and reports."""
        return cast("T", self._drive(_flow.run_approved(self._core, approval, run)))

    def revise(
        self, handle: Mapping[str, Any], payload: Mapping[str, object], *, old: Mapping[str, object] | None = None
    ) -> Handle:
        """Replaces the payload in the same thread, after reviewers ask for changes.

        old: the payload that was proposed, if the handle does not contain it.

        :raises NotExecuted: policy rejects the new payload, or the thread has ended
        """
        return self._drive(_flow.revised_handle(self._core, checked_handle(handle), old, payload))

    def withdraw(self, handle: Mapping[str, Any], reason: str | None = None) -> bool:
        """Withdraws a proposed call. Returns False if its proof was already redeemed."""
        return self._drive(_flow.withdrawn_handle(self._core, checked_handle(handle), reason))

    def report(self, call: AuthorizedCall, error: BaseException | None = None) -> None:
        """Reports the outcome of an authorized call, as evidence of its thread.

        error: the error of the tool. A `NotExecuted` reports that the tool did not run.
        """
        self._drive(_flow.reported_call(self._core, call, error))

    def resolve(self, *tools: str) -> list[JsonObject]:
        """Returns the contracts of these tools, or of all tools that the agent may use.

        The result omits unknown tools.
        """
        return self._drive(_flow.resolved_tools(self._core, tools))

    def contract(self, function: Callable[..., Any], tool: str | None = None) -> JsonObject:
        """Returns a first contract of a function: `tool`, `description` and the `input_schema` of its payloads.

        `countersign add tool --python MODULE:FUNCTION` adds the same to a bundle.

        tool: the gateway's name of the tool. Default: the name of the decorator, or of the function.

        :raises TypeError: for a parameter without a place in a payload, or of a type that JSON cannot hold
        """
        return contract_of(function, tool or getattr(function, TOOL, None))

    def check(self) -> None:
        """Compares the decorated functions with the contracts of the gateway. Call it when your program starts.

        A contract may be narrower than its function, for example with a maximum.

        :raises ContractsDiffer: the gateway would refuse every call, or a value that the function may send
        :raises NotExecuted: the gateway did not answer
        """
        self._drive(_flow.compared(self._core))

    def call(self, **options: Unpack[Options]) -> AbstractContextManager[None]:
        """Gives options to the calls of decorated functions inside a `with` block, such as the task of a request.

        These options replace those of the decorator. An inner block replaces the options of an outer block.

        :raises TypeError: for an unknown option
        :raises ValueError: for a max_wait that is negative or NaN
        """
        return options_block(self, options)

    def tool(self, name: str, **options: Unpack[Options]) -> Decorator:
        """Decorates a function so that each of its calls is guarded.

        The payload contains the arguments by name. The function gets the caller's own objects, if they still equal the
        approved payload in the moment before it runs.

        :raises TypeError: for an async function, a generator function, or a parameter that no payload can hold
        """

        def decorate(function: Callable[P, Any]) -> Callable[P, Any]:
            refuse_async(function)
            own = GuardedFunction(function)

            def guarded(*args: P.args, **kwargs: P.kwargs) -> Any:
                payload, start = own.proposed(args, kwargs)
                return self.guard(name, payload, start, **options_of(self, options))

            setattr(guarded, MEMBER, own)
            return named(guarded, name, self._core, function)

        return cast("Decorator", decorate)
