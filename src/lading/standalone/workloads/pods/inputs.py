"""What a process gets from its pod: variables, the files of its volumes, and arguments. Pure.

A process has no file system of its own, so its volumes are folders on this machine. Where an
argument or a variable names the path of a mount, the path of the folder stands instead.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum

import msgspec

from lading.kernel.values import Redacted
from lading.standalone.workloads.kinds import (
    Container,
    EnvironmentVariable,
    Pod,
    SourceReference,
    Volume,
    VolumeMount,
)
from lading.standalone.workloads.pods import roles

REFUSED_VARIABLES = ("PYTHON", "LD_")
"""Beginnings of names that would make the interpreter or the loader run something else."""
TOKEN_MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Kubernetes adds this to every pod; a process of `lading up` gets no token."""


class SourceKind(StrEnum):
    SECRET = "Secret"
    CONFIG_MAP = "ConfigMap"


class ValueSource(msgspec.Struct, frozen=True, order=True):
    """A Secret or a ConfigMap in the namespace of the pod."""

    kind: SourceKind
    name: str


Values = Mapping[ValueSource, Mapping[str, bytes]]
"""What the sources have, by key. A source that does not exist is not in it."""


class ProcessInputs(Redacted, frozen=True, kw_only=True):
    shown = ("arguments", "own_folder", "folders")

    arguments: tuple[str, ...]
    """Of the command `lading`."""
    environment: Mapping[str, str] = {}
    own_folder: str = ""
    """Of this container alone: the volumes of Secrets and ConfigMaps."""
    folders: tuple[str, ...] = ()
    """The volumes; the containers of a pod share those of kind emptyDir."""
    files: Mapping[str, bytes] = {}
    """By path."""


class _Use(msgspec.Struct, frozen=True, kw_only=True):
    source: ValueSource
    optional: bool
    key: str = ""
    """Empty for all of them."""


def unsupported(pod: Pod, container: Container) -> tuple[str, ...]:
    """What a node of `lading up` never has, in words."""
    volumes = {one.name: one for one in pod.spec.volumes}
    return (
        *(f"variable {one.name}" for one in container.env if not _is_known(pod, one)),
        *(
            f"volume {one.name}"
            for one in _mounts(container)
            if not _can_be_mounted(volumes.get(one.name), one)
        ),
    )


def sources(pod: Pod, container: Container) -> frozenset[ValueSource]:
    return frozenset(one.source for one in _uses(pod, container))


def missing(pod: Pod, container: Container, values: Values) -> str:
    """What must exist before the container starts, in the words of a kubelet; empty for nothing."""
    for one in _uses(pod, container):
        found, name = values.get(one.source), one.source.name
        if found is None and not one.optional:
            return f'{one.source.kind.lower()} "{name}" not found'
        if found is not None and one.key and one.key not in found and not one.optional:
            owner = f"{one.source.kind} {pod.metadata.namespace}/{name}"
            return f"couldn't find key {one.key} in {owner}"
    return ""


def inputs(pod: Pod, container: Container, values: Values, pod_folder: str) -> ProcessInputs:
    arguments = roles.arguments(container)
    assert arguments is not None, "only a lading command becomes a process"
    own_folder = posixpath.join(pod_folder, "containers", container.name)
    shared_folder = posixpath.join(pod_folder, "volumes")
    mounts = tuple(_mounts(container))
    mounted = [one for one in pod.spec.volumes if any(one.name == its.name for its in mounts)]
    folder_by_volume = {
        one.name: posixpath.join(own_folder if _has_files(one) else shared_folder, one.name)
        for one in mounted
    }
    places = {
        posixpath.normpath(one.mount_path): posixpath.normpath(
            posixpath.join(folder_by_volume[one.name], one.sub_path)
        )
        for one in mounts
    }
    return ProcessInputs(
        arguments=tuple(_with_places(one, places) for one in arguments),
        environment={
            name: _with_places(value, places)
            for name, value in _variables(pod, container, values)
            if not name.startswith(REFUSED_VARIABLES)
        },
        own_folder=own_folder,
        folders=tuple(folder_by_volume.values()),
        files={
            posixpath.join(folder_by_volume[one.name], path): content
            for one in filter(_has_files, mounted)
            for path, content in _files(one, values)
        },
    )


def _has_files(volume: Volume) -> bool:
    return volume.secret is not None or volume.config_map is not None


def _mounts(container: Container) -> Iterator[VolumeMount]:
    return (one for one in container.volume_mounts if one.mount_path != TOKEN_MOUNT)


