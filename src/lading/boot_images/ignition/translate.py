"""Translates a stub of specification 2.0 to 2.4 to the lowest sufficient 3.x. Pure.

Every entry of the source is in the result, or a finding names it. Defaults that differ between the
specifications are written out.
"""

import re
from typing import Any

import msgspec

from lading.boot_images.ignition import resources, storage
from lading.boot_images.ignition.findings import Finding, Loss, RejectionReason, Unreadable
from lading.boot_images.ignition.reading import Findings, Reader, without_nothing

_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})(-[0-9A-Za-z.-]{1,30})?")
MINORS = range(5)  # 2.0 to 2.4
UNIT_SUFFIXES = (
    ".service", ".socket", ".device", ".mount", ".automount", ".swap", ".target", ".path",
    ".timer", ".snapshot", ".slice", ".scope",
)  # fmt: skip
UNIT_LINE_BYTES_MAX = 2047  # systemd's own limit, without the end of the line
_SPACES = " \t\r\v\f"
_SECTION = re.compile(r"\[[^]]*]")


class SpecVersion(msgspec.Struct, frozen=True, kw_only=True):
    major: int
    minor: int
    is_final: bool

    @classmethod
    def of(cls, config: dict[str, Any]) -> "SpecVersion":
        section = config.get("ignition")
        text = section.get("version") if isinstance(section, dict) else None
        found = _VERSION.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise Unreadable(Finding(RejectionReason.VERSION_MISSING, ("ignition", "version")))
        return cls(major=int(found[1]), minor=int(found[2]), is_final=found[4] is None)


class Translation(msgspec.Struct, frozen=True, kw_only=True):
    config: dict[str, Any]
    losses: tuple[Finding, ...] = ()


def translate(config: dict[str, Any]) -> Translation:
    """Raises Unreadable with all rejections."""
    version = SpecVersion.of(config)
    if version.major != 2 or version.minor not in MINORS or not version.is_final:
        raise Unreadable(Finding(RejectionReason.VERSION_UNSUPPORTED, ("ignition", "version")))
    findings = Findings(version.minor)
    reader = Reader(config, (), findings)
    _no_networkd(reader.object("networkd"))
    units = _units(reader.object("systemd"))
    result = without_nothing(
        ignition=_ignition(reader.object("ignition")),
        passwd=_passwd(reader.object("passwd")),
        storage=storage.translate(reader.object("storage"), unit_paths=_unit_paths(units)),
        systemd=without_nothing(units=units),
    )
    reader.finish()
    if findings.rejections:
        raise Unreadable(*findings.rejections)
    result["ignition"] = {"version": _lowest_version(result), **result.get("ignition", {})}
    return Translation(config=result, losses=tuple(findings.losses))


def _lowest_version(result: dict[str, Any]) -> str:
    """3.0.0 has everything of specification 2 except a proxy and HTTP headers."""
    needs_later = "proxy" in result.get("ignition", {}) or _has_key(result, "httpHeaders")
    return "3.1.0" if needs_later else "3.0.0"


def _has_key(value: Any, key: str) -> bool:
    if isinstance(value, dict):
        return key in value or any(_has_key(one, key) for one in value.values())
    return isinstance(value, list) and any(_has_key(one, key) for one in value)


def _no_networkd(networkd: Reader) -> None:
    for unit in networkd.objects("units"):
        unit.reject(RejectionReason.NETWORKD)
    networkd.finish()


def _ignition(section: Reader) -> dict[str, Any]:
    section.text("version")
    config, security = section.object("config"), section.object("security", since=2)
    tls, timeouts = security.object("tls"), section.object("timeouts", since=1)
    proxy = section.object("proxy", since=4)
    merge = resources.references(config, "append")
    replace = resources.resource(config.object("replace")) if config.has("replace") else None
    found = without_nothing(
        config=without_nothing(merge=merge, replace=replace if replace != {"source": ""} else None),
        security=without_nothing(
            tls=without_nothing(
                certificateAuthorities=resources.references(tls, "certificateAuthorities")
            )
        ),
        timeouts=without_nothing(
            httpResponseHeaders=timeouts.number("httpResponseHeaders"),
            httpTotal=timeouts.number("httpTotal"),
        ),
        proxy=without_nothing(
            httpProxy=resources.proxy(proxy, "httpProxy"),
            httpsProxy=resources.proxy(proxy, "httpsProxy"),
            noProxy=_unique(proxy.texts("noProxy") or []),
        ),
    )
    for reader in (section, config, security, tls, timeouts, proxy):
        reader.finish()
    return found


def _passwd(section: Reader) -> dict[str, Any]:
    users: dict[str, dict[str, Any]] = {}
    for reader in section.objects("users"):
        user = _user(reader)
        before = users.get(user["name"], {})
        if any(before.get(key, value) != value for key, value in user.items() if key != _KEYS):
            reader.lose(Loss.REPLACED)
        keys = [*before.get(_KEYS, ()), *user.get(_KEYS, ())]
        users[user["name"]] = {**before, **user, **without_nothing(**{_KEYS: _unique(keys)})}
    groups: dict[str, dict[str, Any]] = {}
    for reader in section.objects("groups"):
        group = _group(reader)
        if groups.setdefault(group["name"], group) != group:
            reader.reject(RejectionReason.DUPLICATE, "name")
    section.finish()
    return without_nothing(users=list(users.values()), groups=list(groups.values()))


