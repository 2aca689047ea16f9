"""`lading validate`: objects in files against the rules of a cluster, without one.

The judge is the embedded API server itself, in memory and with a dry run, so that what passes
here is what passes there. Each problem is shown with the file, the line and the field.
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
from lading.api.core import NAMESPACES
from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_pool import (
    MACHINE_CONFIG_POOLS,
    MachineConfigPool,
)
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.api.node import RUNTIME_CLASSES
from lading.cli import documents, options, output, running
from lading.cli.documents import ManifestSource
from lading.kernel.objects import Resource
from lading.pinned_images import rules
from lading.pinned_images.cluster import plan as cluster_plan
from lading.ports import kube
from lading.wiring import clusters
from lading.wiring.clock import system_clock

T = TypeVar("T")

_DEFINITION = CUSTOM_RESOURCE_DEFINITIONS.kind
_UNKNOWN_FIELD = "unknown field"
_ROOT = "<nil>"
"""How an API server writes the path of a rule about the whole object."""
_UNCHECKED = "some validation rules were not checked"
_TOKEN = "in-memory"  # the server is in this process and has no socket
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
    """Shows every problem, and ends the command if there is one."""
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
    """About each set that no pool of the files and no default pool takes.

    A cluster may have another pool for it, so this is no error.
    """
    pools = [
        msgspec.convert({"metadata": {"name": name}, "spec": spec}, MachineConfigPool)
        for name, spec in cluster_plan.DEFAULT_POOLS.items()
    ]
    pools += [one for _, one in _of_kind(sources, MACHINE_CONFIG_POOLS)]
    for source, image_set in _of_kind(sources, PINNED_IMAGE_SETS):
        if any(rules.set_belongs_to_pool(image_set, pool) for pool in pools):
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
    # Slow to load, and no --help needs any of it.
    from lading.standalone.api_server import Authorized
    from lading.wiring import embedded
    from lading.wiring.features import DEFINITIONS

    async with embedded.open_api_in_memory(system_clock(), admin_token=_TOKEN) as api:
        client = clusters.client_of(Authorized(api, _TOKEN))
        for definition in DEFINITIONS:
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition.manifest())
        yield client


async def _problems_of(client: KubeClient, source: ManifestSource) -> list[ValidationProblem]:
    """An API server that finds unknown fields looks no further: so the rest is tried alone."""
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
    """A definition is really created, anything else only tried."""
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
    """What the cluster must have for the object, and what is unknown offline."""
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
    """What the server did not check has no value that is invalid."""
    _, found, more = message.partition(_UNCHECKED)
    return f"{found}{more}" or message


def steps(field: str) -> tuple[str | int, ...]:
    """`spec.images[0].name` as the way through a document."""
    found = _PATH_STEP.findall(field)
    return tuple(_index(index) if index else name for index, name in found)


def _index(text: str) -> str | int:
    return int(text) if text.isdecimal() else text.strip('"')
