"""A short way to write a bundle, for tests that are not about policy."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

_ROUTING = """unmatched: reject
allow_up_to: medium
levels:
  low:      { group: reviewers, approvals: 1, expires: 8h }
  medium:   { group: reviewers, approvals: 1, expires: 8h }
  high:     { group: reviewers, approvals: 1, expires: 8h }
  critical: { group: reviewers, approvals: 1, expires: 8h }
"""

_DIRECTORY = """tenants:
  test:
    agents:
      agent: { owners: [owner] }
    reviewers:
      owner:    { name: Owner, groups: [] }
      reviewer: { name: Reviewer, groups: [reviewers] }
"""


def bundle(
    allow: Mapping[str, object] | Sequence[str] = (),
    review: Mapping[str, object] | Sequence[str] = (),
    reject: Mapping[str, object] | Sequence[str] = (),
    expires: str | None = None,
) -> dict[str, str]:
    """Returns the files of a bundle: the text of each path.

    allow, review, reject: the tools with this verdict. A mapping gives each tool a JSON Schema of
    its payload.
    expires: how long reviewers have for a tool in `review`, such as `1m`; 8h by default.
    """
    files = {"routing.yaml": _ROUTING, "directory.yaml": _DIRECTORY}
    for verdict, tools in (("allow", allow), ("review", review), ("reject", reject)):
        schemas: Mapping[str, object] = (
            tools if isinstance(tools, Mapping) else {name: {"type": "object"} for name in tools}
        )
        for name, schema in schemas.items():
            files[f"tools/{name}.yaml"] = json.dumps(
                {"tool": name, "description": f"The tool {name}.", "risk": "low", "input_schema": schema}
            )
            files[f"rules/{name}.yaml"] = json.dumps({"tool": name, "rules": [_rule(name, verdict, expires)]})
    return files


def _rule(name: str, verdict: str, expires: str | None) -> dict[str, object]:
    identity = "".join(char if char.isalnum() else "-" for char in name.lower())
    rule: dict[str, object] = {"id": f"{identity}-{verdict}", verdict: f"The tests {verdict} {name}."}
    if verdict == "review" and expires is not None:
        rule["reviewers"] = {"group": "reviewers", "approvals": 1, "expires": expires}
    return rule
