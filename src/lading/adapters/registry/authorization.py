"""Sends a request with a credential: answers challenges, tries the credentials, remembers.

A credential goes to the endpoint it was found for, or to the realm which that endpoint names, and
never over a weaker transport than the endpoint's own. One that may go only to some hosts is
withheld from all others. A refusal after success asks the source for a fresh credential, once.
"""

from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import yarl

from lading.adapters.registry import challenges, locations, tokens
from lading.adapters.registry.challenges import Challenge, Scheme
from lading.adapters.registry.credentials import CredentialSource
from lading.adapters.registry.endpoints import Endpoint
from lading.adapters.registry.tokens import TokenRefused, Tokens
from lading.adapters.registry.transport import Transport
from lading.kernel.values import Redacted, replace
from lading.ports import registry
from lading.ports.registry import Credential

REMEMBERED_MAX = 4096
_UNAUTHORIZED = 401
_BEARER = "Bearer "

Send = Callable[[str], Awaitable[aiohttp.ClientResponse]]
"""Sends the request with this Authorization header; an empty one means without."""


class _Withheld(registry.Unauthorized):
    """The credential must not go where it is asked for; another one may."""


class _Header(Redacted, frozen=True, kw_only=True):
    """A header that may be sent, and how it was come by, so that a new one can be made in time."""

    shown = ("expires_at", "challenge", "credential")

    value: str
    expires_at: float
    challenge: Challenge
    credential: Credential | None


_NEVER = float("inf")


class Authorization:
    def __init__(self, source: CredentialSource, transport: Transport) -> None:
        self._source = source
        self._transport = transport
        self._tokens = Tokens(transport)
        self._accepted: OrderedDict[tuple[str, frozenset[str]], _Header] = OrderedDict()

    async def send(
        self, endpoint: Endpoint, scopes: frozenset[str], send: Send
    ) -> aiohttp.ClientResponse:
        """The answer to the request with the credential that is accepted; any status but 401."""
        key = (endpoint.url, scopes)
        known = await self._known(key, endpoint)
        response = await send(known)
        if not _is_refused(response, endpoint):
            return response
        challenge = _challenge(response, endpoint, scopes)
        async for header in self._headers(challenge, endpoint, refused=known):
            response = await send(header.value)
            if not _is_refused(response, endpoint):
                self._remember(key, header)
                return response
            response.release()
        raise _none_accepted(endpoint)

    async def _known(self, key: tuple[str, frozenset[str]], endpoint: Endpoint) -> str:
        """The header that was accepted before, made anew when it is over; empty for none."""
        held = self._accepted.get(key)
        if held is None:
            return ""
        if held.expires_at > self._transport.clock.monotonic():
            return held.value
        try:
            header = await self._header(
                held.challenge, endpoint, held.credential, refused=held.value
            )
        except (TokenRefused, _Withheld):
            return ""
        self._remember(key, header)
        return header.value

    async def _headers(
        self, challenge: Challenge, endpoint: Endpoint, *, refused: str
    ) -> AsyncIterator[_Header]:
        """What to try, each once: what the source has, then what it has when asked again."""
        tried = {refused}
        not_sent: TokenRefused | _Withheld | None = None
        async for credential in self._candidates(endpoint):
            try:
                header = await self._header(challenge, endpoint, credential, refused=refused)
            except (TokenRefused, _Withheld) as error:
                not_sent = error
                continue
            if header.value and header.value not in tried:
                tried.add(header.value)
                yield header
        if not_sent is not None:
            raise _none_accepted(endpoint, f" ({not_sent.message})") from not_sent

    async def _candidates(self, endpoint: Endpoint) -> AsyncIterator[Credential | None]:
        found = await self._source.find(endpoint)
        for credential in found[: self._transport.limits.credentials_tried_max]:
            yield credential
        if not found:
            yield None
        if self._source.forget(endpoint):
            for credential in await self._source.find(endpoint):
                yield credential

    async def _header(
        self,
        challenge: Challenge,
        endpoint: Endpoint,
        credential: Credential | None,
        *,
        refused: str,
    ) -> _Header:
        if credential is not None:
            _check_reach(credential, challenge, endpoint)
        if credential is not None and credential.registry_token:
            value, expires_at = _BEARER + credential.registry_token, _NEVER
        elif challenge.scheme is Scheme.BASIC:
            value = tokens.basic(credential) if credential and credential.password else ""
            expires_at = _NEVER
        else:
            token = await self._tokens.get(
                challenge, credential, endpoint, refused=refused.removeprefix(_BEARER)
            )
            value, expires_at = _BEARER + token.value, token.expires_at
        return _Header(
            value=value, expires_at=expires_at, challenge=challenge, credential=credential
        )

    def _remember(self, key: tuple[str, frozenset[str]], header: _Header) -> None:
        self._accepted[key] = header
        self._accepted.move_to_end(key)
        while len(self._accepted) > REMEMBERED_MAX:
            self._accepted.popitem(last=False)


def _is_refused(response: aiohttp.ClientResponse, endpoint: Endpoint) -> bool:
    """Whether the endpoint asks for a credential.

    Only the endpoint itself may ask: a realm that a redirect's target names would get the password.
    """
    if response.status != _UNAUTHORIZED:
        return False
    if locations.same_origin(response.url, yarl.URL(endpoint.url)):
        return True
    response.release()
    message = (
        f"{endpoint.image}: {endpoint.host} refers to {response.url.host}, which asks for"
        f" credentials (401). Credentials of {endpoint.host} are not sent to other hosts."
    )
    raise registry.Unauthorized(message, status=_UNAUTHORIZED)


def _challenge(
    response: aiohttp.ClientResponse, endpoint: Endpoint, scopes: frozenset[str]
) -> Challenge:
    """What the registry asks for, with the scopes that we need added to those that it names."""
    found = challenges.parse(response.headers.getall("WWW-Authenticate", ()))
    response.release()
    if found is None:
        reason = "asks for credentials (401), but not by Basic or Bearer authentication"
        message = f"{endpoint.image}: {endpoint.host} {reason}"
        raise registry.Unauthorized(message, status=_UNAUTHORIZED)
    if found.scheme is Scheme.BEARER:
        what = f"{endpoint.image}: token realm"
        locations.realm(yarl.URL(endpoint.url), found.realm, what=what)
    return replace(found, scopes=found.scopes | scopes)


def _check_reach(credential: Credential, challenge: Challenge, endpoint: Endpoint) -> None:
    """Raises Withheld unless all who would see the credential may see it."""
    if credential.only_to is None:
        return
    own = yarl.URL(endpoint.url).with_scheme("https")
    named = (yarl.URL(f"https://{host}") for host in credential.only_to)
    if not any(locations.same_origin(own, one) for one in named):
        known = f", only {', '.join(credential.only_to)}" if credential.only_to else ""
        reason = f"the image config of the cluster does not name {endpoint.host}{known}"
    elif not endpoint.is_verified:
        reason = f"{endpoint.host} is not reached over TLS with a verified certificate"
    elif challenge.scheme is Scheme.BEARER and not locations.same_origin(
        own, yarl.URL(challenge.realm)
    ):
        reason = f"{endpoint.host} names a token realm on another server"
    else:
        return
    raise _Withheld(f"the token of the cluster is not sent: {reason}", status=_UNAUTHORIZED)


def _none_accepted(endpoint: Endpoint, reason: str = "") -> registry.Unauthorized:
    message = f"{endpoint.image}: {endpoint.host} accepts none of the credentials (401){reason}"
    return registry.Unauthorized(message, status=_UNAUTHORIZED)
