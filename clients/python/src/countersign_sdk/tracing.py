"""W3C trace context on every request, and spans if opentelemetry-api is installed."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Protocol

from ._json import JsonObject


class _Call(Protocol):
    @property
    def tool(self) -> str: ...
    @property
    def task_id(self) -> str: ...
    @property
    def payload(self) -> JsonObject: ...


_given: ContextVar[Mapping[str, str]] = ContextVar("countersign_trace", default=MappingProxyType({}))
_parent: ContextVar[Any] = ContextVar("countersign_span", default=None)


@contextlib.contextmanager
def trace_context(traceparent: str, tracestate: str | None = None) -> Generator[None]:
    """Adds these headers to requests inside the block, for programs without OpenTelemetry."""
    given = {"traceparent": traceparent, **({} if tracestate is None else {"tracestate": tracestate})}
    token = _given.set(given)
    try:
        yield
    finally:
        _given.reset(token)


def trace_headers() -> dict[str, str]:
    """Returns `traceparent` and `tracestate` of the current span, or those of `trace_context`."""
    headers = dict(_given.get())
    otel = _opentelemetry()
    if otel is not None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        span = _parent.get()
        context = None if span is None else otel.set_span_in_context(span)
        TraceContextTextMapPropagator().inject(headers, context)
    return headers


@contextlib.contextmanager
def span(name: str, call: _Call, thread_id: str | None = None, *, current: bool = False) -> Generator[None]:
    """Opens a span around steps of a call.

    current: spans of the tool become its children.
    """
    otel = _opentelemetry()
    if otel is None:
        yield
        return
    attributes = {"countersign.tool": call.tool, "countersign.task_id": call.task_id}
    if thread_id is not None:
        attributes["countersign.thread_id"] = thread_id
    tracer = otel.get_tracer("countersign")
    if current:
        with tracer.start_as_current_span(name, attributes=attributes):
            yield
        return
    made = tracer.start_span(name, attributes=attributes)
    token = _parent.set(made)
    try:
        yield
    except BaseException as error:
        if not isinstance(error, GeneratorExit):
            made.set_attribute("countersign.outcome", getattr(error, "code", type(error).__name__))
        raise
    finally:
        made.end()
        # if garbage collection ends the steps, they end in another context
        with contextlib.suppress(ValueError):
            _parent.reset(token)


def _opentelemetry() -> Any:
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace
