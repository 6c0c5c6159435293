"""Renews the clients in the child of a fork."""

from __future__ import annotations

import os
import weakref
from typing import Protocol

from ._call import Core


class Connections(Protocol):
    def after_fork(self) -> None:
        """Opens new connections in the child of a fork."""


_clients: weakref.WeakKeyDictionary[Connections, Core] = weakref.WeakKeyDictionary()


def renew_after_fork(core: Core, connections: Connections) -> None:
    """Lets the child of a fork open its own connections, and drop the kept allow verdicts."""
    _clients[connections] = core


def _renew_all() -> None:
    for connections, core in list(_clients.items()):
        connections.after_fork()
        core.allows.forget_fresh()


# once for all clients, because a hook of a fork can never be removed
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
