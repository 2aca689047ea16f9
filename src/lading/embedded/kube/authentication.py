"""The user of a request: by its bearer token, or by `kubectl --as`.

Every request needs a token, except those for health and version. RBAC is not enforced: every user
may do everything. Impersonation only changes the user that admission policies and reviews see.
"""

import hashlib
import urllib.parse
from collections.abc import Mapping

import msgspec

from lading.embedded.kube import status

OPEN_PATHS = frozenset({"/livez", "/healthz", "/readyz", "/version"})


_USER = "impersonate-user"
_GROUP = "impersonate-group"
_UID = "impersonate-uid"
_EXTRA = "impersonate-extra-"
_ACCOUNT = "system:serviceaccount:"


class User(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    uid: str = ""
    groups: tuple[str, ...] = ("system:authenticated",)
    extra: Mapping[str, tuple[str, ...]] = {}


ADMIN = User(name="admin", groups=("system:masters", "system:authenticated"))
ANONYMOUS = User(name="system:anonymous", groups=("system:unauthenticated",))


class Authenticator:
    """Finds tokens by digest, so that the time of a search tells nothing about a token."""

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
    """The digest of a token; bytes that are not UTF-8 arrive as surrogates."""
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()


def impersonated(asking: User, headers: Mapping[str, str]) -> User:
    """The user that the headers name, or else the one of the token."""
    name = headers.get(_USER, "")
    extra = {key: value for key, value in headers.items() if key.startswith(_EXTRA)}
    if not name and (extra or _GROUP in headers or _UID in headers):
        raise status.bad_request("requested groups, uid or extra without impersonating a user")
    if not name:
        return asking
    return User(
        name=name,
        uid=headers.get(_UID, ""),
        groups=_groups(name, _values(headers.get(_GROUP, ""))),
        extra={
            urllib.parse.unquote(key.removeprefix(_EXTRA)): _values(value)
            for key, value in extra.items()
        },
    )


def _groups(name: str, asked: tuple[str, ...]) -> tuple[str, ...]:
    """The groups of the request, or of a service account, and the group of all users."""
    if name == ANONYMOUS.name:
        return asked or ANONYMOUS.groups
    if not asked and name.startswith(_ACCOUNT):
        namespace = name.removeprefix(_ACCOUNT).partition(":")[0]
        asked = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return tuple(dict.fromkeys((*asked, "system:authenticated")))


def _values(header: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in header.split(",") if each.strip())
