"""Requests to the gateway over httpx. Each request has a deadline, even if its answer arrives slowly."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import httpcore
import httpx

from ._wire import LARGEST_ANSWER, Answer, Request, Unreachable
from .tracing import trace_headers

_FAILURES = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError)


def _headers(key: str, request: Request) -> dict[str, str]:
    typed = {} if request.body is None else {"content-type": "application/json"}
    # no compression, so that a small answer cannot expand
    common = {"authorization": f"Bearer {key}", "accept": "application/json", "accept-encoding": "identity"}
    return {**trace_headers(), **common, **typed, **request.headers}


def _answer(response: httpx.Response, parts: list[bytes]) -> Answer:
    return Answer(
        response.status_code, {name.lower(): value for name, value in response.headers.items()}, b"".join(parts)
    )


class SyncHttp:
    """The connections of a `Countersign`.

    Python threads share them. The child of a fork opens its own connections.
    """

    def __init__(self, base: str, key: str, timeout: float, client: httpx.Client | None, verify: Any = True) -> None:
        self._base, self._key, self._timeout = base, key, timeout
        self._client = client or httpx.Client(transport=_Transport(verify), trust_env=False)
        self._owned = client is None
        self._verify = verify

    def ask(self, request: Request) -> Answer:
        limit = self._timeout + request.wait
        try:
            with _deadline(limit) as until:
                return self._asked(request, limit, until)
        except _FAILURES as error:
            raise Unreachable(str(error) or type(error).__name__) from error

    def _asked(self, request: Request, limit: float, until: float) -> Answer:
        sent = self._client.stream(
            request.method,
            self._base + request.path,
            content=request.content,
            headers=_headers(self._key, request),
            timeout=limit,
            follow_redirects=False,
        )
        with sent as response:
            parts: list[bytes] = []
            size = 0
            for part in response.iter_bytes():
                size += len(part)
                if size > LARGEST_ANSWER or time.monotonic() > until:
                    raise httpx.ReadTimeout("the answer did not end in time, or is too long")
                parts.append(part)
            return _answer(response, parts)

    def after_fork(self) -> None:
        """Opens new connections in the child of a fork.

        The parent keeps the old connections. On shared connections, answers to the parent could reach the child.
        """
        if self._owned:
            self._client = httpx.Client(transport=_Transport(self._verify), trust_env=False)

    def close(self) -> None:
        if self._owned:
            self._client.close()


class AsyncHttp:
    """The connections of an `AsyncCountersign`."""

    def __init__(
        self, base: str, key: str, timeout: float, client: httpx.AsyncClient | None, verify: Any = True
    ) -> None:
        self._base, self._key, self._timeout = base, key, timeout
        # each waiting call uses a connection, so their number is not limited
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        self._client = client or httpx.AsyncClient(verify=verify, limits=limits, trust_env=False)
        self._owned = client is None

    async def ask(self, request: Request) -> Answer:
        limit = self._timeout + request.wait
        try:
            with anyio.fail_after(limit):
                return await self._asked(request, limit)
        except (*_FAILURES, TimeoutError) as error:
            raise Unreachable(str(error) or "no whole answer in time") from error

    async def _asked(self, request: Request, limit: float) -> Answer:
        sent = self._client.stream(
            request.method,
            self._base + request.path,
            content=request.content,
            headers=_headers(self._key, request),
            timeout=limit,
            follow_redirects=False,
        )
        async with sent as response:
            parts: list[bytes] = []
            size = 0
            async for part in response.aiter_bytes():
                size += len(part)
                if size > LARGEST_ANSWER:
                    raise httpx.ReadTimeout("the answer is too long")
                parts.append(part)
            return _answer(response, parts)

    async def close(self) -> None:
        if self._owned:
            await self._client.aclose()


_limits = threading.local()


@contextmanager
def _deadline(seconds: float) -> Generator[float]:
    """Sets the deadline of one request in this Python thread.

    Yields the deadline in seconds of `time.monotonic`. A socket's timeout applies to each read, so it would not stop an
    answer that arrives slowly.
    """
    _limits.until = time.monotonic() + seconds
    try:
        yield _limits.until
    finally:
        _limits.until = float("inf")


def _left(timeout: float | None) -> float | None:
    until = getattr(_limits, "until", float("inf"))
    if until == float("inf"):
        return timeout
    left = max(0.001, until - time.monotonic())
    return left if timeout is None else min(left, timeout)


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(timeout))

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, _left(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def close(self) -> None:
        self._stream.close()


class _Backend(httpcore.NetworkBackend):
    def __init__(self) -> None:
        self._backend = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        stream = self._backend.connect_tcp(host, port, _left(timeout), local_address, socket_options)
        return _Stream(stream)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class _Transport(httpx.BaseTransport):
    """A transport with deadlines. The transport of httpx does not accept a network backend."""

    def __init__(self, verify: Any) -> None:
        context = httpx.create_ssl_context(verify=verify, trust_env=False)
        self._pool = httpcore.ConnectionPool(
            ssl_context=context, max_connections=None, max_keepalive_connections=20, network_backend=_Backend()
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        content = request.read()
        sent = httpcore.Request(
            request.method, target, headers=request.headers.raw, content=content, extensions=request.extensions
        )
        try:
            response = self._pool.handle_request(sent)
        except httpcore.TimeoutException as error:
            raise httpx.ReadTimeout(str(error) or "timed out", request=request) from error
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
            raise httpx.TransportError(str(error), request=request) from error
        return httpx.Response(response.status, headers=response.headers, stream=_Body(response))

    def close(self) -> None:
        self._pool.close()


class _Body(httpx.SyncByteStream):
    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._response.iter_stream()
        except httpcore.TimeoutException as error:
            raise httpx.ReadTimeout("the answer did not end in time") from error
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise httpx.TransportError(str(error)) from error

    def close(self) -> None:
        self._response.close()
