"""Docker configuration files and containers' auth files, as credentials.

An entry that cannot be read only disables itself: it becomes a `problem` that names it, and the
others still work. Problems never show a secret.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from lading.adapters.registry import image_patterns
from lading.kernel.errors import UNREADABLE
from lading.kernel.values import Redacted
from lading.ports.registry import Credential

FILE_BYTES_MAX = 1024 * 1024  # a Kubernetes Secret cannot be larger
_NO_USER = "<token>"  # docker's mark for a secret that is an identity token


class AuthFile(Redacted, frozen=True, kw_only=True):
    """What a file says; `helper_by_pattern` and `default_helper` name programs to ask."""

    shown = ("helper_by_pattern", "default_helper", "problems")

    credential_by_pattern: Mapping[str, Credential] = {}
    helper_by_pattern: Mapping[str, str] = {}
    default_helper: str = ""
    problems: tuple[str, ...] = ()


Parser = Callable[[bytes, str], AuthFile]
"""From a content and its name, for problems, to what it says."""


class _Entry(Redacted, frozen=True):
    auth: str = ""
    username: str = ""
    password: str = ""
    identity_token: str = msgspec.field(name="identitytoken", default="")
    registry_token: str = msgspec.field(name="registrytoken", default="")


class _File(msgspec.Struct):
    auths: dict[str, msgspec.Raw] = {}
    helper_by_host: dict[str, Any] = msgspec.field(name="credHelpers", default_factory=dict)
    default_helper: str = msgspec.field(name="credsStore", default="")


def read(path: Path) -> AuthFile:
    return read_as(parse, path)


def read_as(parser: Parser, path: Path) -> AuthFile:
    """The file's content; one that is not there says nothing."""
    try:
        with path.open("rb") as file:
            return parser(file.read(FILE_BYTES_MAX + 1), str(path))
    except FileNotFoundError:
        return AuthFile()
    except OSError as error:
        return AuthFile(problems=(f"{path}: cannot be read: {error.strerror}",))


def parse(content: bytes, name: str) -> AuthFile:
    """A docker `config.json` or a containers `auth.json`."""
    document = _decoded(content, _File)
    if document is None:
        return AuthFile(problems=(f"{name}: not a docker configuration in JSON; ignored",))
    helpers, helper_problems = _helpers(document.helper_by_host, name)
    credentials, problems = _entries(document.auths, name)
    return AuthFile(
        credential_by_pattern=credentials,
        helper_by_pattern=helpers,
        default_helper=document.default_helper,
        problems=(*problems, *helper_problems),
    )


def parse_dockercfg(content: bytes, name: str) -> AuthFile:
    """Docker's older file: the entries alone."""
    auths = _decoded(content, dict[str, msgspec.Raw])
    if auths is None:
        return AuthFile(problems=(f"{name}: not a dockercfg in JSON; ignored",))
    credentials, problems = _entries(auths, name)
    return AuthFile(credential_by_pattern=credentials, problems=problems)


def _helpers(
    helper_by_host: Mapping[str, object], name: str
) -> tuple[dict[str, str], tuple[str, ...]]:
    helpers = {
        image_patterns.normalised(host): helper
        for host, helper in helper_by_host.items()
        if isinstance(helper, str)
    }
    problems = tuple(
        f"{name}: the helper for {host[:120]!r} is not a name; ignored"
        for host, helper in helper_by_host.items()
        if not isinstance(helper, str)
    )
    return helpers, problems


def _entries(
    auths: Mapping[str, msgspec.Raw], name: str
) -> tuple[dict[str, Credential], tuple[str, ...]]:
    credentials: dict[str, Credential] = {}
    problems: list[str] = []
    for key, raw in auths.items():
        entry = _decoded(bytes(raw), _Entry)
        credential = None if entry is None else _credential(entry)
        if credential is None:
            problems.append(f"{name}: the entry for {key[:120]!r} is malformed; ignored")
        elif credential != Credential():
            credentials[image_patterns.normalised(key)] = credential
    return credentials, tuple(problems)


def _credential(entry: _Entry) -> Credential | None:
    """The credential of an entry; an empty one means that a helper has it."""
    username, password = entry.username, entry.password
    if entry.auth:
        try:
            pair = base64.b64decode(entry.auth, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return None
        username, colon, password = pair.partition(":")
        if not colon:
            return None
    return from_secret(
        username,
        password.rstrip("\x00"),
        identity_token=entry.identity_token,
        registry_token=entry.registry_token,
    )


def from_secret(
    username: str, secret: str, *, identity_token: str = "", registry_token: str = ""
) -> Credential:
    if username == _NO_USER:
        return Credential(identity_token=identity_token or secret, registry_token=registry_token)
    return Credential(
        username=username,
        password=secret,
        identity_token=identity_token,
        registry_token=registry_token,
    )


def _decoded(content: bytes, kind: Any) -> Any:
    if len(content) > FILE_BYTES_MAX:
        return None
    try:
        return msgspec.json.decode(content, type=kind)
    except UNREADABLE:
        return None
