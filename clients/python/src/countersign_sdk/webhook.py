"""Verifies deliveries of decision webhooks (docs/webhooks.md)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

from .errors import WebhookRefused

_TOLERANCE_SECONDS = 300.0
# at least 24 bytes, as Standard Webhooks requires
_SECRET = re.compile(r"whsec_([A-Za-z0-9+/]{32,}={0,2})")


def verify_webhook(
    secrets: str | Sequence[str],
    headers: Mapping[str, str],
    body: str | bytes,
    *,
    tolerance: float = _TOLERANCE_SECONDS,
    now: float | None = None,
) -> dict[str, Any]:
    """Verifies a delivery, and returns its message: `type`, `thread_id`, `decision` and more.

    secrets: `whsec_...` as the gateway printed it. Pass both during a rotation.
    body: the raw body, before parsing.
    tolerance: the largest difference in seconds between the delivery's time and this clock.
    now: the current time in Unix seconds.

    :raises WebhookRefused: the signature or the time is wrong
    :raises TypeError: the body was parsed already
    :raises ValueError: a secret is not `whsec_` and base64
    """
    if not isinstance(cast("object", body), (str, bytes, bytearray)):
        raise TypeError("the body must be raw, as text or bytes: take it before anything parses it")
    raw = body.encode() if isinstance(body, str) else bytes(body)
    given = {name.lower(): value for name, value in headers.items()}
    identity = _fresh(given, tolerance, time.time() if now is None else now)
    known = [secrets] if isinstance(secrets, str) else list(secrets)
    # compute the signature for every secret, so that timing reveals nothing
    if not any([_signed(secret, given, raw) for secret in known]):
        raise WebhookRefused("the signature is not one of ours")
    return _message(raw, identity)


def _fresh(given: Mapping[str, str], tolerance: float, now: float) -> str:
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature", "x-guard-signature"):
        if not given.get(name):
            raise WebhookRefused(f"the header {name} is missing")
    seconds = given["webhook-timestamp"]
    # `not <=` also refuses a tolerance of NaN
    if not re.fullmatch("[0-9]{1,12}", seconds) or not abs(now - int(seconds)) <= tolerance:
        raise WebhookRefused("the delivery is too old, or from the future")
    return given["webhook-id"]


def _signed(secret: str, given: Mapping[str, str], raw: bytes) -> bool:
    guard = f"sha256={hmac.new(secret.encode(), raw, hashlib.sha256).hexdigest()}"
    stamped = f"{given['webhook-id']}.{given['webhook-timestamp']}.".encode() + raw
    mac = hmac.new(_key(secret), stamped, hashlib.sha256).digest()
    standard = f"v1,{base64.b64encode(mac).decode()}"
    ours = (given["x-guard-signature"], given.get("x-guard-signature-previous", ""))
    named = given["webhook-signature"].split(" ")
    return _one_of(guard, ours) and _one_of(standard, named)


def _one_of(expected: str, given: Sequence[str]) -> bool:
    return any([hmac.compare_digest(expected.encode(), one.encode()) for one in given])


def _key(secret: str) -> bytes:
    match = _SECRET.fullmatch(secret)
    # an empty secret, for example from an unset variable, would be a key that everyone knows
    if match is None:
        raise ValueError("a secret is `whsec_` and base64")
    try:
        return base64.b64decode(match[1], validate=True)
    except binascii.Error as error:
        raise ValueError("a secret is `whsec_` and base64") from error


def _message(raw: bytes, identity: str) -> dict[str, Any]:
    try:
        message = json.loads(raw.decode())
    except (ValueError, RecursionError) as error:
        raise WebhookRefused("the body is not JSON") from error
    if not isinstance(message, dict) or cast("dict[str, Any]", message).get("id") != identity:
        raise WebhookRefused("the id in the header is not that of the body")
    return cast("dict[str, Any]", message)
