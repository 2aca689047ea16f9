"""One HTTP exchange with a registry: redirects, time limits, and bodies of bounded size.

It does not authenticate and does not try again. What aiohttp raises leaves here as our errors.
A header that authenticates is only ever sent to the origin that it was made for.
"""

import asyncio
import contextlib
import io
import ssl
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping

import aiohttp
import msgspec
import yarl

from lading.adapters import connecting, proxies
from lading.adapters.proxies import Proxy, ProxyMalformed
from lading.adapters.registry import locations
from lading.adapters.registry import retries as bounds
from lading.adapters.registry.retries import ClientLimits
from lading.kernel.values import replace
from lading.ports import registry
from lading.ports.clock import Clock

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# The only ones that follow a redirect to another origin; all others may hold a secret.
_HARMLESS_HEADERS = frozenset({"Accept", "Range"})


class RegistryCall(msgspec.Struct, frozen=True, kw_only=True):
    """A request, whole; `what` names it in errors."""

    method: str
    url: yarl.URL
    what: str
    headers: Mapping[str, str] = {}
    body: bytes | AsyncIterable[bytes] | None = None
    tls: ssl.SSLContext | bool = True
    remote_only: bool = False
    """Another machine named the URL: a name in it must not resolve to an address of this one."""


class Sessions(msgspec.Struct, frozen=True, kw_only=True):
    any_address: aiohttp.ClientSession
    remote_only: aiohttp.ClientSession
    """Its connections are its own, to addresses that its resolver checked."""


class Transport:
    def __init__(
        self,
        sessions: Sessions,
        clock: Clock,
        limits: ClientLimits,
        environment: Mapping[str, str],
    ) -> None:
        self.clock = clock
        self.limits = limits
        self.downloads: dict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(limits.downloads_per_host_max)
        )
        """By host; a task that waits here waits for our own downloads, not for an answer."""
        self._large_bodies = asyncio.Semaphore(limits.large_bodies_max)
        self._turn = asyncio.Lock()
        self._sessions = sessions
        self._environment = environment

    async def send(self, call: RegistryCall) -> aiohttp.ClientResponse:
        """The answer to a call, redirects followed; the caller releases it."""
        for _ in range(self.limits.redirects_max + 1):
            response = await self._exchange(call)
            if response.status not in _REDIRECTS:
                return response
            call = _redirected(call, response)
        message = f"{call.what}: more than {self.limits.redirects_max} redirects"
        raise registry.MalformedAnswer(message)

    async def read(self, response: aiohttp.ClientResponse, *, bytes_max: int, what: str) -> bytes:
        """The whole body, refused as soon as it is known to be too large."""
        if (response.content_length or 0) > bytes_max:
            raise _too_large(what, bytes_max)
        content = bytearray()
        async with (
            contextlib.AsyncExitStack() as slot,
            contextlib.aclosing(self.pieces(response, what=what)) as pieces,
        ):
            is_large = False
            async for piece in pieces:
                content += piece
                if len(content) > bytes_max:
                    raise _too_large(what, bytes_max)
                if len(content) > bounds.LARGE_BODY_BYTES and not is_large:
                    is_large = True
                    await slot.enter_async_context(self._large_body(what))
            if is_large:
                await self._next_turn()
        return bytes(content)

    async def _next_turn(self) -> None:
        """Until the event loop comes by again, for one caller at a time.

        The caller verifies and parses what it read. Several at once would hold the loop together.
        """
        async with self._turn:
            await asyncio.sleep(0)

    @contextlib.asynccontextmanager
    async def _large_body(self, what: str) -> AsyncIterator[None]:
        """A slot for the rest of a body, for a limited time: no registry may keep all of them."""
        seconds_max = bounds.LARGE_BODY_SECONDS_MAX
        async with self._large_bodies:
            try:
                async with asyncio.timeout(seconds_max):
                    yield
            except TimeoutError as error:
                message = f"{what}: the answer is not complete after {seconds_max:g} s"
                raise registry.NoProgress(message) from error

    async def read_error(self, response: aiohttp.ClientResponse, *, what: str) -> bytes:
        """The body of a refusal, as far as it is worth reading; never a reason to fail."""
        try:
            return await self.read(response, bytes_max=bounds.ERROR_BYTES_MAX, what=what)
        except registry.RegistryError:
            return b""

    async def pieces(
        self, response: aiohttp.ClientResponse, *, what: str
    ) -> AsyncGenerator[bytes, None]:
        """The body as it comes. Only the time spent waiting for the registry counts as slow."""
        waited_seconds, received_bytes = 0.0, 0
        arrivals = response.content.iter_any()
        while True:
            began = self.clock.monotonic()
            try:
                piece = await anext(arrivals)
            except StopAsyncIteration:
                return
            except TimeoutError as error:
                raise self._stalled(what) from error
            except (aiohttp.ClientError, OSError) as error:
                message = f"{what}: connection lost: {connecting.reason(error)}"
                raise registry.Unavailable(message) from error
            waited_seconds += self.clock.monotonic() - began
            received_bytes += len(piece)
            if waited_seconds >= self.limits.window_seconds:
                if received_bytes < self.limits.window_bytes_min:
                    raise self._too_slow(what, received_bytes, waited_seconds)
                waited_seconds, received_bytes = 0.0, 0
            yield piece

    async def _exchange(self, call: RegistryCall) -> aiohttp.ClientResponse:
        seconds_max = self.limits.answer_seconds_max
        proxy = self._proxy(call)
        # A proxy resolves the name itself, and may well be on this machine.
        remote_only = call.remote_only and proxy is None
        session = self._sessions.remote_only if remote_only else self._sessions.any_address
        try:
            async with asyncio.timeout(seconds_max) as deadline:
                return await session.request(
                    call.method,
                    call.url,
                    headers=call.headers,
                    data=_extending(call.body, deadline, seconds_max),
                    ssl=call.tls,
                    proxy=proxy.url if proxy else None,
                    proxy_headers=proxy.headers if proxy else None,
                    allow_redirects=False,
                )
        except TimeoutError as error:
            message = f"{call.what}: no answer from {call.url.host} within {seconds_max:g} s"
            raise registry.Unavailable(message) from error
        except aiohttp.ClientConnectorCertificateError as error:
            reason = f"not trusted: {error.certificate_error}. Add its CA."
            message = f"{call.what}: the certificate of {call.url.host} is {reason}"
            raise registry.Untrusted(message) from error
        except (aiohttp.ClientConnectionError, OSError) as error:
            if isinstance(error.__cause__, locations.LocalAddress):
                raise registry.MalformedAnswer(f"{call.what}: {error.__cause__}") from error
            raise _not_reached(call, proxy, connecting.reason(error)) from error
        except aiohttp.ClientHttpProxyError as error:
            raise _not_reached(call, proxy, connecting.reason(error)) from error
        except aiohttp.ClientError as error:
            raise _not_http(call, connecting.reason(error)) from error
        except ValueError as error:
            raise _not_http(call, str(error)) from error

    def _proxy(self, call: RegistryCall) -> Proxy | None:
        try:
            return proxies.proxy_for(str(call.url), self._environment)
        except ProxyMalformed as error:
            raise registry.Blocked(f"{call.what}: {error}") from error

    def _stalled(self, what: str) -> registry.NoProgress:
        return registry.NoProgress(f"{what}: no data for {self.limits.stall_seconds_max:g} s")

    def _too_slow(self, what: str, received: int, seconds: float) -> registry.NoProgress:
        wanted = f"{self.limits.window_bytes_min} in {self.limits.window_seconds:g} s"
        return registry.NoProgress(
            f"{what}: {received} bytes in {seconds:.0f} s is too slow, expected {wanted}"
        )


