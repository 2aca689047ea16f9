"""The user that a request is made for: `kubectl --as` and `--as-group`.

Every known user may act for any other, so this gives no rights and takes none: it is what admission
policies and reviews see of the user.
"""

import urllib.parse
from collections.abc import Mapping

from lading.servers.kube import status
from lading.servers.kube.authentication import ANONYMOUS, User

_USER = "impersonate-user"
_GROUP = "impersonate-group"
_UID = "impersonate-uid"
_EXTRA = "impersonate-extra-"
_ACCOUNT = "system:serviceaccount:"


def user(asking: User, headers: Mapping[str, str]) -> User:
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
    """What was asked for, or what an account has, and the group of all known users."""
    if name == ANONYMOUS.name:
        return asked or ANONYMOUS.groups
    if not asked and name.startswith(_ACCOUNT):
        namespace = name.removeprefix(_ACCOUNT).partition(":")[0]
        asked = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return tuple(dict.fromkeys((*asked, "system:authenticated")))


def _values(header: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in header.split(",") if each.strip())
