"""The arguments of a model's call: read once, proposed, kept, and made anew in another process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ._canonical import canonical, sha256
from ._function import Parameters, require_equal
from ._json import Json, JsonObject, as_object
from ._rebuild import NotRebuildable, arguments_of, is_alike, model_rebuilder
from .errors import ArgumentsChanged, InvalidPayload
from .handle import Handle, payload_of

Objects = dict[str, object]
_MOST_KEPT = 1_000
_DIGEST = 16


@dataclass(frozen=True)
class Arguments:
    """The arguments of a call.

    objects: by name, with the types that the function declares.
    payload: what reviewers see of them.
    nonce: the id of the call, with a digest of what the model wrote.
    """

    objects: Objects
    payload: JsonObject
    nonce: str


@dataclass
class Reader:
    """Reads the arguments of one tool.

    parse: makes the objects from what the model wrote. Validators and defaults run.
    rebuild: makes the same objects from a payload. Nothing of the caller runs.
    """

    parse: Callable[[Any], Objects]
    rebuild: Callable[[JsonObject], Objects]
    _kept: dict[str, Arguments] = field(default_factory=dict[str, Arguments])

    def read(self, call_id: str, given: Any, parsed: Objects | None = None) -> Arguments:
        """Reads what the model wrote, before the proposal.

        parsed: what the framework already made of it.

        :raises InvalidPayload: the arguments do not fit the tool, or another process could not make them anew
        """
        objects = self.parse(given) if parsed is None else parsed
        payload = as_object(objects)
        try:
            made = self.rebuild(payload)
        except (ValueError, InvalidPayload, ArgumentsChanged) as error:
            raise InvalidPayload(f"these arguments cannot be made from their payload again: {error}") from error
        if canonical(as_object(made)) != canonical(payload) or not is_alike(objects, made):
            raise InvalidPayload("these arguments have types that their payload does not distinguish")
        arguments = Arguments(objects, payload, f"{call_id}.{_digest(given)}")
        while len(self._kept) >= _MOST_KEPT:
            self._kept.pop(next(iter(self._kept)), None)
        self._kept[arguments.nonce] = arguments
        return arguments

    def again(self, handle: Handle, call_id: str, given: Any, parsed: Objects | None = None) -> Arguments:
        """Returns the arguments of a call that this or another process proposed. Validators do not run again.

        :raises ArgumentsChanged: what the model wrote is not what it wrote before the proposal
        """
        nonce = f"{call_id}.{_digest(given)}"
        kept = self._kept.get(nonce)
        if kept is None or handle["nonce"] != nonce:
            kept = Arguments(*self._anew(handle, nonce, given, parsed), nonce)
        # refuses a payload that is not the proposed one
        payload_of(handle, kept.payload)
        return kept

    def _anew(self, handle: Handle, nonce: str, given: Any, parsed: Objects | None) -> tuple[Objects, JsonObject]:
        if handle["nonce"] == nonce and "payload" in handle:
            payload = payload_of(handle, None)
            objects = self.rebuild(payload)
            require_equal(objects, payload)
            return objects, payload
        if handle["nonce"].startswith(nonce[:-_DIGEST]) and handle["nonce"] != nonce:
            raise ArgumentsChanged("these are not the arguments that were proposed", handle.get("thread_id"))
        # the handle is of a revision, or too small for the payload
        objects = self.parse(given) if parsed is None else parsed
        return objects, as_object(objects)


def _digest(given: Any) -> str:
    return sha256(canonical(as_object(given)))[:_DIGEST]


def reader_of_function(
    function: Callable[..., Any], parse: Callable[[Any], Objects], left_out: Collection[str] = ()
) -> Reader:
    """Returns the reader of a function's arguments.

    left_out: the parameters that the framework adds.

    :raises TypeError: no payload can hold an argument
    """
    parameters = Parameters(function, left_out)
    return Reader(parse, lambda payload: parameters.payload(parameters.rebuilt(payload)))


def reader_of_model(tool: str, model: Any, left_out: frozenset[str] = frozenset()) -> Reader:
    """Returns the reader of arguments that a pydantic model parses.

    left_out: the fields that the framework adds.

    :raises TypeError: no payload can hold a field
    """
    try:
        rebuild = model_rebuilder(model, left_out)
    except NotRebuildable as error:
        raise TypeError(f"{tool}: no payload can hold its arguments: {error}") from error

    def parse(given: Mapping[str, Json]) -> Objects:
        try:
            return arguments_of(model.model_validate(given), left_out)
        except ValueError as error:
            raise InvalidPayload(f"the arguments do not fit the tool: {error}") from error

    return Reader(parse, rebuild)


def plain_reader() -> Reader:
    """Returns the reader of a tool whose arguments are JSON."""
    return Reader(lambda given: {**as_object(given)}, lambda payload: {**payload})
