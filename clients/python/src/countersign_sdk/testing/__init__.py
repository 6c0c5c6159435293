"""A real gateway for the tests of an agent.

The pytest plugin has the fixtures `gate`, `async_gate` and `reviewer`.
"""

from .bundle import bundle
from .gateway import Gateway, GatewayProblem, start_gateway
from .reviewer import Reviewer

__all__ = ["Gateway", "GatewayProblem", "Reviewer", "bundle", "start_gateway"]
