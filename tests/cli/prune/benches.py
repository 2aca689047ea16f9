"""An API server with one pod and a plain registry, and the options that reach them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.adapters.registry import client as registry_client
from lading.adapters.registry.administration import AdministrationClient
from lading.embedded import api_server
from lading.embedded.registry import server as registry_server
from tests import command
from tests.command import CommandResult
from tests.pruning.worlds import PODS, Shelf

POLICY = {"policies": [{"repositories": ["**"], "keepTags": [{"patterns": ["keep.*"]}]}]}


@dataclass
class Bench:
    shelf: Shelf
    kube: KubeClient
    cluster: tuple[str, ...]
    registry: tuple[str, ...]
    folder: Path

    @property
    def where(self) -> tuple[str, ...]:
        """The options of a plan that deletes young images too."""
        return self.with_age("0s")

    def with_age(self, text: str) -> tuple[str, ...]:
        return (
            *(*self.cluster, *self.registry, "--registry-name", "registry.test"),
            *("--policy", str(self.folder / "policy.yaml"), "--keep-younger-than", text),
        )

    def options_of(self, name: str) -> tuple[str, ...]:
        """The commands about the trash take no options of a plan."""
        is_of_trash = name in ("trash", "restore")
        return (*self.cluster, *self.registry) if is_of_trash else self.where

    async def lading(self, *words: str) -> CommandResult:
        return await command.lading("prune", *words, *self.options_of(words[0]))


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Bench]:
    clock = SystemClock()
    (folder / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    (folder / "state").mkdir()
    async with (
        api_server.serve(folder / "api", clock) as api,
        registry_server.serve(folder / "registry") as url,
        registry_client.connect(clock) as client,
    ):
        kube = KubeClient(api.exchange)
        await kube.create(PODS, pod("registry.test/team/app:used"), namespace="default")
        yield Bench(
            shelf=Shelf(AdministrationClient(client), url.partition("://")[2]),
            kube=kube,
            cluster=("--kubeconfig", str(api.kubeconfig)),
            registry=("--registry-url", url),
            folder=folder,
        )


def pod(image: str, name: str = "web") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }
