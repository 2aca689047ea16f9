"""Bearer tokens: fetched from the realm that a registry names, and kept until they expire.

One token per (realm, service, scopes, credential). Callers who need the same one share one fetch.
"""

import asyncio
import base64
import re
from collections import OrderedDict
from weakref import WeakValueDictionary

import msgspec
import yarl

from lading.adapters.registry import answers, locations
from lading.adapters.registry import retries as bounds
from lading.adapters.registry.challenges import Challenge
from lading.adapters.registry.endpoints import Endpoint
from lading.adapters.registry.transport import RegistryCall, Transport
from lading.kernel.errors import UNREADABLE
from lading.kernel.values import Redacted, replace
from lading.ports import registry
from lading.ports.registry import Credential, RegistryError

TOKENS_MAX = 4096
EXPIRES_SECONDS_DEFAULT = 60  # what the token specification says when the answer does not
EXPIRY_MARGIN_SECONDS = 5.0
_SENDABLE = re.compile(r"[\x21-\x7e]+")
_UNAUTHORIZED = 401
CLIENT_ID = "lading"

Key = tuple[str, str, frozenset[str], Credential | None]


class Token(Redacted, frozen=True, kw_only=True):
    shown = ("expires_at",)

    value: str
    expires_at: float


class _Answer(Redacted, frozen=True):
    token: str = ""
    access_token: str = ""
    expires_in: float = EXPIRES_SECONDS_DEFAULT


class TokenRefused(registry.Unauthorized):
    """The realm gives no token for this credential; another one may do."""


class Tokens:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._tokens: OrderedDict[Key, Token] = OrderedDict()
        self._fetching: WeakValueDictionary[Key, asyncio.Lock] = WeakValueDictionary()

    async def get(
        self,
        challenge: Challenge,
        credential: Credential | None,
        endpoint: Endpoint,
        *,
        refused: str,
    ) -> Token:
        """A token that is still good, and not the one that was just refused."""
        key = (challenge.realm, challenge.service, challenge.scopes, credential)
        turn = self._fetching.setdefault(key, asyncio.Lock())
        async with turn:
            held = self._tokens.get(key)
            if held is None or held.value == refused or self._is_over(held):
                held = await self._fetch(challenge, credential, endpoint)
                self._keep(key, held)
            return held

    def _is_over(self, token: Token) -> bool:
        return token.expires_at <= self._transport.clock.monotonic()

    def _keep(self, key: Key, token: Token) -> None:
        self._tokens[key] = token
        self._tokens.move_to_end(key)
        while len(self._tokens) > TOKENS_MAX:
            self._tokens.popitem(last=False)

    async def _fetch(
        self, challenge: Challenge, credential: Credential | None, endpoint: Endpoint
    ) -> Token:
        call = _call(challenge, credential, endpoint)
        response = await self._transport.send(call)
        async with response:
            if not response.ok:
                body = await self._transport.read_error(response, what=call.what)
                now = self._transport.clock.now()
                raise _refused(answers.error_from(response, body, what=call.what, now=now))
            body = await self._transport.read(
                response, bytes_max=bounds.TOKEN_ANSWER_BYTES_MAX, what=call.what
            )
        return parse(body, what=call.what, now=self._transport.clock.monotonic())


def parse(body: bytes, *, what: str, now: float) -> Token:
    """The answer of a token endpoint."""
    try:
        answer = msgspec.json.decode(body, type=_Answer)
    except UNREADABLE as error:
        raise registry.MalformedAnswer(f"{what}: not a token answer") from error
    value = answer.token or answer.access_token
    if not value:
        raise TokenRefused(f"{what}: the answer holds no token", status=_UNAUTHORIZED)
    if not _SENDABLE.fullmatch(value):
        raise registry.MalformedAnswer(f"{what}: the answer holds no usable token")
    lifetime = max(0.0, answer.expires_in - EXPIRY_MARGIN_SECONDS)
    return Token(value=value, expires_at=now + lifetime)


def _call(challenge: Challenge, credential: Credential | None, endpoint: Endpoint) -> RegistryCall:
    """By POST for an identity token, else by GET with the password, or with nothing at all."""
    realm = yarl.URL(challenge.realm)
    registry_url = yarl.URL(endpoint.url)
    call = RegistryCall(
        method="GET",
        url=realm,
        what=f"token from {realm.host}",
        # What is known about the registry's certificate says nothing about another host's.
        tls=endpoint.tls if realm.host == registry_url.host else True,
        remote_only=locations.is_remote_only(registry_url, realm),
    )
    scopes = sorted(challenge.scopes)
    if credential is not None and credential.identity_token:
        form = [
            ("grant_type", "refresh_token"),
            ("service", challenge.service),
            ("client_id", CLIENT_ID),
            ("scope", " ".join(scopes)),
            ("refresh_token", credential.identity_token),
        ]
        body = str(yarl.URL.build(query=form).raw_query_string).encode()
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return replace(call, method="POST", headers=headers, body=body)
    query = [("service", challenge.service), *(("scope", scope) for scope in scopes)]
    headers = {} if credential is None else {"Authorization": basic(credential)}
    url = realm.extend_query([pair for pair in query if pair[1]])
    return replace(call, url=url, headers=headers)


def _refused(error: RegistryError) -> RegistryError:
    """What a realm does not have or allow is a token, and says nothing about the image."""
    if isinstance(error, registry.Transient):
        return error
    return TokenRefused(error.message, status=_UNAUTHORIZED)


def basic(credential: Credential) -> str:
    pair = f"{credential.username}:{credential.password}".encode()
    return f"Basic {base64.b64encode(pair).decode('ascii')}"
