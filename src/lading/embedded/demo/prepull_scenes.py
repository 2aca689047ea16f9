"""The scenes about pre-pulled images: a DaemonSet holds them on every node, also in an upgrade."""

from lading.api.core import DAEMON_SETS, PODS
from lading.api.longhorn import IMAGES, SETTING_NAME, SETTINGS, ImageState, ImageStatus
from lading.embedded.demo.scenes import Images
from lading.embedded.demo.stage import Stage
from lading.kernel import references
from lading.ports import kube
from lading.ports.kube import Selection
from lading.prepull import holder

NAME = "share-manager"
NAMESPACE = "default"
HOLDERS = Selection(namespace=NAMESPACE, label_selector=holder.HOLDER_SELECTOR)


async def an_image_is_held_on_every_node(stage: Stage, images: Images) -> None:
    stage.output.scene("An Image is applied: one DaemonSet pulls it to every node and holds it")
    body = {
        "apiVersion": IMAGES.api_version,
        "kind": IMAGES.kind,
        "metadata": {"name": NAME},
        "spec": {"imageURL": images["app-1"]},
    }
    await stage.cluster.kube.create(IMAGES, body, namespace=NAMESPACE)
    await _until_state(stage, ImageState.DEPLOYED, generation=1)
    await _check_on_every_node(stage, images["app-1"])


async def an_upgrade_leaves_no_node_without_it(stage: Stage, images: Images) -> None:
    stage.output.scene(
        "The Image gets a new version: a node keeps the old one until it has the new"
    )
    change = {"spec": {"imageURL": images["app-2"]}}
    await stage.cluster.kube.patch(IMAGES, NAME, change, namespace=NAMESPACE)
    nodes = {one.description.name for one in stage.cluster.nodes}
    without: set[str] = set()

    async def is_deployed() -> bool:
        without.update(nodes - await _nodes_with_a_ready_holder(stage))
        status = await _status(stage)
        return status.observed_generation == 2 and status.state == ImageState.DEPLOYED

    await stage.until(f"Image {NAME} is deployed again", is_deployed)
    stage.output.check("every node held one of the two versions all the time", not without)
    await _check_on_every_node(stage, images["app-2"])


async def the_setting_stops_and_starts_it(stage: Stage) -> None:
    stage.output.scene("Setting `false` deletes the DaemonSet and keeps the Image; `true` resumes")
    await _set(stage, "false")
    await _until_state(stage, ImageState.UNKNOWN, generation=2)
    stage.output.check("the DaemonSet is deleted", not await _daemon_set_exists(stage))
    await _set(stage, "true")
    await _until_state(stage, ImageState.DEPLOYED, generation=2)
    stage.output.check("the DaemonSet is created again", await _daemon_set_exists(stage))


async def _check_on_every_node(stage: Stage, image: str) -> None:
    nodes = {one.description.name: one for one in stage.cluster.nodes}
    status = await _status(stage)
    stage.output.check(
        f"the Image is deployed on {', '.join(sorted(nodes))}",
        status.node_deployment_map == dict.fromkeys(nodes, True),
    )
    digest = str(references.parse(image).digest)
    have = {
        name
        for name, node in nodes.items()
        for found in await node.runtime.cri.images()
        if any(digest in one for one in found.repo_digests)
    }
    stage.output.check("the runtime of each node has the image", have == nodes.keys())


async def _nodes_with_a_ready_holder(stage: Stage) -> set[str]:
    pods = (await stage.cluster.kube.page(PODS, HOLDERS)).items
    return {
        one.spec.node_name
        for one in pods
        if any(status.ready for status in one.status.container_statuses)
    }


async def _until_state(stage: Stage, state: ImageState, *, generation: int) -> None:
    async def is_so() -> bool:
        status = await _status(stage)
        return status.observed_generation == generation and status.state == state

    await stage.until(f"Image {NAME} is {state}", is_so)
    stage.output.tell(f"Image {NAME} is {state}")


async def _status(stage: Stage) -> ImageStatus:
    return (await stage.cluster.kube.get(IMAGES, NAME, namespace=NAMESPACE)).status


async def _set(stage: Stage, value: str) -> None:
    await stage.cluster.kube.patch(SETTINGS, SETTING_NAME, {"value": value}, namespace=NAMESPACE)


async def _daemon_set_exists(stage: Stage) -> bool:
    try:
        await stage.cluster.kube.get(DAEMON_SETS, holder.NAME, namespace=NAMESPACE)
    except kube.NotFound:
        return False
    return True