def _not_reached(call: RegistryCall, proxy: Proxy | None, reason: str) -> registry.Unavailable:
    where = f"{call.url.host}:{call.url.port}"
    through = f" through the proxy {proxy.url}" if proxy else ""
    return registry.Unavailable(f"{call.what}: cannot connect to {where}{through}: {reason}")


def _not_http(call: RegistryCall, reason: str) -> registry.MalformedAnswer:
    return registry.MalformedAnswer(f"{call.what}: {call.url.host} does not speak HTTP: {reason}")


async def _pieces_of(
    body: AsyncIterable[bytes], deadline: asyncio.Timeout, seconds_max: float
) -> AsyncIterator[bytes]:
    """Each piece that goes out pushes the deadline: a large upload may take its time."""
    loop = asyncio.get_running_loop()
    async for piece in body:
        deadline.reschedule(loop.time() + seconds_max)
        yield piece


def _extending(
    body: bytes | AsyncIterable[bytes] | None, deadline: asyncio.Timeout, seconds_max: float
) -> io.BytesIO | AsyncIterable[bytes] | None:
    if body is None:
        return None
    if isinstance(body, bytes):
        return io.BytesIO(body)  # aiohttp sends raw bytes in one go, however many they are
    return _pieces_of(body, deadline, seconds_max)


def _redirected(call: RegistryCall, response: aiohttp.ClientResponse) -> RegistryCall:
    location = response.headers.get("Location", "")
    response.release()
    if call.method not in ("GET", "HEAD"):
        raise registry.MalformedAnswer(f"{call.what}: a {call.method} was redirected")
    target = locations.target(call.url, location, what=call.what)
    if locations.same_origin(target, call.url):
        return replace(call, url=target)
    headers = {key: value for key, value in call.headers.items() if key in _HARMLESS_HEADERS}
    # Another host has its own certificate: what we know about the first says nothing about it.
    tls = call.tls if target.host == call.url.host else True
    remote_only = call.remote_only or locations.is_remote_only(call.url, target)
    return replace(call, url=target, headers=headers, tls=tls, remote_only=remote_only)


def _too_large(what: str, bytes_max: int) -> registry.TooLarge:
    return registry.TooLarge(f"{what}: the answer is larger than {bytes_max} bytes")
