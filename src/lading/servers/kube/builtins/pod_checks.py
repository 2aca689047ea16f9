"""What the spec of a pod must keep, in a pod and in the template of a workload."""

from collections.abc import Iterator
from typing import Any

from lading.servers.kube.schema import causes, names
from lading.servers.kube.schema.causes import Cause
from lading.servers.kube.schema.nodes import Document

PORT_MAX = 65535


def problems(spec: Document, field: str) -> Iterator[Cause]:
    if not spec.get("containers"):
        yield causes.required(f"{field}.containers")
    volumes = {volume.get("name") for volume in spec.get("volumes") or ()}
    seen: set[str] = set()
    for key in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(key) or ()):
            yield from _container(container, f"{field}.{key}[{index}]", volumes, seen)
    for index, volume in enumerate(spec.get("volumes") or ()):
        yield from _volume(volume, f"{field}.volumes[{index}]")


def _volume(volume: Document, field: str) -> Iterator[Cause]:
    name = volume.get("name") or ""
    if not name:
        yield causes.required(f"{field}.name")
    else:
        for sentence in names.dns_1123_label(name):
            yield causes.invalid(f"{field}.name", name, sentence)
    sources = sorted(key for key, value in volume.items() if key != "name" and value is not None)
    for source in sources[1:]:
        yield causes.forbidden(f"{field}.{source}", "may not specify more than 1 volume type")


def _container(
    container: Document, field: str, volumes: set[Any], seen: set[str]
) -> Iterator[Cause]:
    name, image = container.get("name") or "", container.get("image") or ""
    if not name:
        yield causes.required(f"{field}.name")
    elif name in seen:
        yield causes.duplicate(f"{field}.name", name)
    else:
        for sentence in names.dns_1123_label(name):
            yield causes.invalid(f"{field}.name", name, sentence)
    seen.add(name)
    if not image:
        yield causes.required(f"{field}.image")
    elif image != image.strip():
        detail = "must not have leading or trailing whitespace"
        yield causes.invalid(f"{field}.image", image, detail)
    for index, port in enumerate(container.get("ports") or ()):
        yield from _port(port, f"{field}.ports[{index}]")
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        place = f"{field}.volumeMounts[{index}]"
        if not mount.get("name"):
            yield causes.required(f"{place}.name")
        elif mount["name"] not in volumes:
            yield causes.not_found(f"{place}.name", mount["name"])
        if not mount.get("mountPath"):
            yield causes.required(f"{place}.mountPath")


def _port(port: Document, field: str) -> Iterator[Cause]:
    number = port.get("containerPort") or 0
    if not number:
        yield causes.required(f"{field}.containerPort")
    elif not 0 < number <= PORT_MAX:
        detail = f"must be between 1 and {PORT_MAX}, inclusive"
        yield causes.invalid(f"{field}.containerPort", number, detail)
