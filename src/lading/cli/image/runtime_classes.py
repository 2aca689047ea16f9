"""Runtime classes as people name them: the handler that a name means, the names of a handler.

A table of this machine may declare them; else a cluster knows, if there is one to ask.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import click
import msgspec

from lading.runtime_images import handlers
from lading.runtime_images.types import ImageHandlers, LocalImageId
from lading.wiring import runtime_handlers

HANDLER_PREFIX = "handler:"
CLUSTER_SECONDS_MAX = 3.0  # a list of images does not wait longer for nicer names
DEFAULT_CLASS = "<default>"

runtime_option = click.option(
    "--runtime",
    metavar="CLASS",
    help=f"A runtime class, or {HANDLER_PREFIX}NAME of this runtime.",
)


class RuntimeClasses(msgspec.Struct, frozen=True, kw_only=True):
    files: tuple[Path, ...]
    """They may declare runtime classes."""
    kubeconfig: Path | None

    async def handler(self, name: str) -> str:
        """What `--runtime` names."""
        if name.startswith(HANDLER_PREFIX):
            return name.removeprefix(HANDLER_PREFIX)
        for handler, names in runtime_handlers.class_names(self.files).items():
            if name in names:
                return handler
        # The client of the cluster is slow to import, and most commands need none.
        from lading.adapters.kube.connection import ConfigurationError

        try:
            return await self._handler_in_cluster(name)
        except ConfigurationError as error:
            raise click.ClickException(
                f"{error}; or name the handler itself with --runtime {HANDLER_PREFIX}NAME"
            ) from error

    async def labels(self, images: Mapping[LocalImageId, ImageHandlers]) -> dict[LocalImageId, str]:
        """The runtime classes of each image; in brackets those for which it is here by digest."""
        used = set[str]().union(*(one.all for one in images.values()))
        words = await self._words(used - {""})
        return {image: _label(one, words) for image, one in images.items()}

    async def _words(self, wanted: set[str]) -> Mapping[str, str]:
        """The classes of each handler, or itself as `--runtime` takes it."""
        names = runtime_handlers.class_names(self.files)
        if wanted - names.keys():
            names = await self._names_in_cluster() | names
        known = {
            handler: ",".join(names[handler]) if names.get(handler) else HANDLER_PREFIX + handler
            for handler in wanted
        }
        return {"": DEFAULT_CLASS} | known

    async def _handler_in_cluster(self, name: str) -> str:
        from lading.cli.connection import Target

        target = Target(kubeconfig=self.kubeconfig, context="", namespace="")
        async with target.open() as cluster:
            return await handlers.handler_of_class(cluster, name)

    async def _names_in_cluster(self) -> dict[str, tuple[str, ...]]:
        """Nothing when no cluster answers: names are a comfort, handlers do as well."""
        from lading.adapters.kube.connection import ConfigurationError
        from lading.api.node import RUNTIME_CLASSES
        from lading.cli.connection import Target
        from lading.ports.kube import KubeError

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
