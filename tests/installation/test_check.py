"""Which kinds a cluster serves: what is missing is named with the version that is needed."""

import contextlib
from collections.abc import AsyncIterator

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.core import NODES
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SET, PINNED_IMAGE_SETS
from lading.embedded.api_server import Authorized
from lading.embedded.kube.authentication import ADMIN
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage import memory
from lading.installation import apply, check
from lading.loop.component_runner import FoundKinds
from lading.loop.feature import Kind
from lading.ports.http import Request, Response
from lading.wiring.features import DEFINITIONS

SETS = Kind(resource=PINNED_IMAGE_SETS)
NAME = "pinnedimagesets.machineconfiguration.openshift.io"
IDENTITIES = {"admin": ADMIN}


@contextlib.asynccontextmanager
async def api_server() -> AsyncIterator[KubeClient]:
    core = Core(memory.MemoryStorage(), SystemClock(), tokens=IDENTITIES)
    try:
        yield KubeClient(Authorized(core, "admin"))
    finally:
        await core.close()


async def make_foreign_sets(kube: KubeClient, *, version: str) -> None:
    manifest = PINNED_IMAGE_SET.manifest()
    del manifest["metadata"]["labels"]
    stored = manifest["spec"]["versions"][-1]
    manifest["spec"]["versions"] = [{**stored, "name": version}]
    await kube.create(CUSTOM_RESOURCE_DEFINITIONS, manifest)


async def install(kube: KubeClient) -> None:
    await apply.install(kube, SystemClock(), DEFINITIONS)


async def test_an_installed_kind_and_a_built_in_one_are_served() -> None:
    nodes = Kind(resource=NODES)
    async with api_server() as kube:
        await install(kube)
        found = await check.find(kube, (SETS, nodes))
    assert found == FoundKinds(served={SETS: PINNED_IMAGE_SETS, nodes: NODES}, missing=())


async def test_a_missing_kind_is_named_with_the_version_that_is_needed() -> None:
    async with api_server() as kube:
        found = await check.find(kube, (SETS,))
    assert found == FoundKinds(served={}, missing=(f"{NAME} v1",))


async def test_a_kind_of_another_owner_without_our_version_is_missing() -> None:
    async with api_server() as kube:
        await make_foreign_sets(kube, version="v1alpha1")
        await install(kube)
        found = await check.find(kube, (SETS,))
    assert found.missing == (f"{NAME} v1 (v1alpha1 is served)",)


async def test_the_first_version_that_is_served_is_used() -> None:
    either = Kind(resource=PINNED_IMAGE_SETS, other_versions=("v1beta1", "v1alpha1"))
    async with api_server() as kube:
        await make_foreign_sets(kube, version="v1alpha1")
        found = await check.find(kube, (either,))
    assert [one.version for one in found.served.values()] == ["v1alpha1"]
    assert found.missing == ()


async def test_only_what_belongs_to_another_owner_is_noted() -> None:
    async with api_server() as kube:
        await make_foreign_sets(kube, version="v1")
        await install(kube)
        (note,) = await check.foreign(kube, DEFINITIONS)
    assert note == f"{NAME} belongs to another owner and is not changed"


async def test_nothing_is_noted_where_everything_is_ours() -> None:
    async with api_server() as kube:
        await install(kube)
        assert await check.foreign(kube, DEFINITIONS) == ()


async def test_a_kind_that_may_not_be_listed_counts_as_served() -> None:
    """The informer reports the missing right; waiting would not bring it."""

    async def refuse(request: Request) -> Response:
        return Response(status=403)

    found = await check.find(KubeClient(refuse), (SETS,))
    assert found == FoundKinds(served={SETS: PINNED_IMAGE_SETS}, missing=())
    assert await check.foreign(KubeClient(refuse), DEFINITIONS) == ()
