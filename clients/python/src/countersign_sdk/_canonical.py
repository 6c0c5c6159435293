"""Canonical JSON (RFC 8785), and the action hash that binds an approval to its action."""

from __future__ import annotations

import hashlib
import json

from ._json import Json, JsonObject


def canonical(value: Json) -> str:
    """Returns the canonical text of a value from `as_json`.

    Members are sorted by UTF-16 code units. Numbers and strings are printed as in ECMAScript.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (int, float)):
        return str(value) if isinstance(value, int) else _number(value)
    if isinstance(value, list):
        return f"[{','.join(canonical(item) for item in value)}]"
    members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
    return f"{{{','.join(f'{canonical(key)}:{canonical(member)}' for key, member in members)}}}"


def _number(value: float) -> str:
    """Returns a double as ECMAScript's Number::toString prints it.

    Python and ECMAScript both choose the shortest digits that read as the same double.
    """
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    digits, point = _digits(abs(value))
    if len(digits) <= point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{point - 1:+d}"


def _digits(value: float) -> tuple[str, int]:
    """Returns the significant digits, and how many of them precede the decimal point."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    written = whole + fraction
    digits = written.lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(written) - len(digits))
    return digits.rstrip("0"), point


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def action_hash(task_id: str, tool: str, payload: JsonObject, nonce: str, again: int = 0) -> str:
    """Returns the SHA-256 hash of the whole action in hexadecimal. The JavaScript SDK returns the same hash.

    nonce: distinguishes two equal actions.
    again: the number of earlier actions with this nonce that were allowed and used.
    """
    action: JsonObject = {"v": 1, "task_id": task_id, "tool_name": tool, "payload": payload, "nonce": nonce}
    if again:
        action["again"] = again
    return sha256(canonical(action))
