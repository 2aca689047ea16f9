"""Every stub that has no translation: the reason and the path, and never a value."""

from typing import Any

import pytest

from lading.boot_images.ignition import findings, reading, translate
from lading.boot_images.ignition.findings import RejectionReason, Unreadable
from tests.boot_images.ignition import odd
from tests.boot_images.ignition.stubs import (
    MARKER,
    SHA512,
    config,
    file,
    files,
    partitions,
    storage,
    units,
)

DIRECTORY = {"filesystem": "root", "path": "/d", "mode": 0o755}
LINK = {"filesystem": "root", "path": "/l", "target": "/t"}
EXT4 = {"device": "/dev/sdb", "format": "ext4"}
UNIT = {"name": "a.service", "contents": "[Service]\nExecStart=/bin/true\n"}
RAID = {"name": "md", "level": "raid1", "devices": ["/dev/a", "/dev/b"]}


def source(text: str, **fields: Any) -> dict[str, Any]:
    return files(file(contents={"source": text, **fields}))


def users(*entries: dict[str, Any]) -> dict[str, Any]:
    return config(passwd={"users": list(entries)})


def on(*names: str, **filesystem: Any) -> dict[str, Any]:
    """A file on each file system, of which one is declared."""
    entries = [{"filesystem": name, "path": f"/{index}"} for index, name in enumerate(names)]
    return storage(filesystems=[filesystem] if filesystem else [], files=entries)


