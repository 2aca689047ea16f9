"""The address of the registry, by the rules of `oc adm prune images --registry-url`. Pure."""

import re
from urllib.parse import urlsplit

import msgspec

from lading.kernel.errors import Malformed

_PORT_MAX = 65535
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.%a-z0-9]+\]")


class RegistryUrl(msgspec.Struct, frozen=True, kw_only=True):
    host: str
    """With its port, if it has one."""
    scheme: str = ""
    """Empty if the address has none: then HTTPS, and HTTP if that is allowed."""


def parse(text: str) -> RegistryUrl:
    scheme, separator, rest = text.partition("://")
    if not separator:
        scheme, rest = "", text
    if separator and scheme not in ("http", "https"):
        raise _malformed(text, "the scheme must be http or https")
    try:
        parts = urlsplit(f"//{rest}")
        port = parts.port
    except ValueError as error:
        raise _malformed(text, str(error)) from error
    if parts.path not in ("", "/"):
        raise _malformed(text, f"it must not have a path, such as {parts.path!r}")
    if parts.query or parts.fragment or "?" in text or "#" in text:
        raise _malformed(text, "it must not have a query or a fragment")
    if parts.username is not None:
        raise _malformed(text, "it must not have a user; log in with `docker login`")
    host = parts.netloc
    name = host if port is None else host.rpartition(":")[0]
    if not name or not _HOST.fullmatch(name.removesuffix(":")) or host.endswith(":"):
        raise _malformed(text, "it needs a host, such as registry.example.com:5000")
    if port is not None and not 0 < port <= _PORT_MAX:
        raise _malformed(text, f"the port must be between 1 and {_PORT_MAX}")
    return RegistryUrl(host=host, scheme=scheme)


def check_trust(url: RegistryUrl, *, has_authority: bool, force_insecure: bool) -> None:
    """The combinations that oc refuses as well."""
    if has_authority and force_insecure:
        raise _malformed(
            url.host, "--certificate-authority cannot be combined with --force-insecure"
        )
    if has_authority and url.scheme == "http":
        raise _malformed(url.host, "--certificate-authority makes no sense with http://")


def _malformed(text: str, reason: str) -> Malformed:
    return Malformed(what="registry URL", text=text, reason=reason)
