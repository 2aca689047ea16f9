"""The stub of new machines: the new boot image can read it, and it trusts the server. Pure.

A machine does not boot with a stub that trusts another certificate than the server's, or only
expired ones. So the certificate authorities of a stub are renewed.
"""

import base64
import binascii
import json
import re
import urllib.parse
from datetime import datetime
from typing import Any

import msgspec
from cryptography import x509

from lading.boot_images.ignition import reading, resources, translate
from lading.boot_images.ignition.findings import Finding, Loss, RejectionReason, Unreadable
from lading.boot_images.ignition.translate import SpecVersion
from lading.boot_images.platforms.types import object_at

MINOR_KNOWN_MAX = 6  # 3.6 is the newest specification that Lading knows
SERVER_PORT = 22623  # of the machine config server, on every platform
SERVER_PATH = "/config/"
_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----")


class Stub(msgspec.Struct, frozen=True, kw_only=True):
    """`data` is the stub for new machines; None if the source can be used as it is."""

    data: bytes | None = None
    losses: tuple[Finding, ...] = ()
    because: str = ""
    notes: tuple[str, ...] = ()


def prepare(source: bytes, *, bundle: bytes | None, now: datetime) -> Stub:
    """Raises Unreadable if the stub cannot be read or translated."""
    config = reading.parse(source)
    version = SpecVersion.of(config)
    losses: tuple[Finding, ...] = ()
    reasons: list[str] = []
    if version.major == 3:
        losses = _version_3(version)
    else:
        translated = translate.translate(config)
        config, losses = translated.config, translated.losses
        reasons.append("the stub is of Ignition specification 2")
    notes: tuple[str, ...] = ()
    if uses_server(config):
        if bundle is not None and not is_current(config, bundle):
            config = renewed(config, bundle)
            reasons.append("the machine config server has another certificate authority")
        elif has_expired(config, now):
            notes = ("the certificate authority of the stub has expired",)
    data = encoded(config) if reasons else None
    return Stub(data=data, losses=losses, because=" and ".join(reasons), notes=notes)


def encoded(config: dict[str, Any]) -> bytes:
    return json.dumps(config, separators=(",", ":"), ensure_ascii=False).encode()


def _version_3(version: SpecVersion) -> tuple[Finding, ...]:
    path = ("ignition", "version")
    if not version.is_final:
        raise Unreadable(Finding(RejectionReason.VERSION_UNSUPPORTED, path))
    return (Finding(Loss.VERSION_UNKNOWN, path),) if version.minor > MINOR_KNOWN_MAX else ()


def certificates(pem: bytes) -> tuple[x509.Certificate, ...]:
    """The certificates that can be read."""
    found = []
    for block in _PEM.findall(pem):
        try:
            found.append(x509.load_der_x509_certificate(base64.b64decode(block)))
        except (binascii.Error, ValueError):
            continue
    return tuple(found)


def uses_server(config: dict[str, Any]) -> bool:
    """The stub fetches its configuration from the machine config server."""
    section = object_at(object_at(config, "ignition"), "config")
    references = [*_objects(section, "merge"), object_at(section, "replace")]
    return any(_is_of_server(one.get("source")) for one in references)


def sources(config: dict[str, Any]) -> list[dict[str, Any]]:
    tls = object_at(object_at(object_at(config, "ignition"), "security"), "tls")
    return _objects(tls, "certificateAuthorities")


def trusted(config: dict[str, Any]) -> tuple[x509.Certificate, ...]:
    texts = [one.get("source") for one in sources(config)]
    data = [resources.data_of(text) for text in texts if isinstance(text, str)]
    return tuple(one for pem in data if pem is not None for one in certificates(pem))


def has_expired(config: dict[str, Any], now: datetime) -> bool:
    """Every certificate that the stub trusts has expired."""
    found = trusted(config)
    return bool(found) and all(one.not_valid_after_utc <= now for one in found)


def is_current(config: dict[str, Any], bundle: bytes) -> bool:
    """The stub trusts every certificate of the server's bundle."""
    wanted = set(certificates(bundle))
    return not wanted or not sources(config) or wanted <= set(trusted(config))


def renewed(config: dict[str, Any], bundle: bytes) -> dict[str, Any]:
    """A single authority is replaced. To several, which may be of a proxy, one is added."""
    text = base64.b64encode(bundle).decode()
    authority = {"source": f"data:text/plain;charset=utf-8;base64,{text}"}
    before = sources(config)
    kept = before if len(before) > 1 else []
    section = object_at(config, "ignition")
    security = object_at(section, "security")
    tls = {**object_at(security, "tls"), "certificateAuthorities": [*kept, authority]}
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


def _objects(value: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = value.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
