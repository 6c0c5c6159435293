"""The last check of an adapter: a function runs once, and only with the approved arguments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any

from ._arguments import Objects
from ._call import NotStarted
from ._function import require_equal
from ._json import JsonObject
from .errors import NotExecuted


class ApprovedRun:
    """The run of a function with these arguments. A client calls `ready` before it redeems the proof, then the object.

    objects: the arguments, as the function is about to get them.
    """

    def __init__(self, objects: Objects, function: Callable[[Objects], Any]) -> None:
        self._objects = objects
        self._function = function

    def ready(self, approved: JsonObject) -> None:
        """Compares the arguments with the approved ones.

        :raises ArgumentsChanged: they differ
        """
        require_equal(self._objects, approved)

    def __call__(self, approved: JsonObject) -> Any:
        """Runs the function. The arguments may have changed during the redemption, so it compares them again.

        :raises NotStarted: they differ
        """
        try:
            self.ready(approved)
        except NotExecuted as error:
            raise NotStarted(error) from error
        return self._function(self._objects)


class Attempt:
    """One attempt of a framework to run an approved call.

    The framework calls its tool, and code of others may lie between. So the function itself, as the last, redeems the
    proof. Its refusal passes the code between, which may turn an error into a string.

    redeem: waits for the decision, redeems the proof and runs.
    """

    def __init__(self, redeem: Callable[[ApprovedRun], Any]) -> None:
        self._redeem = redeem
        self._refusal: NotExecuted | None = None

    def run(self, objects: Objects, function: Callable[[Objects], Any]) -> Any:
        with self._kept():
            return self._redeem(ApprovedRun(objects, function))

    async def arun(self, objects: Objects, function: Callable[[Objects], Any]) -> Any:
        with self._kept():
            result: Awaitable[Any] = self._redeem(ApprovedRun(objects, function))
            return await result

    def refuse(self, error: NotExecuted) -> NotExecuted:
        """Keeps the refusal of a check before the redemption, and returns it."""
        self._refusal = error
        return error

    @contextmanager
    def _kept(self) -> Generator[None]:
        # a call that is made again begins anew
        self._refusal = None
        try:
            yield
        except NotExecuted as error:
            self._refusal = error
            raise

    @contextmanager
    def ended(self) -> Generator[None]:
        """Raises the refusal of the call instead of what the framework made of it.

        :raises NotExecuted: the call did not run
        """
        try:
            yield
        except Exception:
            if self._refusal is None:
                raise
        if self._refusal is not None:
            raise self._refusal
