"""`Countersign`: what a synchronous agent wraps around its tools."""

from __future__ import annotations

import functools
import inspect
import os
import time
import uuid
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

import httpx

from . import _flow
from ._call import Core, Decided, Held, Options, Permit, check_wait, proposal_of
from ._http import SyncHttp
from ._json import JsonObject
from ._steps import Ask, Clock, Effect, Pause, Steps
from ._tool import Signature
from ._wire import base_of, key_of
from .handle import Handle, checked_handle

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, Self, Unpack

    P = ParamSpec("P")

T = TypeVar("T")


def core_of(
    url: str | None,
    task_id: str | None,
    max_wait: float,
    unsigned_approvals: bool,
    console_url: str | None,
    on_held: Callable[[Held], object] | None,
    on_decision: Callable[[Decided], object] | None,
) -> Core:
    base = base_of(url if url is not None else os.environ.get("COUNTERSIGN_URL", ""))
    check_wait(max_wait)
    console = base if console_url is None else base_of(console_url)
    task = task_id or f"task-{uuid.uuid4()}"
    return Core(base, task, max_wait, unsigned_approvals, console, on_held, on_decision)


def agent_key(key: str | None) -> str:
    return key_of(key if key is not None else os.environ.get("COUNTERSIGN_AGENT_KEY", ""))


