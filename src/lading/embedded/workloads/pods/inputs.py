"""The variables, files and arguments that a process gets from its pod. Pure.

A process has no file system of its own, so its volumes are folders of this machine. In arguments
and variables the path of a mount is replaced by the path of its folder.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum

import msgspec

from lading.embedded.workloads.kinds import (
    Container,
    EnvironmentVariable,
    Pod,
    Volume,
    VolumeMount,
)
from lading.embedded.workloads.pods import roles
from lading.kernel.values import Redacted

REFUSED_VARIABLES = ("PYTHON", "LD_")
"""Variables with these prefixes could make the interpreter or the loader run other code."""
TOKEN_MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Kubernetes adds this mount to every pod; a process of `lading up` gets no token."""


class SourceKind(StrEnum):
    SECRET = "Secret"
    CONFIG_MAP = "ConfigMap"


class ValueSource(msgspec.Struct, frozen=True, order=True):
    """A Secret or a ConfigMap in the namespace of the pod."""

    kind: SourceKind
    name: str


Values = Mapping[ValueSource, Mapping[str, bytes]]
"""The content of each source by key, without the sources that do not exist."""


class ProcessInputs(Redacted, frozen=True, kw_only=True):
    shown = ("arguments", "folder")

    arguments: tuple[str, ...]
    """The arguments of the command `lading`."""
    environment: Mapping[str, str] = {}
    folder: str = ""
    """The folder of the volumes of this container."""
    files: Mapping[str, bytes] = {}
    """By path."""


def unsupported(pod: Pod, container: Container) -> tuple[str, ...]:
    """The variables and volumes that `lading up` does not provide."""
    fields = _fields(pod)
    volumes = {one.name: one for one in pod.spec.volumes}
    return (
        *(f"variable {one.name}" for one in container.env if _value(one, fields) is None),
        *("envFrom" for one in container.env_from if not _secret_name(one)),
        *(
            f"volume {one.name}"
            for one in _mounts(container)
            if _source(volumes.get(one.name)) is None
            or one.sub_path
            or not one.mount_path.strip("/.")
        ),
    )


def sources(pod: Pod, container: Container) -> tuple[ValueSource, ...]:
    """The Secrets and ConfigMaps that the container needs."""
    names = {one.name for one in _mounts(container)}
    mounted = (_source(one) for one in pod.spec.volumes if one.name in names)
    return (
        *(
            ValueSource(SourceKind.SECRET, name)
            for one in container.env_from
            if (name := _secret_name(one))
        ),
        *(one for one in mounted if one is not None),
    )


def missing(pod: Pod, container: Container, values: Values) -> str:
    """The first source that does not exist, as a kubelet reports it, or ""."""
    for source in sources(pod, container):
        if source not in values:
            return f'{source.kind.lower()} "{source.name}" not found'
    return ""


def inputs(pod: Pod, container: Container, values: Values, pod_folder: str) -> ProcessInputs:
    arguments = roles.arguments(container)
    assert arguments is not None, "only a lading command becomes a process"
    folder = posixpath.join(pod_folder, container.name)
    places = {
        posixpath.normpath(one.mount_path): posixpath.join(folder, one.name)
        for one in _mounts(container)
    }
    return ProcessInputs(
        arguments=tuple(_with_places(one, places) for one in arguments),
        environment={
            name: _with_places(value, places)
            for name, value in _variables(pod, container, values)
            if not name.startswith(REFUSED_VARIABLES)
        },
        folder=folder,
        files={
            posixpath.join(folder, volume.name, key): content
            for volume in pod.spec.volumes
            if posixpath.join(folder, volume.name) in places.values()
            for key, content in _files(volume, values)
        },
    )


def _mounts(container: Container) -> Iterator[VolumeMount]:
    return (one for one in container.volume_mounts if one.mount_path != TOKEN_MOUNT)


def _source(volume: Volume | None) -> ValueSource | None:
    """The whole Secret or ConfigMap of a volume; None for every other volume."""
    secret = (volume and volume.secret) or {}
    if secret and secret.keys() <= {"secretName", "defaultMode"}:
        return ValueSource(SourceKind.SECRET, str(secret["secretName"]))
    config_map = (volume and volume.config_map) or {}
    if config_map and config_map.keys() <= {"name", "defaultMode"}:
        return ValueSource(SourceKind.CONFIG_MAP, str(config_map["name"]))
    return None


def _secret_name(env_from: Mapping[str, Mapping[str, str]]) -> str:
    """The Secret that provides variables; "" for any other entry of envFrom."""
    reference = env_from.get("secretRef", {})
    is_plain = env_from.keys() == {"secretRef"} and reference.keys() == {"name"}
    return reference["name"] if is_plain else ""


def _files(volume: Volume, values: Values) -> Iterator[tuple[str, bytes]]:
    source = _source(volume)
    for key, content in (values.get(source, {}) if source else {}).items():
        if "/" not in key and key not in (".", ".."):
            yield key, content


def _variables(pod: Pod, container: Container, values: Values) -> Iterator[tuple[str, str]]:
    """The variables of Secrets come first, so that a variable of the container wins."""
    for given in container.env_from:
        secret = ValueSource(SourceKind.SECRET, _secret_name(given))
        for key, content in values.get(secret, {}).items():
            yield key, content.decode("utf-8", "surrogateescape")
    fields = _fields(pod)
    for variable in container.env:
        yield variable.name, _value(variable, fields) or ""


def _value(variable: EnvironmentVariable, fields: Mapping[str, str]) -> str | None:
    """None if the value comes from a source that is not supported."""
    if variable.value_from is None:
        return variable.value
    return fields.get((variable.value_from.get("fieldRef") or {}).get("fieldPath", ""))


def _fields(pod: Pod) -> dict[str, str]:
    return {
        "metadata.name": pod.metadata.name,
        "metadata.namespace": pod.metadata.namespace,
        "metadata.uid": pod.metadata.uid,
        "spec.nodeName": pod.spec.node_name,
    }


def _with_places(text: str, places: Mapping[str, str]) -> str:
    """Replace each whole mount path by its folder."""
    if not places:
        return text
    longest_first = sorted(places, key=len, reverse=True)
    mounts = "|".join(map(re.escape, longest_first))
    return re.sub(rf"(?<![\w./-])({mounts})(?![\w.-])", lambda one: places[one[1]], text)