REJECTED: tuple[tuple[str, dict[str, Any], RejectionReason, str], ...] = (
    ("an empty configuration", {}, RejectionReason.VERSION_MISSING, "ignition.version"),
    ("no version", {"ignition": {}}, RejectionReason.VERSION_MISSING, "ignition.version"),
    ("a version that is none", config("two"), RejectionReason.VERSION_MISSING, "ignition.version"),
    ("specification 1", config("1.2.0"), RejectionReason.VERSION_UNSUPPORTED, "ignition.version"),
    (
        "2.5 experimental",
        config("2.5.0-experimental"),
        RejectionReason.VERSION_UNSUPPORTED,
        "ignition.version",
    ),
    ("2.5", config("2.5.0"), RejectionReason.VERSION_UNSUPPORTED, "ignition.version"),
    ("21", config("21.0.0"), RejectionReason.VERSION_UNSUPPORTED, "ignition.version"),
    ("a section that is a text", config(storage=MARKER), RejectionReason.WRONG_TYPE, "storage"),
    (
        "files that are an object",
        storage(files={"a": MARKER}),
        RejectionReason.WRONG_TYPE,
        "storage.files",
    ),
    (
        "a mode that is a text",
        files(file(mode="0644")),
        RejectionReason.WRONG_TYPE,
        "storage.files[0].mode",
    ),
    (
        "a mode that is true",
        files(file(mode=True)),
        RejectionReason.WRONG_TYPE,
        "storage.files[0].mode",
    ),
    ("a key in another case", config(Storage={}), RejectionReason.KEY_CASE, ""),
    (
        "a networkd unit",
        config(networkd={"units": [{"name": "a.network"}]}),
        RejectionReason.NETWORKD,
        "networkd.units[0]",
    ),
    ("a relative path", files(file("etc/a")), RejectionReason.PATH, "storage.files[0].path"),
    (
        "a file without a file system",
        files({"path": "/a"}),
        RejectionReason.VALUE_REQUIRED,
        "storage.files[0].filesystem",
    ),
    ("a mode too large", files(file(mode=0o10000)), RejectionReason.MODE, "storage.files[0].mode"),
    ("a negative mode", files(file(mode=-1)), RejectionReason.MODE, "storage.files[0].mode"),
    (
        "an owner by id and name",
        files(file(user={"id": 0, "name": MARKER})),
        RejectionReason.OWNER,
        "storage.files[0].user",
    ),
    (
        "overwrite and append",
        files(file(overwrite=True, append=True)),
        RejectionReason.OVERWRITE,
        "storage.files[0].overwrite",
    ),
    (
        "another compression",
        source("data:,a", compression="xz"),
        RejectionReason.COMPRESSION,
        "storage.files[0].contents.compression",
    ),
    (
        "an oem URL",
        source(f"oem:///{MARKER}"),
        RejectionReason.URL,
        "storage.files[0].contents.source",
    ),
    (
        "a scheme that does not exist",
        source("ftp://a/b"),
        RejectionReason.URL,
        "storage.files[0].contents.source",
    ),
    (
        "a data URL of broken base64",
        source("data:;base64,====a"),
        RejectionReason.URL,
        "storage.files[0].contents.source",
    ),
    (
        "an S3 URL of an empty version",
        source("s3://a/b?versionId="),
        RejectionReason.URL,
        "storage.files[0].contents.source",
    ),
    (
        "headers of a data URL",
        source("data:,a", httpHeaders=[{"name": "A", "value": MARKER}]),
        RejectionReason.HEADERS,
        "storage.files[0].contents.httpHeaders",
    ),
    (
        "a short hash",
        source("data:,a", verification={"hash": "sha512-0"}),
        RejectionReason.HASH,
        "storage.files[0].contents.verification.hash",
    ),
    (
        "a hash of another function",
        source("data:,a", verification={"hash": SHA512.replace("512", "256")}),
        RejectionReason.HASH,
        "storage.files[0].contents.verification.hash",
    ),
    (
        "a file and a directory of one path",
        storage(files=[file("/d")], directories=[DIRECTORY]),
        RejectionReason.PATH_TWICE,
        "storage.directories[0].path",
    ),
    (
        "a file and a link of one path",
        storage(files=[file("/l")], links=[LINK]),
        RejectionReason.PATH_TWICE,
        "storage.links[0].path",
    ),
    (
        "two different directories of one path",
        storage(directories=[DIRECTORY, {**DIRECTORY, "mode": 1}]),
        RejectionReason.PATH_TWICE,
        "storage.directories[1].path",
    ),
    (
        "two appends with different owners",
        files(file(append=True), file(append=True, mode=0)),
        RejectionReason.PATH_TWICE,
        "storage.files[1].path",
    ),
    (
        "a file under a link",
        storage(files=[file("/l/a")], links=[LINK]),
        RejectionReason.PATH_UNDER_LINK,
        "storage.files[0].path",
    ),
    (
        "a hard link to a directory",
        storage(directories=[DIRECTORY], links=[{**LINK, "target": "/d", "hard": True}]),
        RejectionReason.LINK_TO_DIRECTORY,
        "storage.links[0].target",
    ),
    (
        "a file at the path of a unit",
        {**files(file("/etc/systemd/system/a.service")), "systemd": {"units": [UNIT]}},
        RejectionReason.PATH_OF_UNIT,
        "storage.files[0].path",
    ),
    (
        "a file on an undeclared file system",
        on("var"),
        RejectionReason.FILESYSTEM_UNDECLARED,
        "storage.files[0].filesystem",
    ),
    (
        "a file on a file system of unknown path",
        on("data", name="data", mount=EXT4),
        RejectionReason.FILESYSTEM_PATH,
        "storage.files[0].filesystem",
    ),
    (
        "a file in the initial RAM disk",
        on("early", name="early", path="/run"),
        RejectionReason.FILESYSTEM_PATH,
        "storage.files[0].filesystem",
    ),
    (
        "a file system of neither mount nor path",
        on("x", name="x"),
        RejectionReason.FILESYSTEM,
        "storage.filesystems[0]",
    ),
    (
        "a file system of an unknown format",
        storage(filesystems=[{"name": "x", "mount": {**EXT4, "format": "zfs"}}]),
        RejectionReason.FILESYSTEM,
        "storage.filesystems[0].mount.format",
    ),
    (
        "a label that is too long",
        storage(filesystems=[{"name": "x", "mount": {**EXT4, "label": "l" * 17}}]),
        RejectionReason.LABEL,
        "storage.filesystems[0].mount.label",
    ),
    (
        "create beside options",
        storage(filesystems=[{"name": "x", "mount": {**EXT4, "options": ["-a"], "create": {}}}]),
        RejectionReason.FILESYSTEM,
        "storage.filesystems[0].mount.create",
    ),
    (
        "two file systems on one device",
        storage(
            filesystems=[
                {"name": "x", "mount": EXT4},
                {"name": "y", "mount": {**EXT4, "format": "xfs"}},
            ]
        ),
        RejectionReason.DUPLICATE,
        "storage.filesystems[1].device",
    ),
    (
        "a partition in sectors",
        partitions({"number": 1, "size": 4096}, version="2.2.0"),
        RejectionReason.SECTORS,
        "storage.disks[0].partitions[0].size",
    ),
    (
        "a partition of no number and label",
        partitions({"sizeMiB": 1}),
        RejectionReason.PARTITION,
        "storage.disks[0].partitions[0].number",
    ),
    (
        "two partitions of one number",
        partitions({"number": 1}, {"number": 1}),
        RejectionReason.PARTITION,
        "storage.disks[0].partitions",
    ),
    (
        "partitions that overlap",
        partitions(
            {"number": 1, "startMiB": 1, "sizeMiB": 9}, {"number": 2, "startMiB": 5, "sizeMiB": 1}
        ),
        RejectionReason.PARTITION,
        "storage.disks[0].partitions",
    ),
    (
        "a label with a colon",
        partitions({"label": "a:b"}),
        RejectionReason.LABEL,
        "storage.disks[0].partitions[0].label",
    ),
    (
        "a broken GUID",
        partitions({"number": 1, "guid": MARKER}),
        RejectionReason.GUID,
        "storage.disks[0].partitions[0].guid",
    ),
    (
        "a described partition that shall not exist",
        partitions({"number": 1, "label": "a", "shouldExist": False}),
        RejectionReason.PARTITION,
        "storage.disks[0].partitions[0].shouldExist",
    ),
    (
        "an array of an unknown level",
        storage(raid=[{**RAID, "level": "7"}]),
        RejectionReason.RAID,
        "storage.raid[0].level",
    ),
    (
        "spares of a striped array",
        storage(raid=[{**RAID, "level": "0", "spares": 1}]),
        RejectionReason.RAID,
        "storage.raid[0].level",
    ),
    (
        "an array of no devices",
        storage(raid=[{**RAID, "devices": []}]),
        RejectionReason.RAID,
        "storage.raid[0].devices",
    ),
    (
        "an array with a device twice",
        storage(raid=[{**RAID, "devices": ["/a", "/a"]}]),
        RejectionReason.RAID,
        "storage.raid[0].devices",
    ),
    (
        "a unit of an unknown suffix",
        units({"name": f"{MARKER}.txt"}),
        RejectionReason.UNIT_NAME,
        "systemd.units[0].name",
    ),
    (
        "a unit that cannot be parsed",
        units({**UNIT, "contents": f"[Service]\n{MARKER}\n"}),
        RejectionReason.UNIT_CONTENTS,
        "systemd.units[0].contents",
    ),
    (
        "a drop-in of an unknown suffix",
        units({**UNIT, "dropins": [{"name": "a.txt"}]}),
        RejectionReason.UNIT_NAME,
        "systemd.units[0].dropins[0].name",
    ),
    (
        "create beside the same settings",
        users({"name": "a", "uid": 1, "create": {"uid": 2}}),
        RejectionReason.USER_CREATE,
        "passwd.users[0].create",
    ),
    (
        "two groups of one name",
        config(passwd={"groups": [{"name": "a"}, {"name": "a", "gid": 1}]}),
        RejectionReason.DUPLICATE,
        "passwd.groups[1].name",
    ),
    (
        "an empty certificate authority",
        {"ignition": {"version": "2.4.0", "security": {"tls": {"certificateAuthorities": [{}]}}}},
        RejectionReason.VALUE_REQUIRED,
        "ignition.security.tls.certificateAuthorities[0].source",
    ),
    *odd.REFUSED,
)


