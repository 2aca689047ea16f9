"""The scenes about pinned images and runtime classes."""

from collections.abc import Mapping

import msgspec

from lading.api.core import RUNTIME_CLASSES
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS, PinnedImageSet
from lading.embedded import sample_sets
from lading.embedded.demo import stage as stages
from lading.embedded.demo.stage import ARM_CLASS, HOST_CLASS, SMALL_DISK_BYTES, Stage
from lading.kernel import conditions, quantities, references
from lading.pinned_images.node import host, status
from lading.pinned_images.reasons import Reason
from lading.ports.cri import ImageSpec
from lading.wiring import host as this_host

RELEASE = "release-1"
GUESTS = "virtual-machines"

Images = Mapping[str, str]
"""References by digest, by name."""


async def images_are_pushed(stage: Stage) -> Images:
    made = stages.applications()
    stage.output.scene(f"{len(made)} images are pushed to the registry, each for amd64 and arm64")
    for name, image in made.items():
        await stage.push(name, image)
    client = stage.cluster.registries.client
    repositories = {name: f"{stage.cluster.registry_host}/demo/{name}" for name in made}
    tags = {name: await client.tags(references.parse(repositories[name])) for name in made}
    stage.output.check("every repository has its tag v1", set(tags.values()) == {("v1",)})
    return {name: stage.image(name, image) for name, image in made.items()}


async def a_set_is_planned(stage: Stage, images: Images) -> None:
    stage.output.scene(
        "The plan, before the set is applied: what each node would pull, and whether it fits"
    )
    wanted = msgspec.convert(sample_sets.set_of(RELEASE, images.values()), PinnedImageSet)
    for node in stage.cluster.nodes:
        name = node.description.name
        desired = host.desired_of(name, [wanted], handlers=None, settings=stages.SETTINGS)
        gates = stages.GATES
        found = await this_host.preview(node.parts, desired, stage.clock, gates=gates)
        shown = quantities.format_bytes
        pulls = f"{len(found.to_pull)} images, {shown(found.pull_bytes)} to pull"
        stage.output.tell(f"{found.node_name}: {found.refusals[0] if found.refusals else pulls}")
        fits = node.description.capacity_bytes > SMALL_DISK_BYTES
        stage.output.check(
            f"{found.node_name} {'has space for all images' if fits else 'would refuse the set'}",
            bool(found.refusals) != fits and bool(found.to_pull) == fits,
        )


async def a_set_is_preloaded_and_pinned(stage: Stage, images: Images) -> None:
    stage.output.scene("The set is applied: the workers pull and pin its images")
    await stage.cluster.kube.create(PINNED_IMAGE_SETS, sample_sets.set_of(RELEASE, images.values()))
    for name in ("node-1", "node-2"):
        await stage.until_held(name, RELEASE)
        stage.output.check(
            f"{name} reports generation 1, and its runtime pins all {len(images)} images",
            await stage.pinned_count(name) == len(images),
        )


async def a_full_node_reports_it(stage: Stage) -> None:
    stage.output.scene(
        "node-3 has too little disk: it reports the reason, and other nodes are not affected"
    )

    async def is_degraded() -> bool:
        return conditions.is_true((await stage.report("node-3")).conditions, status.DEGRADED)

    await stage.until("node-3 is degraded", is_degraded)
    degraded = conditions.find((await stage.report("node-3")).conditions, status.DEGRADED)
    assert degraded is not None, "the condition was True a moment ago"
    stage.output.tell(degraded.message)
    refused = degraded.reason == Reason.INSUFFICIENT_STORAGE
    stage.output.check("the reason is InsufficientStorage", refused)
    nothing = not await stage.node("node-3").runtime.cri.images()
    stage.output.check("no image was pulled to node-3", nothing)


async def two_runtime_classes_live_side_by_side(stage: Stage, images: Images) -> None:
    stage.output.scene("One image for two runtime classes: the host, and an arm64 virtual machine")
    kube, image = stage.cluster.kube, images["app-1"]
    for name in (HOST_CLASS, ARM_CLASS):
        await kube.create(RUNTIME_CLASSES, {"metadata": {"name": name}, "handler": name})
    wanted = sample_sets.set_of(GUESTS, [image])
    wanted["spec"]["pinnedImages"][0]["runtimeClassNames"] = [HOST_CLASS, ARM_CLASS]
    wanted["spec"]["nodeSelector"] = {"matchLabels": {"kubernetes.io/hostname": "node-1"}}
    await kube.create(PINNED_IMAGE_SETS, wanted)
    await stage.until_held("node-1", GUESTS)
    runtime = stage.node("node-1").runtime.cri
    ids = set()
    for handler in (HOST_CLASS, ARM_CLASS):
        found = await runtime.image(ImageSpec(image=image, runtime_handler=handler))
        assert found is not None, "the node holds the set, so the image is there"
        ids.add(found.id)
        stage.output.tell(f"{handler:<10} {found.id[:26]}…  pinned: {found.pinned}")
    stage.output.check(
        "both images are on node-1, each with the manifest for its platform", len(ids) == 2
    )


async def a_removed_image_comes_back(stage: Stage, images: Images) -> None:
    stage.output.scene("A pinned image is removed by hand: the agent pulls it again")
    runtime, image = stage.node("node-2").runtime.cri, ImageSpec(image=images["app-3"])
    await runtime.remove(image)
    stage.output.check("app-3 is removed from node-2", await runtime.image(image) is None)

    async def is_back() -> bool:
        found = await runtime.image(image)
        return found is not None and found.pinned

    await stage.until("app-3 is back on node-2", is_back)
    stage.output.check("the agent pulled app-3 again and pinned it", await is_back())


async def a_deleted_set_is_unpinned(stage: Stage, images: Images) -> None:
    stage.output.scene(
        "The set is deleted: its images are unpinned and stay; other sets keep their pins"
    )
    await stage.cluster.kube.delete(PINNED_IMAGE_SETS, RELEASE)

    async def is_unpinned() -> bool:
        return await stage.pinned_count("node-2") == 0

    await stage.until("node-2 pins nothing", is_unpinned)
    kept = await stage.node("node-2").runtime.cri.images()
    stage.output.check("node-2 pins nothing and still has its images", len(kept) == len(images))

    async def only_other_set() -> bool:
        return await stage.pinned_count("node-1") == 2

    await stage.until("node-1 pins only what the other set wants", only_other_set)
    stage.output.check("node-1 still pins both images of the other set", await only_other_set())
