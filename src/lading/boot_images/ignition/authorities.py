"""The certificate authorities of a stub, by which a new machine trusts the server. Pure.

A stub that names a certificate other than the server's, or one that has expired, boots no machine.
"""

import base64
import binascii
import re
import urllib.parse
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lading.boot_images.ignition import resources

if TYPE_CHECKING:
    from cryptography import x509

SERVER_PORT = 22623  # of the machine config server, on every platform
SERVER_PATH = "/config/"
_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----")


def certificates(pem: bytes) -> "tuple[x509.Certificate, ...]":
    """Those that can be read."""
    from cryptography import x509  # slow to load, and no help needs it

    found = []
    for block in _PEM.findall(pem):
        try:
            found.append(x509.load_der_x509_certificate(base64.b64decode(block)))
        except (binascii.Error, ValueError):
            continue
    return tuple(found)


def uses_server(config: dict[str, Any]) -> bool:
    """Whether the stub fetches its configuration from the machine config server."""
    section = _object(_object(config, "ignition"), "config")
    references = [*_objects(section, "merge"), _object(section, "replace")]
    return any(_is_of_server(one.get("source")) for one in references)


def sources(config: dict[str, Any]) -> list[dict[str, Any]]:
    tls = _object(_object(_object(config, "ignition"), "security"), "tls")
    return _objects(tls, "certificateAuthorities")


def trusted(config: dict[str, Any]) -> "tuple[x509.Certificate, ...]":
    texts = [one.get("source") for one in sources(config)]
    data = [resources.data_of(text) for text in texts if isinstance(text, str)]
    return tuple(one for pem in data if pem is not None for one in certificates(pem))


def has_expired(config: dict[str, Any], now: datetime) -> bool:
    """Whether every certificate that the stub trusts has expired."""
    found = trusted(config)
    return bool(found) and all(one.not_valid_after_utc <= now for one in found)


def is_current(config: dict[str, Any], bundle: bytes) -> bool:
    """Whether the stub trusts everything that the server's bundle holds."""
    wanted = set(certificates(bundle))
    return not wanted or not sources(config) or wanted <= set(trusted(config))


def renewed(config: dict[str, Any], bundle: bytes) -> dict[str, Any]:
    """The only authority is replaced; beside several, which may be a proxy's, one is added."""
    text = base64.b64encode(bundle).decode()
    authority = {"source": f"data:text/plain;charset=utf-8;base64,{text}"}
    before = sources(config)
    kept = before if len(before) > 1 else []
    section = _object(config, "ignition")
    security = _object(section, "security")
    tls = {**_object(security, "tls"), "certificateAuthorities": [*kept, authority]}
    return {**config, "ignition": {**section, "security": {**security, "tls": tls}}}


def _is_of_server(source: Any) -> bool:
    if not isinstance(source, str):
        return False
    try:
        url = urllib.parse.urlsplit(source)
        return url.scheme == "https" and (
            url.port == SERVER_PORT or url.path.startswith(SERVER_PATH)
        )
    except ValueError:
        return False


def _object(value: dict[str, Any], key: str) -> dict[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _objects(value: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = value.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
