"""`lading validate`: objects in files against the rules of a cluster, without one.

The judge is the embedded API server itself, in memory and with a dry run, so that what passes
here is what passes there. Each problem is shown with the file, the line and the field.
"""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import click

from lading.adapters.clock import SystemClock
from lading.adapters.kube import discovery
from lading.adapters.kube.client import KubeClient
from lading.api import catalogue
from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.core import NAMESPACES, PODS
from lading.api.node import RUNTIME_CLASSES
from lading.cli import documents, running
from lading.cli.documents import Source
from lading.kernel.objects import Resource
from lading.ports import kube
from lading.servers.kube.authentication import ADMIN
from lading.servers.kube.core import Core
from lading.servers.kube.storage.memory import MemoryStorage
from lading.standalone.api_server import Authorized

_TOKEN = "in-memory"  # the server is in this process and has no socket
_PATH_STEP = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")
_STRICT_PROBLEM = re.compile(r'((?:unknown|duplicate) field) "([^"]*)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    file: str
    line: int
    field: str
    message: str

    def __str__(self) -> str:
        field = f"{self.field}: " if self.field else ""
        return f"{self.file}:{self.line}: {field}{self.message}"


@click.command(name="validate")
@click.option("-f", "--filename", "files", multiple=True, required=True, help="A file, or -.")
def command(files: tuple[str, ...]) -> None:
    """Check the objects in files with the same rules as the API server, offline.

    Definitions among them are learnt first, so that objects of other kinds can be checked too.
    """
    sources = [source for file in files for source in documents.read(file)]
    running.run(_validate(sources))


async def _validate(sources: list[Source]) -> None:
    found = [problem async for problem in problems(sources)]
    for problem in found:
        click.echo(str(problem), err=True)
    objects = "1 object" if len(sources) == 1 else f"{len(sources)} objects"
    if found:
        things = "1 problem" if len(found) == 1 else f"{len(found)} problems"
        raise click.ClickException(f"{things} in {objects}; nothing was changed")
    click.echo(f"{objects} {'is' if len(sources) == 1 else 'are'} valid")


async def problems(sources: list[Source]) -> AsyncIterator[Problem]:
    async with _server() as client:
        ordered = sorted(sources, key=lambda source: source.content.get("kind") != _DEFINITION)
        for source in ordered:
            for problem in await _thingsof(client, source):
                yield problem


_DEFINITION = CUSTOM_RESOURCE_DEFINITIONS.kind


@asynccontextmanager
async def _server() -> AsyncIterator[KubeClient]:
    core = Core(MemoryStorage(), SystemClock(), tokens={_TOKEN: ADMIN})
    client = KubeClient(Authorized(core, _TOKEN))
    for definition in catalogue.DEFINITIONS:
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition.manifest())
    try:
        yield client
    finally:
        await core.close()


async def _thingsof(client: KubeClient, source: Source) -> list[Problem]:
    content = source.content
    try:
        kinds = await discovery.discover(client)
        kind, api_version = str(content.get("kind", "")), str(content.get("apiVersion", ""))
        await _create(client, kinds.of_kind(api_version, kind), content)
    except kube.AlreadyExists:
        return []  # it was judged before it was looked for
    except kube.KubeError as error:
        return list(_explained(source, error))
    return []


async def _create(client: KubeClient, resource: Resource[Any], content: dict[str, Any]) -> None:
    """A definition is really created, anything else only tried."""
    metadata = content.get("metadata")
    namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
    namespace = namespace if isinstance(namespace, str) and resource.namespaced else ""
    if resource.namespaced:
        namespace = namespace or "default"
        await _ensure(client, NAMESPACES, namespace)
    if resource.kind == PODS.kind and (name := _runtime_class(content)):
        await _ensure(client, RUNTIME_CLASSES, name, handler=name)
    await client.create(
        resource,
        content,
        namespace=namespace,
        dry_run=resource.kind != _DEFINITION,
        field_validation="Strict",
    )


async def _ensure(client: KubeClient, resource: Resource[Any], name: str, **fields: str) -> None:
    """What a file may rely on because a cluster would have it; a bad name is told with its user."""
    try:
        await client.create(resource, {"metadata": {"name": name}, **fields})
    except (kube.AlreadyExists, kube.Invalid):
        return


def _runtime_class(pod: dict[str, Any]) -> str:
    spec = pod.get("spec")
    name = spec.get("runtimeClassName") if isinstance(spec, dict) else None
    return name if isinstance(name, str) else ""


def _explained(source: Source, error: kube.KubeError) -> Iterator[Problem]:
    strict = _STRICT_PROBLEM.findall(error.message)
    named = [(cause.field, cause.message) for cause in error.causes] or [
        (field, problem) for problem, field in strict
    ]
    for field, message in named or [("", error.message)]:
        yield Problem(
            file=source.file, line=source.line(steps(field)), field=field, message=message
        )


def steps(field: str) -> tuple[str | int, ...]:
    """`spec.images[0].name` as the way through a document."""
    found = _PATH_STEP.findall(field)
    return tuple(_index(index) if index else name for index, name in found)


def _index(text: str) -> str | int:
    return int(text) if text.isdecimal() else text.strip('"')
