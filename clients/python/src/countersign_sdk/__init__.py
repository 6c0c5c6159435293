"""Countersign for Python agents: a tool runs only if policy or reviewers allow the call.

```python
import os
from countersign_sdk import Countersign

gate = Countersign("http://127.0.0.1:8787", os.environ["COUNTERSIGN_AGENT_KEY"])

@gate.tool("orders.refund")
def refund(order: int) -> str:
    return f"refunded order {order}"
```
"""

from importlib.metadata import PackageNotFoundError, version

from ._call import AuthorizedCall, Decided, Held, Options
from .aio import AsyncCountersign
from .client import Countersign
from .errors import (
    Aborted,
    ArgumentsChanged,
    ChangesRequested,
    ContractsDiffer,
    Expired,
    GatewayRefused,
    GatewayUnavailable,
    GatewayUntrusted,
    InvalidPayload,
    NoProof,
    NotExecuted,
    OutcomeUnknown,
    ProofRefused,
    Rejected,
    StillPending,
    UnexpectedAnswer,
    UnknownTool,
    WebhookRefused,
    Withdrawn,
)
from .handle import Handle
from .tracing import trace_context
from .webhook import verify_webhook

try:
    __version__ = version("countersign-sdk")
except PackageNotFoundError:
    __version__ = "0"

__all__ = [
    "Aborted",
    "ArgumentsChanged",
    "AsyncCountersign",
    "AuthorizedCall",
    "ChangesRequested",
    "ContractsDiffer",
    "Countersign",
    "Decided",
    "Expired",
    "GatewayRefused",
    "GatewayUnavailable",
    "GatewayUntrusted",
    "Handle",
    "Held",
    "InvalidPayload",
    "NoProof",
    "NotExecuted",
    "Options",
    "OutcomeUnknown",
    "ProofRefused",
    "Rejected",
    "StillPending",
    "UnexpectedAnswer",
    "UnknownTool",
    "WebhookRefused",
    "Withdrawn",
    "__version__",
    "trace_context",
    "verify_webhook",
]
