"""Requests to the gateway over httpx. Each request has a deadline, even if its answer arrives slowly."""

from __future__ import annotations

import asyncio
import os
import ssl
import threading
import time
from collections.abc import AsyncGenerator, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import anyio
import httpcore
import httpx

from ._wire import LARGEST_ANSWER, Answer, Request, Unreachable, Untrusted
from .tracing import trace_headers

Verify: TypeAlias = ssl.SSLContext | bool | str

_FAILURES = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError)


def _context(verify: Verify) -> ssl.SSLContext:
    if not isinstance(verify, str):
        return httpx.create_ssl_context(verify=verify, trust_env=False)
    is_folder = os.path.isdir(verify)
    return ssl.create_default_context(capath=verify) if is_folder else ssl.create_default_context(cafile=verify)


def _failed(error: BaseException) -> Exception:
    """Returns the error of a request without a complete answer: `Untrusted` for a handshake that cannot succeed."""
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause)
    if any(isinstance(one, (httpx.ConnectError, httpcore.ConnectError)) for one in causes):
        for one in causes:
            if isinstance(one, ssl.SSLError) and not isinstance(one, (ssl.SSLEOFError, ssl.SSLSyscallError)):
                return Untrusted(getattr(one, "verify_message", "") or one.reason or str(one))
    return Unreachable(str(error) or "no whole answer in time")


def _limit(timeout: float, request: Request, most: float | None) -> float:
    usual = timeout + request.wait
    return usual if most is None else min(usual, max(most, 0.001))


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

    def __init__(self, base: str, key: str, timeout: float, client: httpx.Client | None, verify: Verify = True) -> None:
        self._base, self._key, self._timeout = base, key, timeout
        self._context = None if client else _context(verify)
        self._client = client or self._made()

    def _made(self) -> httpx.Client:
        assert self._context is not None
        return httpx.Client(transport=_Transport(self._context), trust_env=False)

    def ask(self, request: Request, most: float | None = None) -> Answer:
        """Sends a request, and returns its answer.

        most: the most seconds that the request may take, if they are fewer than its own.

        :raises Unreachable: no complete answer arrived in time
        :raises Untrusted: TLS failed, so no request was sent
        """
        limit = _limit(self._timeout, request, most)
        try:
            with _deadline(limit) as until:
                return self._asked(request, limit, until)
        except _FAILURES as error:
            raise _failed(error) from error

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
        if self._context is not None:
            self._client = self._made()

    def close(self) -> None:
        if self._context is not None:
            self._client.close()


class AsyncHttp:
    """The connections of an `AsyncCountersign`.

    Each event loop has a client of httpx of its own, which closes when its loop ends. A client that the caller gives
    belongs to one loop.
    """

    def __init__(
        self, base: str, key: str, timeout: float, client: httpx.AsyncClient | None, verify: Verify = True
    ) -> None:
        self._base, self._key, self._timeout = base, key, timeout
        self._context = None if client else _context(verify)
        self._given = client
        self._lock = threading.Lock()
        self._loops: dict[asyncio.AbstractEventLoop, tuple[httpx.AsyncClient, AsyncGenerator[None, None]]] = {}

    async def ask(self, request: Request, most: float | None = None) -> Answer:
        """Sends a request, and returns its answer, as `SyncHttp.ask`."""
        limit = _limit(self._timeout, request, most)
        try:
            client = self._given or await self._of_loop()
            with anyio.fail_after(limit):
                return await self._asked(client, request, limit)
        except (*_FAILURES, TimeoutError) as error:
            raise _failed(error) from error

    async def _asked(self, client: httpx.AsyncClient, request: Request, limit: float) -> Answer:
        sent = client.stream(
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

    async def _of_loop(self) -> httpx.AsyncClient:
        """Returns the client of the running loop."""
        loop = asyncio.get_running_loop()
        known = self._loops.get(loop)
        if known is not None:
            return known[0]
        # each waiting call uses a connection, so their number is not limited
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        assert self._context is not None
        client = httpx.AsyncClient(verify=self._context, limits=limits, trust_env=False)
        ending = self._ends_with(loop, client)
        with self._lock:
            # a loop that was closed without `shutdown_asyncgens` leaves its client here
            open_ones = {one: kept for one, kept in self._loops.items() if not one.is_closed()}
            self._loops = {**open_ones, loop: (client, ending)}
        await anext(ending)
        return client

    async def _ends_with(
        self, loop: asyncio.AbstractEventLoop, client: httpx.AsyncClient
    ) -> AsyncGenerator[None, None]:
        """Closes the client when its loop ends: `asyncio.run` then closes each asynchronous generator of the loop."""
        try:
            yield
        finally:
            with self._lock:
                self._loops.pop(loop, None)
            await client.aclose()

    def after_fork(self) -> None:
        """Lets the child of a fork make clients, even if another thread of the parent was making one."""
        self._lock = threading.Lock()

    async def close(self) -> None:
        """Closes the client of the running loop."""
        known = self._loops.get(asyncio.get_running_loop())
        if known is not None:
            await known[1].aclose()


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

    def __init__(self, context: ssl.SSLContext) -> None:
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
