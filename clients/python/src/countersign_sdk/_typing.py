"""Names of `typing` that Python 3.10 lacks. They are there at run time, so that `typing.get_type_hints` works."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 11):
    from typing import Self, Unpack
else:
    from typing_extensions import Self, Unpack

__all__ = ["Self", "Unpack"]