class Countersign:
    """A gateway, for one piece of work. Threads may share it; after a fork the child connects anew.

    url, key: of the gateway and of this agent; COUNTERSIGN_URL and COUNTERSIGN_AGENT_KEY unless given.
    task_id: groups the calls; a random one unless given. max_wait: seconds to wait for people.
    timeout: seconds for one request, beyond a wait that it asked for.
    unsigned_approvals: only for an agent with `signed_approvals: false` in the directory.
    console_url: the address of the console, where it is not that of the gateway.
    on_held, on_decision: hear of every call that people have to decide, and of every decision.
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
        verify: Any = True,
    ) -> None:
        self._core = core_of(url, task_id, max_wait, unsigned_approvals, console_url, on_held, on_decision)
        self._http = SyncHttp(self._core.base, agent_key(key), timeout, http, verify)
        if hasattr(os, "register_at_fork"):
            this = weakref.WeakMethod(self.renew)
            os.register_at_fork(after_in_child=lambda: _renew(this))

    @property
    def task_id(self) -> str:
        return self._core.task_id

    def guard(self, tool: str, payload: Mapping[str, object], run: Callable[[Any], T], **options: Unpack[Options]) -> T:
        """Runs `run(approved)` once, or raises `NotExecuted`. `approved` is a copy of the payload as it was proposed.

        :raises NotExecuted: nothing ran. What `run` raises passes through; the gateway hears that it failed.
        """
        proposal = proposal_of(self.task_id, tool, payload, options)
        return cast("T", drive(_flow.guarded(self._core, proposal, run, options), self._perform))

    def permit(self, tool: str, payload: Mapping[str, object], **options: Unpack[Options]) -> Permit:
        """`guard` for a runtime that executes elsewhere: the call may run now, once. `report` ends it."""
        proposal = proposal_of(self.task_id, tool, payload, options)
        return drive(_flow.permit_steps(self._core, proposal, options), self._perform)

    def propose(
        self, tool: str, payload: Mapping[str, object], *, keep_payload: bool = True, **options: Unpack[Options]
    ) -> Handle:
        """Proposes the call and returns at once. The handle is plain JSON: keep it, and `resume` with it.

        keep_payload: False leaves the payload out of the handle: pass it to `resume`. So is one that would make the
        handle larger than 1 kB.
        """
        proposal = proposal_of(self.task_id, tool, payload, options)
        return drive(_flow.propose_steps(self._core, proposal, options, keep_payload), self._perform)

    def resume(
        self,
        handle: Mapping[str, Any],
        run: Callable[[Any], T],
        *,
        payload: Mapping[str, object] | None = None,
        **options: Unpack[Options],
    ) -> T:
        """Waits for the decision about a proposed call, redeems its proof, and runs it once.

        max_wait=0 asks once. payload: what was proposed, where the handle does not hold it.
        """
        steps = _flow.resumed(self._core, checked_handle(handle), payload, run, options)
        return cast("T", drive(steps, self._perform))

    def permit_handle(
        self, handle: Mapping[str, Any], *, payload: Mapping[str, object] | None = None, **options: Unpack[Options]
    ) -> Permit:
        """`resume` for a runtime that executes elsewhere."""
        return drive(_flow.permit_from(self._core, checked_handle(handle), payload, options), self._perform)

    def revise(
        self, handle: Mapping[str, Any], payload: Mapping[str, object], *, old: Mapping[str, object] | None = None
    ) -> Handle:
        """Answers reviewers who ask for changes with another payload, in the same review."""
        return drive(_flow.revised_handle(self._core, checked_handle(handle), old, payload), self._perform)

    def withdraw(self, handle: Mapping[str, Any], reason: str | None = None) -> bool:
        """Takes a proposed call back. False when its proof was redeemed before."""
        return drive(_flow.withdrawn_handle(self._core, checked_handle(handle), reason), self._perform)

    def report(self, permit: Permit, error: BaseException | None = None) -> None:
        """Reports what became of a permit's call: evidence that is bound to the review.

        error: what the tool raised. A `NotExecuted` reports that the tool did not run.
        """
        drive(_flow.reported_permit(self._core, permit, error), self._perform)

    def resolve(self, *tools: str) -> list[JsonObject]:
        """The contracts of these tools, of all that this agent may use where none is named. Unknown tools have none."""
        return drive(_flow.resolved_tools(self._core, tools), self._perform)

    def tool(self, name: str, **options: Unpack[Options]) -> Callable[[Callable[P, T]], Callable[P, T]]:
        """A decorator: each call of the function is guarded. Its arguments by name are the payload."""

        def decorate(function: Callable[P, T]) -> Callable[P, T]:
            if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
                raise TypeError(f"{function.__qualname__} is asynchronous: use AsyncCountersign.tool")
            signature = Signature(function)

            @functools.wraps(function)
            def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
                payload = signature.payload(args, kwargs)
                return cast("T", self.guard(name, payload, signature.call, **options))

            return guarded

        return decorate

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _perform(self, effect: Effect) -> object:
        if isinstance(effect, Ask):
            return self._http.ask(effect.request)
        if isinstance(effect, Pause):
            time.sleep(effect.seconds)
            return None
        result = effect.function(*effect.arguments)
        if inspect.isawaitable(result) or inspect.isgenerator(result) or inspect.isasyncgen(result):
            if inspect.iscoroutine(result):
                result.close()
            raise TypeError("the function returned what has not run yet: use AsyncCountersign for asynchronous code")
        return result

    def renew(self) -> None:
        """In the child of a fork, where it is called by itself."""
        self._http.after_fork()
        self._core.allows.forget_fresh()


def drive(steps: Steps[T], perform: Callable[[Effect], object]) -> T:
    """Runs the steps to their end. Whatever is raised meanwhile, KeyboardInterrupt too, is theirs to handle first."""
    advance: Callable[[], Effect] = functools.partial(steps.send, None)
    while True:
        try:
            while True:
                effect = advance()
                advance = functools.partial(steps.send, perform(effect))
        except StopIteration as ended:
            return cast("T", ended.value)
        except BaseException as error:
            if inspect.getgeneratorstate(steps) == inspect.GEN_CLOSED:
                raise
            advance = functools.partial(steps.throw, error)


def _renew(this: weakref.WeakMethod[Callable[[], None]]) -> None:
    renew = this()
    if renew is not None:
        renew()


__all__ = ["Clock", "Countersign", "drive"]