_KEYS = "sshAuthorizedKeys"


def _user(reader: Reader) -> dict[str, Any]:
    settings = _user_settings(reader, since=1)
    create = reader.object("create")
    if reader.has("create"):
        created = _user_settings(create, since=0)
        create.finish()
        if settings:
            reader.reject(RejectionReason.USER_CREATE, "create")
        settings = created
    found = {
        "name": reader.required("name"),
        **without_nothing(
            passwordHash=reader.present_text("passwordHash"),
            sshAuthorizedKeys=_unique(reader.texts(_KEYS) or []),
        ),
        **settings,
    }
    reader.finish()
    return found


def _user_settings(reader: Reader, *, since: int) -> dict[str, Any]:
    return without_nothing(
        uid=reader.number("uid", since=since),
        gecos=reader.text("gecos", since=since),
        homeDir=reader.text("homeDir", since=since),
        noCreateHome=reader.true("noCreateHome", since=since),
        primaryGroup=reader.text("primaryGroup", since=since),
        groups=_unique(reader.texts("groups", since=since) or []),
        noUserGroup=reader.true("noUserGroup", since=since),
        noLogInit=reader.true("noLogInit", since=since),
        shell=reader.text("shell", since=since),
        system=reader.true("system", since=since),
    )


def _group(reader: Reader) -> dict[str, Any]:
    found = {
        "name": reader.required("name"),
        **without_nothing(
            gid=reader.number("gid"),
            passwordHash=reader.text("passwordHash"),
            system=reader.true("system"),
        ),
    }
    reader.finish()
    return found


def _units(section: Reader) -> list[dict[str, Any]]:
    """Specification 2 writes a repeated unit twice, so the later one wins."""
    units: dict[str, dict[str, Any]] = {}
    for reader in section.objects("units"):
        unit = _unit(reader)
        before = units.get(unit["name"], {})
        if before:
            reader.lose(Loss.REPLACED)
        dropins = {one["name"]: one for one in before.get("dropins", ())}
        dropins |= {one["name"]: one for one in unit.get("dropins", ())}
        merged = {**before, **unit, **without_nothing(dropins=list(dropins.values()))}
        units[unit["name"]] = merged
    section.finish()
    return list(units.values())


def _unit(reader: Reader) -> dict[str, Any]:
    name, contents = reader.required("name"), reader.text("contents")
    if not name.endswith(UNIT_SUFFIXES):
        reader.reject(RejectionReason.UNIT_NAME, "name")
    if not unit_is_readable(contents or ""):
        reader.reject(RejectionReason.UNIT_CONTENTS, "contents")
    dropins: dict[str, dict[str, Any]] = {}
    for one in reader.objects("dropins"):
        dropin = _dropin(one)
        if dropins.setdefault(dropin["name"], dropin) != dropin:
            one.lose(Loss.REPLACED)
            dropins[dropin["name"]] = dropin
    found = without_nothing(
        name=name,
        enabled=_enabled(reader),
        mask=reader.true("mask"),
        contents=contents,
        dropins=list(dropins.values()),
    )
    reader.finish()
    return found


def _enabled(reader: Reader) -> bool | None:
    """The deprecated `enable` can only enable; an explicit `enabled: false` wins."""
    enable, enabled = reader.true("enable"), reader.truth("enabled", since=1)
    return enable if enabled is None else enabled


def _dropin(reader: Reader) -> dict[str, Any]:
    name, contents = reader.required("name"), reader.text("contents")
    if not name.endswith(".conf"):
        reader.reject(RejectionReason.UNIT_NAME, "name")
    if not unit_is_readable(contents or ""):
        reader.reject(RejectionReason.UNIT_CONTENTS, "contents")
    reader.finish()
    return without_nothing(name=name, contents=contents)


def unit_is_readable(text: str) -> bool:
    """A unit has sections in brackets with `Name=value`; a backslash continues a line."""
    if any(len(line.encode()) > UNIT_LINE_BYTES_MAX for line in text.split("\n")):
        return False
    in_section, lines = False, iter(text.split("\n"))
    for line in lines:
        stripped = line.strip(_SPACES)
        is_comment = stripped.startswith(("#", ";"))
        if stripped.startswith("["):
            if not _SECTION.fullmatch(stripped):
                return False
            in_section = True
            continue
        if stripped and not is_comment:
            name, equals, _ = stripped.partition("=")
            if not in_section or not equals or "\r" in name:
                return False
        while line.removesuffix(" " if is_comment else "").endswith("\\"):
            line = next(lines, "")
    return True


def _unit_paths(units: list[dict[str, Any]]) -> frozenset[str]:
    folder = "/etc/systemd/system"
    paths = {f"{folder}/{unit['name']}" for unit in units if unit.get("contents")}
    return frozenset(paths | {
        f"{folder}/{unit['name']}.d/{dropin['name']}"
        for unit in units
        for dropin in unit.get("dropins", ())
        if dropin.get("contents")
    })  # fmt: skip


def _unique(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(texts))
