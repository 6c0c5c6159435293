from __future__ import annotations

import pytest

from unasync import SOURCE, made


def test_the_synchronous_client_is_what_unasync_makes_of_the_asynchronous_one() -> None:
    assert (SOURCE / "client.py").read_text("utf-8") == made((SOURCE / "aio.py").read_text("utf-8"))


def test_a_text_that_is_no_longer_there_is_named() -> None:
    with pytest.raises(ValueError, match="has 0 times"):
        made("")
