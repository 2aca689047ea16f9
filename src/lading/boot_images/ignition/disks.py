"""Translates disks, arrays and the mounts of file systems. Pure."""

import itertools
import posixpath
import re
from typing import Any

from lading.boot_images.ignition.findings import Loss, RejectionReason
from lading.boot_images.ignition.reading import Reader, without_nothing

_GUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
PARTITION_LABEL_MAX = 36  # GPT: 36 UTF-16 code units
LABEL_MAX = {"ext4": 16, "btrfs": 256, "xfs": 12, "swap": 15, "vfat": 11}  # what mkfs takes
LEVELS_WITHOUT_SPARES = {"linear", "raid0", "0", "stripe"}
LEVELS = LEVELS_WITHOUT_SPARES | {
    "raid1", "1", "mirror", "raid4", "4", "raid5", "5", "raid6", "6", "raid10", "10",
}  # fmt: skip


def disks(section: Reader) -> list[dict[str, Any]]:
    return without_twins(
        section, "disks", [_disk(one) for one in section.objects("disks")], key="device"
    )


def arrays(section: Reader) -> list[dict[str, Any]]:
    return without_twins(
        section, "raid", [_array(one) for one in section.objects("raid")], key="name"
    )


def without_twins(
    section: Reader, kind: str, entries: list[dict[str, Any] | None] | list[dict[str, Any]], *,
    key: str,
) -> list[dict[str, Any]]:  # fmt: skip
    """Specification 3 allows one entry for each device. An equal entry is dropped."""
    found: dict[str, dict[str, Any]] = {}
    for index, entry in enumerate(entries):
        if entry is not None and found.setdefault(entry[key], entry) != entry:
            section.reject(RejectionReason.DUPLICATE, kind, index, key)
    return list(found.values())


def mount(reader: Reader) -> dict[str, Any]:
    """`create` of specification 2.0 becomes `wipeFilesystem` and `options`."""
    create = reader.object("create")
    wipe, options = reader.true("wipeFilesystem", since=1), reader.texts("options", since=1)
    if reader.has("create"):
        if wipe or options:
            reader.reject(RejectionReason.FILESYSTEM, "create")
        wipe, options = create.true("force"), create.texts("options")
        create.finish()
        if not wipe:
            reader.lose(Loss.CREATE_NOT_FORCED, "create")
    format_, label = reader.required("format"), reader.present_text("label", since=1)
    if format_ and format_ not in LABEL_MAX:
        reader.reject(RejectionReason.FILESYSTEM, "format")
    if len((label or "").encode()) > LABEL_MAX.get(format_, 0) and format_ in LABEL_MAX:
        reader.reject(RejectionReason.LABEL, "label")
    found = without_nothing(
        device=_device(reader, "device"),
        format=format_,
        wipeFilesystem=wipe,
        label=label,
        uuid=reader.present_text("uuid", since=1),
        options=options,
    )
    reader.finish()
    return found


def clean(path: str) -> str:
    """Like Go's path.Clean. posixpath alone keeps two leading slashes."""
    return posixpath.normpath(f"/{path.lstrip('/')}") if path.startswith("/") else path


def _device(reader: Reader, key: str) -> str:
    device = reader.required(key)
    if not device.startswith("/"):
        reader.reject(RejectionReason.PATH, key)
    return clean(device)


def _disk(reader: Reader) -> dict[str, Any]:
    partitions = [_partition(one) for one in reader.objects("partitions")]
    if _collide(partitions) or _overlap(partitions):
        reader.reject(RejectionReason.PARTITION, "partitions")
    found = without_nothing(
        device=_device(reader, "device"),
        wipeTable=reader.true("wipeTable"),
        partitions=partitions,
    )
    reader.finish()
    return found


def _partition(reader: Reader) -> dict[str, Any]:
    for key in ("size", "start"):
        if reader.number(key):
            reader.reject(RejectionReason.SECTORS, key)
    found = without_nothing(
        label=reader.present_text("label"),
        number=reader.number("number") or None,
        sizeMiB=_mebibytes(reader, "sizeMiB"),
        startMiB=_mebibytes(reader, "startMiB"),
        typeGuid=_guid(reader, "typeGuid"),
        guid=_guid(reader, "guid", since=1),
        wipePartitionEntry=reader.true("wipePartitionEntry", since=3),
        shouldExist=reader.truth("shouldExist", since=3),
    )
    label = found.get("label")
    if label is not None and (len(label.encode()) > PARTITION_LABEL_MAX or ":" in label):
        reader.reject(RejectionReason.LABEL, "label")
    if "number" not in found and label is None:
        reader.reject(RejectionReason.PARTITION, "number")
    described = {"label", "typeGuid", "guid", "sizeMiB", "startMiB"} & found.keys()
    if found.get("shouldExist") is False and described:
        reader.reject(RejectionReason.PARTITION, "shouldExist")
    reader.finish()
    return found


def _mebibytes(reader: Reader, key: str) -> int | None:
    """Until 2.2 there were only sectors. 0 means as large as possible."""
    if reader.findings.minor < 3:
        return 0
    found = reader.number(key)
    if found is not None and found < 0:
        reader.reject(RejectionReason.NUMBER, key)
    return found


def _guid(reader: Reader, key: str, *, since: int = 0) -> str | None:
    guid = reader.text(key, since=since)
    if guid is not None and not _GUID.fullmatch(guid):
        reader.reject(RejectionReason.GUID, key)
    return guid


def _collide(partitions: list[dict[str, Any]]) -> bool:
    for key in ("number", "label"):
        values = [one[key] for one in partitions if key in one]
        if len(values) != len(set(values)):
            return True
    return False


def _overlap(partitions: list[dict[str, Any]]) -> bool:
    """Compares only partitions with a start: 0 means the first free space."""
    placed = sorted(
        (one["startMiB"], one["startMiB"] + max(one["sizeMiB"], 1))
        for one in partitions
        if one.get("startMiB") and "sizeMiB" in one
    )
    return any(before[1] > after[0] for before, after in itertools.pairwise(placed))


def _array(reader: Reader) -> dict[str, Any]:
    level, spares = reader.required("level"), reader.number("spares") or None
    devices = [clean(device) for device in reader.texts("devices") or []]
    if level not in LEVELS or (spares and level in LEVELS_WITHOUT_SPARES):
        reader.reject(RejectionReason.RAID, "level")
    if not devices or len(set(devices)) != len(devices):
        reader.reject(RejectionReason.RAID, "devices")
    if any(not device.startswith("/") for device in devices):
        reader.reject(RejectionReason.PATH, "devices")
    found = without_nothing(
        name=reader.required("name"),
        level=level,
        devices=devices,
        spares=spares,
        options=reader.texts("options", since=2),
    )
    reader.finish()
    return found
