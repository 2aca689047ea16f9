"""The user of a request: bearer tokens, known by their digests.

Every request needs a token, except those for the health and the
version of the server. A known user may do everything: RBAC objects are stored, and not enforced.
"""

import hashlib
from collections.abc import Mapping

import msgspec

from lading.servers.kube import status

OPEN_PATHS = frozenset({"/livez", "/healthz", "/readyz", "/version"})


class User(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    uid: str = ""
    groups: tuple[str, ...] = ("system:authenticated",)
    extra: Mapping[str, tuple[str, ...]] = {}


ADMIN = User(name="admin", groups=("system:masters", "system:authenticated"))
ANONYMOUS = User(name="system:anonymous", groups=("system:unauthenticated",))


class Authenticator:
    """Knows tokens by digest, so that finding one takes the same time whatever it shares."""

    def __init__(self, tokens: Mapping[str, User]) -> None:
        assert all(token.strip() for token in tokens), "every client has the empty token"
        self._users = {_digest(token): user for token, user in tokens.items()}

    def user(self, path: str, headers: Mapping[str, str]) -> User:
        """Returns the user, or raises the 401."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        known = self._users.get(_digest(token.strip())) if scheme.lower() == "bearer" else None
        if known is not None:
            return known
        if path in OPEN_PATHS:
            return ANONYMOUS
        raise status.unauthorized()


def _digest(token: str) -> bytes:
    """A header may hold bytes that are no text, which reach us as surrogates."""
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()
