"""What a machine set's stub must be: readable by the new boot image, trusting the server. Pure."""

import json
from datetime import datetime
from typing import Any

import msgspec

from lading.boot_images.ignition import authorities, reading, translate
from lading.boot_images.ignition.findings import Finding, Loss, RejectionReason, Unreadable
from lading.boot_images.ignition.translate import SpecVersion

MINOR_KNOWN_MAX = 6  # 3.6 is the newest specification that was read for this table


class Stub(msgspec.Struct, frozen=True, kw_only=True):
    """`data` is what new machines should get; None when the source is right as it is."""

    data: bytes | None = None
    losses: tuple[Finding, ...] = ()
    because: str = ""
    notes: tuple[str, ...] = ()


def prepare(source: bytes, *, bundle: bytes | None, now: datetime) -> Stub:
    """Raises Unreadable when the stub cannot be read or translated."""
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
    if authorities.uses_server(config):
        if bundle is not None and not authorities.is_current(config, bundle):
            config = authorities.renewed(config, bundle)
            reasons.append("the machine config server has another certificate authority")
        elif authorities.has_expired(config, now):
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
