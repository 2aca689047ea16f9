"""What the volumes of a pod must keep: one source each, and that one named."""

from collections.abc import Iterator

from lading.servers.kube.builtins import metadata
from lading.servers.kube.schema import causes
from lading.servers.kube.schema.causes import Cause
from lading.servers.kube.schema.nodes import Document

_REQUIRED = {
    "configMap": "name",
    "hostPath": "path",
    "persistentVolumeClaim": "claimName",
    "secret": "secretName",
}
"""What a source cannot be without."""


def problems(volumes: list[Document], field: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, volume in enumerate(volumes):
        place, name = f"{field}[{index}]", volume.get("name") or ""
        if name in seen:
            yield causes.duplicate(f"{place}.name", name)
        seen.add(name)
        yield from metadata.part_name(name, f"{place}.name")
        yield from _sources(volume, place)


def _sources(volume: Document, field: str) -> Iterator[Cause]:
    sources = sorted(key for key, value in volume.items() if key != "name" and value is not None)
    for source in sources[1:]:
        yield causes.forbidden(f"{field}.{source}", "may not specify more than 1 volume type")
    for source in sources[:1]:
        key = _REQUIRED.get(source)
        if key is not None and not volume[source].get(key):
            yield causes.required(f"{field}.{source}.{key}")
    path = (volume.get("hostPath") or {}).get("path") or ""
    if ".." in path.split("/"):
        yield causes.invalid(f"{field}.hostPath.path", path, "must not contain '..'")


def mounts(container: Document, field: str, volumes: set[str]) -> Iterator[Cause]:
    """Where a container sees the volumes of its pod."""
    privileged = (container.get("securityContext") or {}).get("privileged")
    seen: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        place, path = f"{field}.volumeMounts[{index}]", mount.get("mountPath") or ""
        if not mount.get("name"):
            yield causes.required(f"{place}.name")
        elif mount["name"] not in volumes:
            yield causes.not_found(f"{place}.name", mount["name"])
        if not path:
            yield causes.required(f"{place}.mountPath")
        elif path in seen:
            yield causes.invalid(f"{place}.mountPath", path, "must be unique")
        seen.add(path)
        if mount.get("mountPropagation") == "Bidirectional" and not privileged:
            detail = "Bidirectional mount propagation is available only to privileged containers"
            yield causes.forbidden(f"{field}.volumeMounts.mountPropagation", detail)
