"""Images and filesystems in the form in which crictl writes them as JSON and YAML.

The form is that of protobuf's JSON: camelCase, and 64-bit numbers as text.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from lading.kernel.errors import UNREADABLE
from lading.ports.cri import Filesystems, FilesystemUsage, Image, Inspection


def image(value: Image) -> dict[str, Any]:
    uid = {} if value.uid is None else {"uid": {"value": str(value.uid)}}
    has_spec = value.runtime_handler or value.annotations
    return {
        "id": value.id,
        "repoTags": list(value.repo_tags),
        "repoDigests": list(value.repo_digests),
        "size": str(value.size_bytes),
        **uid,
        "username": value.username,
        **({"spec": _spec(value)} if has_spec else {}),
        "pinned": value.pinned,
    }


def _spec(value: Image) -> dict[str, Any]:
    return {
        "image": value.id,
        "annotations": dict(value.annotations),
        "runtimeHandler": value.runtime_handler,
    }


def inspection(value: Inspection) -> dict[str, Any]:
    info = {key: _parsed(text) for key, text in value.info.items()}
    return {"status": image(value.image), "info": _flattened(info)}


def filesystems(value: Filesystems) -> dict[str, Any]:
    return {
        "status": {
            "imageFilesystems": [_usage(usage) for usage in value.images],
            "containerFilesystems": [_usage(usage) for usage in value.containers],
        }
    }


def _usage(value: FilesystemUsage) -> dict[str, Any]:
    return {
        "timestamp": str(value.measured_at_nanoseconds),
        "fsId": {"mountpoint": value.mountpoint},
        "usedBytes": {"value": str(value.used_bytes)},
        "inodesUsed": {"value": str(value.inodes_used)},
    }


def _parsed(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except UNREADABLE:
        return text


def _flattened(info: Mapping[str, Any]) -> Mapping[str, Any]:
    """Runtimes put everything under one key `info`; crictl shows what is in it."""
    inner = info.get("info")
    return inner if len(info) == 1 and isinstance(inner, dict) else info
