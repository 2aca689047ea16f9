"""`lading validate`: objects in files against the rules of a cluster, without one.

The embedded API server checks them in memory, with dry runs. Each problem is shown with its file,
line and field.
"""

import contextlib
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import click
import msgspec

from lading.adapters.kube import discovery
from lading.adapters.kube.client import KubeClient
from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.core import NAMESPACES, RUNTIME_CLASSES
from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_pool import (
    MACHINE_CONFIG_POOLS,
    MachineConfigPool,
)
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.cli import documents, options, output, running
from lading.cli.documents import ManifestSource
from lading.kernel.objects import Resource
from lading.pinned_images import membership
from lading.pinned_images.cluster import plan as cluster_plan
from lading.ports import kube
from lading.wiring import clusters
from lading.wiring.clock import system_clock

T = TypeVar("T")

_DEFINITION = CUSTOM_RESOURCE_DEFINITIONS.kind
_UNKNOWN_FIELD = "unknown field"
_ROOT = "<nil>"
"""The path in an API server's error about the whole object."""
_UNCHECKED = "some validation rules were not checked"
_PATH_STEP = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


class ValidationProblem(msgspec.Struct, frozen=True, kw_only=True):
    file: str
    line: int
    field: str
    message: str

    def __str__(self) -> str:
        field = f"{self.field}: " if self.field else ""
        return f"{self.file}:{self.line}: {field}{self.message}"


@click.command(name="validate")
@options.files_option(required=True)
def command(files: tuple[str, ...]) -> None:
    """Check the objects in files with the same rules as the API server, offline.

    CustomResourceDefinitions in the files are read first, so that their objects can be checked.
    """
    running.run(_validate(documents.read(files)))


async def _validate(sources: list[ManifestSource]) -> None:
    await require_valid(sources)
    for warning in pool_warnings(sources):
        output.sentence(f"Warning: {warning}", err=True)
    click.echo("1 object is valid" if len(sources) == 1 else f"{len(sources)} objects are valid")


async def require_valid(sources: list[ManifestSource]) -> None:
    """Prints every problem, and fails if there is one."""
    found = [problem async for problem in problems(sources)]
    for problem in found:
        output.sentence(str(problem), err=True)
    if found:
        count = sum(not problem.message.startswith(_UNCHECKED) for problem in found)
        things = "1 problem" if count == 1 else f"{count} problems"
        objects = "1 object" if len(sources) == 1 else f"{len(sources)} objects"
        raise click.ClickException(f"{things} in {objects}; nothing was changed")


async def problems(sources: list[ManifestSource]) -> AsyncIterator[ValidationProblem]:
    async with _server() as client:
        ordered = sorted(sources, key=lambda source: source.kind != _DEFINITION)
        for source in ordered:
            for problem in await _problems_of(client, source):
                yield problem


def pool_warnings(sources: list[ManifestSource]) -> Iterator[str]:
    """Sets that neither a pool in the files nor a default pool takes.

    The cluster may have another pool for them, so this is only a warning.
    """
    pools = [
        msgspec.convert({"metadata": {"name": name}, "spec": spec}, MachineConfigPool)
        for name, spec in cluster_plan.DEFAULT_POOLS.items()
    ]
    pools += [one for _, one in _of_kind(sources, MACHINE_CONFIG_POOLS)]
    for source, image_set in _of_kind(sources, PINNED_IMAGE_SETS):
        if any(membership.set_belongs_to_pool(image_set, pool) for pool in pools):
            continue
        role = image_set.metadata.labels.get(group.ROLE_LABEL)
        why = f"its role is {role!r}" if role else f"it has no label {group.ROLE_LABEL}"
        yield (
            f"{source.file}:{source.line(())}: neither a pool in these files nor master or worker"
            f" takes PinnedImageSet {image_set.metadata.name}: {why}; set the label"
            f" {group.ROLE_LABEL}: worker, unless your cluster has another pool for it"
        )


def _of_kind(
    sources: list[ManifestSource], resource: Resource[T]
) -> Iterator[tuple[ManifestSource, T]]:
    for source in sources:
        is_of_group = source.api_version.partition("/")[0] == resource.group
        if is_of_group and source.kind == resource.kind:
            yield source, msgspec.convert(source.content, resource.type)


@asynccontextmanager
async def _server() -> AsyncIterator[KubeClient]:
    # Only a validation needs the embedded server; plans of a cluster and agents do not load it.
    from lading.embedded import api_server
    from lading.wiring.features import DEFINITIONS

    async with api_server.open_in_memory(system_clock()) as api:
        client = clusters.client_of(api)
        for definition in DEFINITIONS:
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition.manifest())
        yield client


async def _problems_of(client: KubeClient, source: ManifestSource) -> list[ValidationProblem]:
    """An API server that finds unknown fields stops there, so the rest is tried without them."""
    found = await _refused(client, source)
    if any(problem.message == _UNKNOWN_FIELD for problem in found):
        others = await _refused(client, source, is_strict=False)
        found += [problem for problem in others if problem not in found]
    return found


async def _refused(
    client: KubeClient, source: ManifestSource, *, is_strict: bool = True
) -> list[ValidationProblem]:
    try:
        kinds = await discovery.discover(client)
        resource = kinds.of_kind(source.api_version, source.kind)
        await _create(client, resource, source.content, is_strict=is_strict)
    except kube.AlreadyExists:
        return []  # it was validated before it was looked up
    except kube.KubeError as error:
        return list(_explained(source, error))
    return []


async def _create(
    client: KubeClient, resource: Resource[Any], content: dict[str, Any], *, is_strict: bool
) -> None:
    """Creates definitions, and only tries other objects."""
    namespace = _text_at(content, "metadata", "namespace") or "default"
    namespace = namespace if resource.namespaced else ""
    for needed, body in _taken_for_granted(content, namespace):
        with contextlib.suppress(kube.KubeError):
            await client.create(needed, body)
    await client.create(
        resource,
        content,
        namespace=namespace,
        dry_run=resource.kind != _DEFINITION or not is_strict,
        field_validation="Strict" if is_strict else "Ignore",
    )


def _taken_for_granted(
    content: dict[str, Any], namespace: str
) -> Iterator[tuple[Resource[Any], dict[str, Any]]]:
    """Objects that the cluster must have; offline they are assumed to exist."""
    if namespace:
        yield NAMESPACES, {"metadata": {"name": namespace}}
    if runtime_class := _text_at(content, "spec", "runtimeClassName"):
        yield RUNTIME_CLASSES, {"metadata": {"name": runtime_class}, "handler": "any"}


def _text_at(content: Any, *path: str) -> str:
    for step in path:
        content = content.get(step) if isinstance(content, dict) else None
    return content if isinstance(content, str) else ""


def _explained(source: ManifestSource, error: kube.KubeError) -> Iterator[ValidationProblem]:
    named = [(cause.field.removeprefix(_ROOT), _plain(cause.message)) for cause in error.causes]
    for field, message in named or [("", error.message)]:
        yield ValidationProblem(
            file=source.file, line=source.line(steps(field)), field=field, message=message
        )


def _plain(message: str) -> str:
    """A rule that was not checked has no invalid value to show."""
    _, found, more = message.partition(_UNCHECKED)
    return f"{found}{more}" or message


def steps(field: str) -> tuple[str | int, ...]:
    """`spec.images[0].name` as the path in a document."""
    found = _PATH_STEP.findall(field)
    return tuple(_index(index) if index else name for index, name in found)


def _index(text: str) -> str | int:
    return int(text) if text.isdecimal() else text.strip('"')
