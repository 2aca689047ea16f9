"""Guest platforms of runtime handlers, read from a containerd-style configuration.

Reads `…runtimes.<handler>.guest_platform` tables wherever a plugin section holds them; decides
nothing about whether a guest can run.
"""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from lading.kernel.errors import Malformed
from lading.kernel.platforms.types import Platform, normalised


def parse(text: str) -> dict[str, Platform]:
    """Handler name to guest platform; a handler without a guest table is not listed."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Malformed(what="runtime configuration", text=text, reason=str(error)) from error
    return {
        handler: _platform(handler, table["guest_platform"])
        for handler, table in _runtimes(document)
        if isinstance(table, Mapping) and "guest_platform" in table
    }


def _runtimes(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every `runtimes.<handler>` table at any depth: its place differs between versions."""
    for name, value in document.items():
        if not isinstance(value, Mapping):
            continue
        if name == "runtimes":
            yield from value.items()
        else:
            yield from _runtimes(value)


class _GuestPlatform(msgspec.Struct, frozen=True, kw_only=True):
    os: str = msgspec.field(name="OS")
    architecture: str = msgspec.field(name="Architecture")
    variant: str = msgspec.field(name="Variant", default="")
    os_version: str = msgspec.field(name="OSVersion", default="")
    os_features: tuple[str, ...] = msgspec.field(name="OSFeatures", default=())


def _platform(handler: str, table: Any) -> Platform:
    try:
        guest = msgspec.convert(table, _GuestPlatform)
    except msgspec.ValidationError as error:
        what = f"guest_platform of runtime handler {handler!r}"
        raise Malformed(what=what, text=table, reason=str(error)) from error
    return normalised(
        Platform(
            os=guest.os,
            architecture=guest.architecture,
            variant=guest.variant,
            os_version=guest.os_version,
            os_features=guest.os_features,
        )
    )
