"""`python -m countersign_sdk contract MODULE:FUNCTION` prints a contract, for `countersign add tool --python`."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from typing import Any

from ._contract_of import contract_of
from ._tool import TOOL

USAGE = "python -m countersign_sdk contract MODULE:FUNCTION"


def main(arguments: list[str]) -> int:
    """Prints the contract as JSON, and returns the exit code."""
    if len(arguments) != 2 or arguments[0] != "contract":
        print(f"usage: {USAGE}", file=sys.stderr)
        return 2
    # a module may make its client while it is imported; this program sends no request
    os.environ.setdefault("COUNTERSIGN_URL", "http://127.0.0.1:8787")
    os.environ.setdefault("COUNTERSIGN_AGENT_KEY", "csk_none")
    try:
        # what the module prints is no part of the contract
        with contextlib.redirect_stdout(sys.stderr):
            function = _function(arguments[1])
            contract = contract_of(function, getattr(function, TOOL, None))
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        print(f"{arguments[1]}: {error}", file=sys.stderr)
        return 1
    print(json.dumps(contract))
    return 0


def _function(target: str) -> Any:
    """Returns the function that `MODULE:FUNCTION` names. FUNCTION may have dots, as in `bank.transfer`."""
    module, separator, path = target.partition(":")
    if not separator or not module or not path:
        raise ValueError(f"name a function: {USAGE}")
    found: Any = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    if not callable(found):
        raise TypeError("it is no function")
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
