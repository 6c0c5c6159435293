"""The handle of a proposed call (docs/agent-side.md#handle).

It is plain JSON of at most 1 kB, without a secret.
"""

from __future__ import annotations

import re
from typing import Literal, TypedDict, cast

from ._canonical import action_hash, canonical
from ._json import Json, JsonObject, as_json, as_object
from .errors import ArgumentsChanged

LARGEST_BYTES = 1024


class _Always(TypedDict):
    v: Literal[1]
    # `approved`: a rule approved the call, so it need not pause for reviewers
    status: Literal["pending_review", "approved", "allow"]
    task_id: str
    tool_name: str
    nonce: str
    action_hash: str


class Handle(_Always, total=False):
    """The data with which any process continues a proposed call."""

    again: int
    thread_id: str
    payload: JsonObject


_TEXTS = ("task_id", "tool_name", "nonce", "action_hash")
_MEMBERS = {"v", "status", "again", "thread_id", "payload", *_TEXTS}
_HASH = re.compile("[0-9a-f]{64}")


def sized(handle: Handle) -> Handle:
    """Removes the payload from a handle over 1 kB. The caller then passes the payload to `resume`.

    :raises ValueError: the handle is still over 1 kB
    """
    if len(canonical(cast("Json", handle)).encode()) > LARGEST_BYTES:
        handle.pop("payload", None)
    size = len(canonical(cast("Json", handle)).encode())
    if size > LARGEST_BYTES:
        raise ValueError(f"a handle of {size} bytes: use a shorter call_id, at most {LARGEST_BYTES} bytes in all")
    return handle


def checked_handle(value: object) -> Handle:
    """Returns the value as a handle.

    :raises ValueError: the value is not a handle; the message names the wrong member
    """
    handle = as_json(value)
    if not isinstance(handle, dict) or handle.get("v") != 1:
        raise ValueError("not a handle of version 1")
    for name in _TEXTS:
        if not isinstance(handle.get(name), str):
            raise ValueError(f"not a handle: `{name}` must be text")
    _check_rest(handle)
    return cast("Handle", handle)


def _check_rest(handle: JsonObject) -> None:
    unknown = set(handle) - _MEMBERS
    again = handle.get("again", 1)
    wrong = {
        "status": handle.get("status") not in ("pending_review", "approved", "allow"),
        "thread_id": isinstance(handle.get("thread_id"), str) != (handle.get("status") != "allow"),
        "again": not isinstance(again, int) or isinstance(again, bool) or again < 1,
        "payload": not isinstance(handle.get("payload", {}), dict),
        "action_hash": not _HASH.fullmatch(str(handle["action_hash"])),
    }
    for name in [*sorted(unknown), *(name for name, is_wrong in wrong.items() if is_wrong)]:
        raise ValueError(f"not a handle: `{name}` is not as docs/agent-side.md has it")


def payload_of(handle: Handle, given: object) -> JsonObject:
    """Returns the proposed payload, from the handle or from the caller.

    :raises ArgumentsChanged: the payload does not match the handle's action hash
    :raises ValueError: neither has a payload
    """
    if given is None and "payload" not in handle:
        raise ValueError("this handle holds no payload: pass `payload=` with the arguments that were proposed")
    payload = as_object(handle.get("payload") if given is None else given)
    made = action_hash(handle["task_id"], handle["tool_name"], payload, handle["nonce"], handle.get("again", 0))
    if made != handle["action_hash"]:
        raise ArgumentsChanged("these are not the arguments that were proposed", handle.get("thread_id"))
    return payload