@pytest.mark.parametrize(
    ("stub", "reason", "path"), [row[1:] for row in REJECTED], ids=[row[0] for row in REJECTED]
)
def test_a_stub_is_refused_with_a_reason_and_a_path(
    stub: dict[str, Any], reason: RejectionReason, path: str
) -> None:
    with pytest.raises(Unreadable) as caught:
        translate.translate(stub)
    found = [(one.what, findings.shown(one.path)) for one in caught.value.findings]
    assert (reason, path) in found
    assert MARKER not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", RejectionReason.NOT_JSON),
        (b"#!/bin/sh\n", RejectionReason.NOT_JSON),
        (b"[]", RejectionReason.NOT_JSON),
        (b"\xff\xfe", RejectionReason.NOT_JSON),
        ('{"ignition": {}}'.encode("utf-16"), RejectionReason.NOT_JSON),
        (b'\xef\xbb\xbf{"ignition": {}}', RejectionReason.NOT_JSON),
        (b'{"a": "\\ud800"}', RejectionReason.NOT_JSON),
        (b"NaN", RejectionReason.NOT_JSON),
        (b"[" * 100_000, RejectionReason.NOT_JSON),
        (b'{"a": ' + b"1" * 5000 + b"}", RejectionReason.NOT_JSON),
        (b'{"ignition": {}, "ignition": {}}', RejectionReason.KEY_REPEATED),
        (b" " * 1_048_577, RejectionReason.TOO_LARGE),
    ],
    ids=[
        "empty",
        "a script",
        "a list",
        "no UTF-8",
        "UTF-16",
        "a byte order mark",
        "half a pair",
        "NaN",
        "deep",
        "digits",
        "twice",
        "1 MiB",
    ],
)
def test_data_that_is_not_a_configuration_is_refused(data: bytes, reason: RejectionReason) -> None:
    with pytest.raises(Unreadable) as caught:
        reading.parse(data)
    assert caught.value.reason is reason
    assert caught.value.__cause__ is None


def test_all_rejections_are_named_and_bounded() -> None:
    with pytest.raises(Unreadable) as caught:
        translate.translate(files(*(file("relative", mode=-1) for _ in range(100))))
    assert len(caught.value.findings) == findings.FINDINGS_MAX
