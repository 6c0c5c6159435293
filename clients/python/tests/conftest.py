"""Tests use the gateway of this checkout, unless COUNTERSIGN_TEST_GATEWAY names another."""

from __future__ import annotations

import os
from pathlib import Path

os.environ.setdefault("COUNTERSIGN_TEST_GATEWAY", str(Path(__file__).resolve().parents[3]))
