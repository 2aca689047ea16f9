"""Removals on an embedded node: what goes, and what the last check still keeps."""

from lading.adapters.clock import VirtualClock
from lading.adapters.disk import MachineDisk
from lading.embedded import sample_images
from lading.kernel.values import replace
from lading.ports.cri import Image, ImageSpec
from lading.runtime_images import apply, observe
from lading.runtime_images import plan as policies
from lading.runtime_images.apply import Removal, RemovalOutcome
from lading.runtime_images.gc_types import GcPlan, GcPolicy
from lading.runtime_images.handlers import WithoutHandlers
from lading.runtime_images.types import local_id
from tests.runtime_images.conftest import Stand
from tests.runtime_images.nodes import EVERYTHING, LAYER_BYTES, container, published, tags_left


async def planned(stand: Stand, policy: GcPolicy = EVERYTHING) -> GcPlan:
    observed = await observe.observe(stand.runtime, MachineDisk(), stand.state)
    return policies.plan(observed, policy, VirtualClock().now())


async def carried_out(plan: GcPlan, stand: Stand) -> list[Removal]:
    now = VirtualClock().now()
    return [
        await apply.remove_planned(action, stand.runtime, stand.state, now)
        for action in plan.removals
    ]


async def test_an_image_that_came_into_use_after_the_plan_is_kept(stand: Stand) -> None:
    tag = await published(stand, "app:1")
    image_id = await stand.runtime.pull(ImageSpec(image=tag))
    plan = await planned(stand)
    stand.embedded.declare_containers([container(image_id)])
    (removal,) = await carried_out(plan, stand)
    assert removal.outcome is RemovalOutcome.KEPT
    assert "container web" in removal.message
    assert await tags_left(stand) == {tag}


async def test_collecting_for_one_handler_leaves_the_same_tag_of_another(stand: Stand) -> None:
    tag = await published(stand, "app:1", "linux/amd64", "linux/arm64")
    for handler in ("", "arm"):
        await stand.runtime.pull(ImageSpec(image=tag, runtime_handler=handler))
    await carried_out(await planned(stand, replace(EVERYTHING, only_handler="arm")), stand)
    assert [image.runtime_handler for image in await stand.runtime.images()] == [""]


async def test_shared_layers_are_known_on_the_embedded_runtime(stand: Stand) -> None:
    shared = sample_images.noise("shared", size_bytes=LAYER_BYTES)
    for name in ("one:1", "two:1"):
        layers = {"linux/amd64": [shared, name.encode()]}
        await stand.runtime.pull(ImageSpec(image=await stand.publisher.index(name, layers)))
    frees = [verdict.frees_bytes for verdict in (await planned(stand)).verdicts]
    assert frees[0] < LAYER_BYTES <= frees[1]


class ByNameOnly(WithoutHandlers):
    """Finds images by their names only, as CRI-O finds artifacts."""

    async def image(self, spec: ImageSpec) -> Image | None:
        return None if spec.image.startswith("sha256:") else await super().image(spec)

    async def remove(self, spec: ImageSpec) -> None:
        if not spec.image.startswith("sha256:"):
            await super().remove(spec)


async def test_an_image_that_the_runtime_finds_by_its_names_only_is_removed_too(
    stand: Stand,
) -> None:
    await stand.runtime.pull(ImageSpec(image=await published(stand, "app:1")))
    (image,) = await stand.runtime.images()
    assert await apply.remove(local_id(image), ByNameOnly(stand.runtime))
    assert await stand.runtime.images() == ()


async def test_a_name_that_means_another_image_is_not_removed_in_its_place(stand: Stand) -> None:
    """Without the gate both images of the tag are listed as the host's."""
    tag = await published(stand, "app:1", "linux/amd64", "linux/arm64")
    host = await stand.runtime.pull(ImageSpec(image=tag))
    await stand.runtime.pull(ImageSpec(image=tag, runtime_handler="arm"))
    runtime = WithoutHandlers(stand.runtime)
    (arm,) = [image for image in await runtime.images() if image.id != host]
    assert not await apply.remove(local_id(arm), runtime)
    assert {image.id for image in await stand.runtime.images()} == {host, arm.id}
