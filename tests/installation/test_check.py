"""Whether a command can work in a cluster: a kind that is missing or unusable is named."""

import contextlib
from collections.abc import AsyncIterator

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api import catalogue
from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.installation import apply, check
from lading.servers.kube.authentication import ADMIN
from lading.servers.kube.core import Core
from lading.servers.kube.storage import memory
from lading.standalone.api_server import Authorized

SETS = "pinnedimagesets.machineconfiguration.openshift.io"


@contextlib.asynccontextmanager
async def api_server() -> AsyncIterator[KubeClient]:
    core = Core(memory.MemoryStorage(), SystemClock(), tokens={"admin": ADMIN})
    try:
        yield KubeClient(Authorized(core, "admin"))
    finally:
        await core.close()


async def make_foreign_sets(kube: KubeClient, *, version: str) -> None:
    definition = next(one for one in catalogue.DEFINITIONS if one.name == SETS)
    manifest = definition.manifest()
    del manifest["metadata"]["labels"]
    stored = manifest["spec"]["versions"][-1]
    manifest["spec"]["versions"] = [{**stored, "name": version}]
    await kube.create(CUSTOM_RESOURCE_DEFINITIONS, manifest)


async def test_nothing_is_said_where_everything_is_ours() -> None:
    async with api_server() as kube:
        await apply.install(kube, SystemClock())
        assert await check.require(kube) == ()


async def test_a_missing_kind_is_named_with_the_way_to_install_it() -> None:
    async with api_server() as kube:
        with pytest.raises(check.NotInstalled, match=rf"{SETS}.*lading crds"):
            await check.require(kube)


async def test_a_usable_kind_of_somebody_else_is_only_mentioned() -> None:
    async with api_server() as kube:
        await make_foreign_sets(kube, version="v1")
        await apply.install(kube, SystemClock())
        (note,) = await check.require(kube)
        assert note == f"{SETS} belongs to somebody else and is left as it is"


async def test_a_kind_of_somebody_else_without_our_version_cannot_be_worked_with() -> None:
    async with api_server() as kube:
        await make_foreign_sets(kube, version="v1alpha1")
        await apply.install(kube, SystemClock())
        with pytest.raises(
            check.NotInstalled, match="needs its version v1, but it serves v1alpha1"
        ):
            await check.require(kube)
