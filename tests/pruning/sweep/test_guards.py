"""When a sweep is refused, and what references and Images of clusters keep."""

import pytest

from lading.ports import kube
from lading.pruning.engine.decisions.guards import SMALL_PLAN, Guard, GuardRefused, Limits
from lading.pruning.engine.inventory.observe_storage import DATABASE_IN_USE, NoRegistry
from lading.pruning.engine.inventory.observe_streams import NoImageStreams
from lading.pruning.engine.references.observe import ReferencesIncomplete
from lading.pruning.sweep import layout
from lading.pruning.sweep.types import BlobReason
from tests.pruning.fake_clusters import PODS, FakeCluster, kind
from tests.pruning.sweep.worlds import SweepWorld

STREAM_KINDS = ("images", "imagestreams")


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        ({}, "nothing in docker/registry/v2/repositories"),
        ({DATABASE_IN_USE: b""}, "database-in-use"),
        ({"zot/index.json": b"{}"}, "nothing in docker/registry/v2/repositories"),
    ],
)
async def test_what_is_no_registry_is_refused(
    swept: SweepWorld, prepare: dict[str, bytes], message: str
) -> None:
    for path, content in prepare.items():
        swept.registry.write(path, content)
    for sweeping in (swept.sweeper().preview(), swept.run(), swept.run(offline=True)):
        with pytest.raises(NoRegistry, match=message):
            await sweeping
    assert swept.storage.changes == 0, "neither a lock nor a probe image was written"
    assert swept.storage.objects.keys() == prepare.keys()


async def test_a_foreign_layout_below_the_folder_of_repositories_is_refused(
    swept: SweepWorld,
) -> None:
    """Without any repository, every blob would look as if nothing needed it."""
    swept.registry.write(f"{layout.REPOSITORIES}/team/app/index.json", b"{}")
    digest = swept.digest(b"1")
    swept.registry.write(layout.data_path(digest), b"1")
    swept.storage.pass_time(hours=25)
    with pytest.raises(NoRegistry, match="nothing in docker/registry/v2/repositories"):
        await swept.run(offline=True)
    assert swept.has_data(digest)


@pytest.mark.parametrize("offline", [False, True])
async def test_a_share_that_is_too_large_changes_nothing(swept: SweepWorld, offline: bool) -> None:
    swept.limits = Limits(share_percent_max=50)
    swept.registry.image("a", "v1")
    for number in range(20):
        swept.registry.upload("a", b"%d" % number)
    swept.storage.pass_time(hours=25)
    before = set(swept.storage.objects)
    with pytest.raises(GuardRefused, match="20 of 23 blobs"):
        await swept.run(offline=offline)
    assert set(swept.storage.objects) == before
    swept.limits = Limits(ignored=frozenset({Guard.SHARE}))
    counts = (await swept.run(offline=offline)).counts
    assert (counts.condemned, counts.freed_blobs) == ((0, 20) if offline else (20, 0))


async def test_a_small_plan_may_take_any_share(swept: SweepWorld) -> None:
    swept.limits = Limits(share_percent_max=1)
    swept.registry.image("a", "v1")
    for number in range(SMALL_PLAN):
        swept.registry.upload("a", b"%d" % number)
    assert (await swept.offline()).counts.freed_blobs == SMALL_PLAN


@pytest.mark.parametrize("offline", [False, True])
async def test_too_many_bytes_change_nothing(swept: SweepWorld, offline: bool) -> None:
    swept.limits = Limits(share_percent_max=100, size_bytes_max=3)
    swept.registry.image("b", "v1")
    swept.registry.upload("a", b"four")
    swept.storage.pass_time(hours=25)
    with pytest.raises(GuardRefused, match="4 bytes"):
        await swept.run(offline=offline)
    swept.limits = Limits(share_percent_max=100, size_bytes_max=4)
    await swept.run(offline=offline)


async def test_without_references_nothing_untagged_goes(swept: SweepWorld) -> None:
    swept.untagged = True
    swept.references = ("elsewhere.test/a:v1",)
    swept.registry.image("a", layers=[b"1"])
    swept.storage.pass_time(hours=25)
    with pytest.raises(GuardRefused, match="No reference"):
        await swept.run()


async def test_far_fewer_references_than_last_time_refuse(swept: SweepWorld) -> None:
    swept.untagged = True
    swept.references = tuple(f"registry.test/a:v{number}" for number in range(10))
    swept.registry.image("a", "v1")
    swept.registry.upload("a", b"1")
    await swept.offline()
    await swept.run()
    swept.references = swept.references[:1]
    swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    with pytest.raises(GuardRefused, match="instead of 10"):
        await swept.run()


@pytest.mark.parametrize("untagged", [False, True])
async def test_what_an_image_of_openshift_names_stays(swept: SweepWorld, untagged: bool) -> None:
    """Also without a manifest in the storage that names it."""
    swept.registry.image("b", "v1")
    named, free = (swept.registry.upload("a", one) for one in (b"named", b"free"))
    image = {"metadata": {"name": "sha256:1"}, "dockerImageLayers": [{"name": named, "size": 5}]}
    kinds = (PODS, *(kind(one, one.title(), "image.openshift.io") for one in STREAM_KINDS))
    swept.clusters = (FakeCluster(served=kinds, pages={"images": [[image]]}),)
    swept.with_images, swept.untagged = not untagged, untagged
    swept.storage.pass_time(hours=25)
    reasons = await swept.reasons(offline=True)
    assert reasons[named] is BlobReason.IMAGE
    assert reasons[free] is BlobReason.UNREFERENCED


async def test_images_that_were_asked_for_and_are_not_served_are_an_error(
    swept: SweepWorld,
) -> None:
    swept.registry.image("b", "v1")
    swept.clusters, swept.with_images = (FakeCluster(),), True
    with pytest.raises(NoImageStreams):
        await swept.run(offline=True)


async def test_a_list_of_references_that_breaks_off_changes_nothing(swept: SweepWorld) -> None:
    swept.untagged = True
    image = swept.registry.image("a", layers=[b"1"])
    swept.clusters = (FakeCluster(errors={"pods": [kube.Forbidden("403")]}),)
    swept.storage.pass_time(hours=25)
    with pytest.raises(ReferencesIncomplete):
        await swept.run(offline=True)
    assert swept.registry.can_pull("a", image)
