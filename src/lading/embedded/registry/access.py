"""Access by password, or by a token for a scope. Every user may do everything.

`Passwords` is HTTP basic authentication; `TokenGuard` is the token flow of the distribution
project, with its own token endpoint.
"""

import base64
import binascii
import hmac
import secrets
import time
from collections.abc import Mapping
from typing import Protocol

import msgspec
from aiohttp import web

from lading.embedded.registry.faults import Code, Fault
from lading.kernel.values import Redacted

TOKEN_PATH = "/token"
SERVICE = "lading-registry"
EVERY_ACTION = "*"
TOKENS_MAX = 10_000
TOKEN_SECONDS = 300


class AccessGuard(Protocol):
    def check(self, request: web.Request, scope: str) -> None:
        """Raises a Fault unless the request may use the scope."""


class Passwords(Redacted, frozen=True):
    password_by_user: Mapping[str, str]

    def check(self, request: web.Request, scope: str) -> None:
        if not self.accepts(request.headers.get("Authorization", "")):
            raise _unauthorized(f'Basic realm="{SERVICE}"', scope)

    def accepts(self, authorization: str) -> bool:
        kind, _, encoded = authorization.partition(" ")
        if kind.lower() != "basic":
            return False
        try:
            user, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return False
        return self.knows(user, password)

    def knows(self, user: str, password: str) -> bool:
        expected = self.password_by_user.get(user)
        return expected is not None and hmac.compare_digest(expected.encode(), password.encode())


class _Grant(msgspec.Struct, frozen=True, kw_only=True):
    scopes: frozenset[str]
    expires_at: float


class TokenGuard(Redacted, frozen=True, kw_only=True):
    shown = ("passwords", "seconds")

    passwords: Passwords
    seconds: int = TOKEN_SECONDS
    _grants: dict[str, _Grant] = {}

    def check(self, request: web.Request, scope: str) -> None:
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        grant = self._grants.get(token) if kind.lower() == "bearer" else None
        if grant and grant.expires_at > time.monotonic() and _covers(grant.scopes, scope):
            return
        realm = f"{request.scheme}://{request.host}{TOKEN_PATH}"
        raise _unauthorized(f'Bearer realm="{realm}",service="{SERVICE}",scope="{scope}"', scope)

    async def issue(self, request: web.Request) -> web.Response:
        """The token endpoint. POST also accepts the password as an identity token."""
        form = await request.post()
        allowed = self.passwords.accepts(request.headers.get("Authorization", "")) or (
            self._accepts_form({key: str(value) for key, value in form.items()})
        )
        if not allowed:
            raise _unauthorized(f'Basic realm="{SERVICE}"', "")
        if len(self._grants) >= TOKENS_MAX:
            del self._grants[next(iter(self._grants))]
        scopes = [*request.query.getall("scope", []), str(form.get("scope", ""))]
        token = secrets.token_urlsafe(32)
        self._grants[token] = _Grant(
            scopes=frozenset(" ".join(scopes).split()), expires_at=time.monotonic() + self.seconds
        )
        answer = {"token": token, "access_token": token, "expires_in": self.seconds}
        return web.json_response(answer)

    def _accepts_form(self, form: Mapping[str, str]) -> bool:
        if form.get("grant_type") == "refresh_token":
            user, _, password = form.get("refresh_token", "").partition(":")
            return self.passwords.knows(user, password)
        return self.passwords.knows(form.get("username", ""), form.get("password", ""))


def _covers(granted: frozenset[str], wanted: str) -> bool:
    return all(_covers_one(granted, scope) for scope in wanted.split())


def _covers_one(granted: frozenset[str], wanted: str) -> bool:
    """A grant of pull and push covers a pull; `*` covers all actions."""
    resource, _, actions = wanted.rpartition(":")
    held = {
        action
        for scope in granted
        if scope.rpartition(":")[0] == resource
        for action in scope.rpartition(":")[2].split(",")
    }
    return EVERY_ACTION in held or set(actions.split(",")) <= held


def _unauthorized(challenge: str, scope: str) -> Fault:
    return Fault(
        Code.UNAUTHORIZED,
        "authentication required",
        detail=scope,
        headers={"WWW-Authenticate": challenge},
    )
