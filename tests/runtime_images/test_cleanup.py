"""The clean-up after the feature gate, on an embedded node."""

from lading.adapters.clock import VirtualClock
from lading.adapters.disk import MachineDisk
from lading.kernel import platforms, references
from lading.ports import platform_image
from lading.ports.cri import ImageSpec
from lading.runtime_images import apply, cleanup, observe
from lading.runtime_images.apply import Removal, RemovalOutcome
from lading.runtime_images.gc_types import GcPlan, GcReason
from lading.runtime_images.types import DigestPull
from tests.runtime_images.conftest import Stand
from tests.runtime_images.nodes import container, published

ARM = platforms.parse("linux/arm64")


async def planned(stand: Stand) -> GcPlan:
    observed = await observe.observe(stand.runtime, MachineDisk(), stand.state)
    return cleanup.plan(observed, VirtualClock().now())


async def carried_out(plan: GcPlan, stand: Stand) -> list[Removal]:
    now = VirtualClock().now()
    return [
        await apply.remove_planned(action, stand.runtime, stand.state, now)
        for action in plan.removals
    ]


async def pulled_by_digest(stand: Stand, *, tag: str, pulled: str) -> None:
    await stand.state.save_digest_pull(
        DigestPull(reference=tag, runtime_handler="arm", platform="linux/arm64", pulled=pulled)
    )


async def test_it_removes_what_was_pulled_for_handlers_and_names_the_containers_in_use(
    stand: Stand,
) -> None:
    both = await published(stand, "both:1", "linux/amd64", "linux/arm64")
    arm_only = await published(stand, "arm-only:1", "linux/arm64")
    await stand.runtime.pull(ImageSpec(image=both))
    await stand.runtime.pull(ImageSpec(image=both, runtime_handler="arm"))
    used = await stand.runtime.pull(ImageSpec(image=arm_only, runtime_handler="arm"))
    stand.embedded.declare_containers([container(used, handler="arm")])
    plan = await planned(stand)
    (in_use,) = [one for one in plan.verdicts if one.reason is GcReason.IN_USE]
    assert "container web" in in_use.message
    await carried_out(plan, stand)
    left = {
        (tag, image.runtime_handler)
        for image in await stand.runtime.images()
        for tag in image.repo_tags
    }
    assert left == {(both, ""), (arm_only, "arm")}


async def test_it_knows_what_was_pulled_by_digest_for_a_handler(stand: Stand) -> None:
    tag = await published(stand, "app:1", "linux/amd64", "linux/arm64")
    reference = references.parse(tag)
    found = await platform_image.resolve(stand.registry, reference, ARM, for_guest=True)
    await stand.runtime.pull(ImageSpec(image=found.manifest))
    assert (await planned(stand)).removals == ()
    await pulled_by_digest(stand, tag=tag, pulled=found.manifest)
    removals = await carried_out(await planned(stand), stand)
    assert [removal.outcome for removal in removals] == [RemovalOutcome.REMOVED]
    assert (await stand.state.load()).digest_pulls == (), "nothing is left to clean up"


async def test_it_keeps_what_the_host_has_too(stand: Stand) -> None:
    """The guests of most virtual machines have the host's platform, and so the host's image."""
    tag = await published(stand, "app:1")
    await stand.runtime.pull(ImageSpec(image=tag))
    (image,) = await stand.runtime.images()
    await pulled_by_digest(stand, tag=tag, pulled=image.repo_digests[0])
    (verdict,) = (await planned(stand)).verdicts
    assert (verdict.reason, verdict.message) == (
        GcReason.DEFAULT_HANDLER,
        "the host has it too, under another name",
    )
