"""Stubs that look usual and are not. Ignition's own validator judged each one.

`TRANSLATED` are valid in specification 2, and their translation is valid in 3. `REFUSED` are
bad in both: a machine would not boot.
"""

from typing import Any

from lading.boot_images.ignition.findings import RejectionReason
from tests.boot_images.ignition.stubs import config, file, files, partitions, storage, units

Stub = dict[str, Any]


def proxy(**fields: Any) -> Stub:
    return {"ignition": {"version": "2.4.0", "proxy": fields}}


def source(text: str, **fields: Any) -> Stub:
    return files(file(contents={"source": text, **fields}))


def headers(*pairs: tuple[str, str]) -> Stub:
    listed = [{"name": name, "value": value} for name, value in pairs]
    return source("https://example.com/a", httpHeaders=listed)


def array(*devices: str) -> Stub:
    return storage(raid=[{"name": "md", "level": "raid1", "devices": list(devices)}])


def unit(contents: str) -> Stub:
    return units({"name": "a.service", "contents": contents})


TRANSLATED: tuple[tuple[str, Stub], ...] = (
    ("a proxy without a scheme", proxy(httpProxy="proxy.corp:3128")),
    ("a proxy that is an address", proxy(httpsProxy="10.0.0.1:3128")),
    ("a host twice in noProxy", proxy(httpProxy="http://p", noProxy=["a", "b", "a"])),
    ("a header without a value", headers(("A", ""), ("B", "b"))),
    ("only a header without a value", headers(("A", ""))),
    ("a header twice", headers(("A", "a"), ("A", "a"))),
    ("an array on a device path with two slashes", array("/dev//sda", "/dev/sdb")),
    ("an array on a device path with a dot", array("/dev/./sda", "/dev/sdb/")),
    ("a disk on a path through its parent", storage(disks=[{"device": "/dev/x/../sda"}])),
    ("a URL in capitals", source("HTTPS://EXAMPLE.COM/a")),
    ("a URL of an IPv6 address", source("https://[fd00::1]:22623/config/worker")),
    ("a URL with a password", source("https://user:p%40ss@example.com/a")),
    ("a URL with a space in its path", source("https://example.com/a b")),
    ("a data URL with a charset", source("data:text/plain;charset=utf-8,a%20b")),
    ("a comment that continues", unit("[Unit]\n# a \\\nb\nDescription=a\n")),
    ("a value of several lines", unit("[Unit]\nDescription=a \\\nb\n[Service]\nExecStart=/a\n")),
    ("lines of Windows", unit("[Unit]\r\nDescription=a\r\n")),
)
URL, SOURCE = RejectionReason.URL, "storage.files[0].contents.source"
CONTENTS, UNIT = RejectionReason.UNIT_CONTENTS, "systemd.units[0].contents"
REFUSED: tuple[tuple[str, Stub, RejectionReason, str], ...] = (
    ("a URL with a space in its host", source("https://exa mple.com/a"), URL, SOURCE),
    ("a URL with a port in letters", source("https://example.com:https/a"), URL, SOURCE),
    ("a URL with an open bracket", source("https://[fd00::1/a"), URL, SOURCE),
    ("a URL with a broken escape", source("https://example.com/%zz"), URL, SOURCE),
    ("a URL with a line break", source("https://example.com/a\n"), URL, SOURCE),
    ("a data URL without a comma", source("data:text/plain"), URL, SOURCE),
    ("a data URL of an unknown type", source("data:foo/bar,a"), URL, SOURCE),
    ("a data URL with a bare word", source("data:utf-8,a"), URL, SOURCE),
    ("a data URL with a space", source("data:,a b"), URL, SOURCE),
    ("a data URL with a broken escape", source("data:,a%2"), URL, SOURCE),
    ("base64 without its padding", source("data:;base64,aGVsbG8"), URL, SOURCE),
    ("base64 in two lines", source("data:;base64,aGVs\nbG8="), URL, SOURCE),
    (
        "a proxy of another scheme",
        proxy(httpProxy="socks5://proxy.corp:1080"),
        RejectionReason.PROXY,
        "ignition.proxy.httpProxy",
    ),
    (
        "a proxy with a space",
        proxy(httpsProxy="proxy corp:3128"),
        RejectionReason.PROXY,
        "ignition.proxy.httpsProxy",
    ),
    (
        "two values of one header",
        headers(("A", "a"), ("A", "b")),
        RejectionReason.DUPLICATE,
        "storage.files[0].contents.httpHeaders[1].name",
    ),
    (
        "an array with a device under two paths",
        array("/dev/sda", "/dev//sda"),
        RejectionReason.RAID,
        "storage.raid[0].devices",
    ),
    (
        "a number of more than 64 bits",
        config(passwd={"users": [{"name": "a", "uid": 2**63}]}),
        RejectionReason.NUMBER,
        "passwd.users[0].uid",
    ),
    (
        "a partition of negative size",
        partitions(
            {"number": 1, "startMiB": 9, "sizeMiB": 1}, {"number": 2, "startMiB": 20, "sizeMiB": -5}
        ),
        RejectionReason.NUMBER,
        "storage.disks[0].partitions[1].sizeMiB",
    ),
    ("words after a section", unit("[Unit] Description=a]\n"), CONTENTS, UNIT),
    ("a line of 2,048 bytes", unit("[Unit]\nA=" + "ü" * 1023 + "\n"), CONTENTS, UNIT),
    ("an option without a value at the end", unit("[Unit]\nDescription"), CONTENTS, UNIT),
    ("a line that only looks ended", unit("[Unit]\nA\u2028B=c\nD\u2028"), CONTENTS, UNIT),
)
