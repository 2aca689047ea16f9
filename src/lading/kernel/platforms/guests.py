"""Guest platforms of runtime handlers, read from a containerd-style configuration.

Reads `…runtimes.<handler>.guest_platform` tables and containerd's own
`…runtime_platforms.<handler>.platform` wherever a plugin section holds them; decides nothing about
whether a guest can run. A table of ours may also list the runtime classes of the handler.
"""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from lading.kernel.errors import Malformed
from lading.kernel.platforms import types
from lading.kernel.platforms.types import Platform, normalised


def parse(text: str) -> dict[str, Platform]:
    """Handler name to guest platform; a handler without a guest table is not listed."""
    document = _document(text)
    texts = {
        handler: types.parse(str(table["platform"]))
        for handler, table in _tables(document, "runtime_platforms")
        if table.get("platform")
    }
    tables = {
        handler: _platform(handler, table["guest_platform"])
        for handler, table in _tables(document, "runtimes")
        if "guest_platform" in table
    }
    return texts | tables


def handlers(text: str) -> dict[str, Platform | None]:
    """Every handler; None where its guests share the host's platform."""
    names = (handler for handler, _ in _tables(_document(text), "runtimes"))
    return dict.fromkeys(names) | parse(text)


def class_names(text: str) -> dict[str, tuple[str, ...]]:
    """The names that `runtimes.<handler>.runtime_class_names` lists, where one is there."""
    return {
        handler: _names(handler, table["runtime_class_names"])
        for handler, table in _tables(_document(text), "runtimes")
        if "runtime_class_names" in table
    }


def _document(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Malformed(what="TOML document", text=text, reason=str(error)) from error


def _tables(document: Mapping[str, Any], kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every `<kind>.<handler>` table at any depth: its place differs between versions."""
    for name, value in document.items():
        if not isinstance(value, Mapping):
            continue
        if name == kind:
            yield from ((key, table) for key, table in value.items() if isinstance(table, Mapping))
        else:
            yield from _tables(value, kind)


def _names(handler: str, names: Any) -> tuple[str, ...]:
    try:
        return msgspec.convert(names, tuple[str, ...])
    except msgspec.ValidationError as error:
        what = f"runtime_class_names of runtime handler {handler!r}"
        raise Malformed(what=what, text=names, reason=str(error)) from error


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