def _can_be_mounted(volume: Volume | None, mount: VolumeMount) -> bool:
    if volume is None or not mount.mount_path.strip("/."):
        return False
    content = volume.secret or volume.config_map
    if content is None and volume.empty_dir is None:
        return False
    items = content.items if content else ()
    return all(_is_inside(path) for path in (mount.sub_path or "-", *(one.path for one in items)))


def _is_inside(path: str) -> bool:
    """Whether the path stays in the folder where it begins."""
    return all(part not in ("", ".", "..") for part in path.split("/"))


def _uses(pod: Pod, container: Container) -> Iterator[_Use]:
    for variable in container.env:
        if variable.value_from is not None:
            yield from _use(SourceKind.SECRET, variable.value_from.secret_key_ref)
            yield from _use(SourceKind.CONFIG_MAP, variable.value_from.config_map_key_ref)
    for given in container.env_from:
        yield from _use(SourceKind.SECRET, given.secret_ref)
        yield from _use(SourceKind.CONFIG_MAP, given.config_map_ref)
    mounted = {one.name for one in _mounts(container)}
    for volume in pod.spec.volumes:
        content = volume.secret or volume.config_map
        if content is not None and volume.name in mounted:
            source = _source(volume)
            yield _Use(source=source, optional=content.optional)
            for item in content.items:
                yield _Use(source=source, optional=content.optional, key=item.key)


def _use(kind: SourceKind, reference: SourceReference | None) -> Iterator[_Use]:
    if reference is not None:
        source = ValueSource(kind, reference.name)
        yield _Use(source=source, optional=reference.optional, key=reference.key)


def _source(volume: Volume) -> ValueSource:
    if volume.secret is not None:
        return ValueSource(SourceKind.SECRET, volume.secret.secret_name)
    assert volume.config_map is not None, "only such volumes have a source"
    return ValueSource(SourceKind.CONFIG_MAP, volume.config_map.name)


def _files(volume: Volume, values: Values) -> Iterator[tuple[str, bytes]]:
    """By path in the volume; without a list of keys, each key is a file."""
    content = volume.secret or volume.config_map
    assert content is not None, "only such volumes have files"
    found = values.get(_source(volume), {})
    path_by_key = {one.key: one.path for one in content.items} or {key: key for key in found}
    for key, path in path_by_key.items():
        if key in found and _is_inside(path):
            yield path, found[key]


def _variables(pod: Pod, container: Container, values: Values) -> Iterator[tuple[str, str]]:
    """Those of whole sources come first, so that a variable of its own wins."""
    for given in container.env_from:
        for one in (
            *_use(SourceKind.SECRET, given.secret_ref),
            *_use(SourceKind.CONFIG_MAP, given.config_map_ref),
        ):
            for key, value in values.get(one.source, {}).items():
                yield given.prefix + key, _text(value)
    for variable in container.env:
        value_of_variable = _value(pod, variable, values)
        if value_of_variable is not None:
            yield variable.name, value_of_variable


def _value(pod: Pod, variable: EnvironmentVariable, values: Values) -> str | None:
    given = variable.value_from
    if given is None:
        return variable.value
    if given.field_ref is not None:
        return _fields(pod).get(given.field_ref.field_path)
    for one in (
        *_use(SourceKind.SECRET, given.secret_key_ref),
        *_use(SourceKind.CONFIG_MAP, given.config_map_key_ref),
    ):
        found = values.get(one.source, {}).get(one.key)
        return None if found is None else _text(found)
    return None


def _is_known(pod: Pod, variable: EnvironmentVariable) -> bool:
    given = variable.value_from
    if given is None or given.secret_key_ref or given.config_map_key_ref:
        return True
    return given.field_ref is not None and given.field_ref.field_path in _fields(pod)


def _fields(pod: Pod) -> dict[str, str]:
    return {
        "metadata.name": pod.metadata.name,
        "metadata.namespace": pod.metadata.namespace,
        "metadata.uid": pod.metadata.uid,
        "spec.nodeName": pod.spec.node_name,
    }


def _text(value: bytes) -> str:
    """The operating system gives the same bytes to the process."""
    return value.decode("utf-8", "surrogateescape")


def _with_places(text: str, places: Mapping[str, str]) -> str:
    """With the folder instead of the path of a mount, where that stands whole."""
    if not places:
        return text
    longest_first = sorted(places, key=len, reverse=True)
    mounts = "|".join(map(re.escape, longest_first))
    return re.sub(rf"(?<![\w./-])({mounts})(?![\w.-])", lambda one: places[one[1]], text)
