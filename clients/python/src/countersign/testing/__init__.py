"""A real gateway for the tests of an agent: fixtures `gate`, `async_gate` and `reviewer` of the pytest plugin."""

from .bundle import bundle
from .gateway import Gateway, GatewayProblem, start_gateway
from .reviewer import Reviewer

__all__ = ["Gateway", "GatewayProblem", "Reviewer", "bundle", "start_gateway"]
