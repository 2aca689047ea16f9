"""The handler of a runtime class, and the runtime classes of a handler.

A file of this machine may declare them. Otherwise the cluster is asked, if there is one.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import click
import msgspec

from lading.adapters.kube.connection import ConfigurationError
from lading.api.core import RUNTIME_CLASSES
from lading.cli.connection import Target
from lading.ports.kube import KubeError
from lading.runtime_images import handlers
from lading.runtime_images.types import ImageHandlers, LocalImageId
from lading.wiring import machine

HANDLER_PREFIX = "handler:"
CLUSTER_SECONDS_MAX = 3.0  # a list of images does not wait longer for names
DEFAULT_CLASS = "<default>"

runtime_option = click.option(
    "--runtime",
    metavar="CLASS",
    help=f"A runtime class, or {HANDLER_PREFIX}NAME of this runtime.",
)


class RuntimeClasses(msgspec.Struct, frozen=True, kw_only=True):
    files: tuple[Path, ...]
    kubeconfig: Path | None

    async def handler(self, name: str) -> str:
        """The handler that `--runtime` names."""
        if name.startswith(HANDLER_PREFIX):
            return name.removeprefix(HANDLER_PREFIX)
        for handler, names in machine.class_names(self.files).items():
            if name in names:
                return handler
        try:
            return await self._handler_in_cluster(name)
        except ConfigurationError as error:
            raise click.ClickException(
                f"{error}; or name the handler itself with --runtime {HANDLER_PREFIX}NAME"
            ) from error

    async def labels(self, images: Mapping[LocalImageId, ImageHandlers]) -> dict[LocalImageId, str]:
        """The runtime classes of each image; in brackets those it was pulled for by digest."""
        used = set[str]().union(*(one.all for one in images.values()))
        words = await self._words(used - {""})
        return {image: _label(one, words) for image, one in images.items()}

    async def _words(self, wanted: set[str]) -> Mapping[str, str]:
        """The classes of each handler, or handler:NAME, which `--runtime` accepts too."""
        names = machine.class_names(self.files)
        if wanted - names.keys():
            names = await self._names_in_cluster() | names
        known = {
            handler: ",".join(names[handler]) if names.get(handler) else HANDLER_PREFIX + handler
            for handler in wanted
        }
        return {"": DEFAULT_CLASS} | known

    async def _handler_in_cluster(self, name: str) -> str:
        target = Target(kubeconfig=self.kubeconfig, context="", namespace="")
        async with target.open() as cluster:
            return await handlers.handler_of_class(cluster, name)

    async def _names_in_cluster(self) -> dict[str, tuple[str, ...]]:
        """Empty when no cluster answers; then handlers are shown."""
        target = Target(kubeconfig=self.kubeconfig, context="", namespace="")
        found: dict[str, tuple[str, ...]] = {}
        try:
            async with asyncio.timeout(CLUSTER_SECONDS_MAX), target.open() as cluster:
                async for one in cluster.each(RUNTIME_CLASSES):
                    found[one.handler] = (*found.get(one.handler, ()), one.metadata.name)
        except (ConfigurationError, KubeError, TimeoutError):
            return {}
        return found


def _label(used: ImageHandlers, words: Mapping[str, str]) -> str:
    listed = [] if used.listed is None else [words[used.listed]]
    return ", ".join([*listed, *(f"[{words[handler]}]" for handler in used.by_digest)])
