"""The scenes about boot images: a machine set gets the image of the release, and its old one back.

There is no cloud and there are no machines: the scenes check the machine set.
"""

from typing import Any

from lading.api.core import NODES, SECRETS
from lading.api.machine import MACHINE_SETS
from lading.api.machineconfiguration.boot_image_history import MachineSetBootImageHistory
from lading.boot_images import apply, commands
from lading.boot_images.types import OS_RELEASE_LABEL, STUB_SUFFIX
from lading.embedded import sample_boot_images as samples
from lading.embedded.demo.stage import Stage
from lading.embedded.sample_boot_images import MACHINE_NAMESPACE, NAME, NEW_IMAGE, OLD_IMAGE

COPY = samples.STUB + STUB_SUFFIX


async def a_machine_set_waits_for_its_release(stage: Stage) -> None:
    stage.output.scene("A machine set is enrolled for the boot image of a new release")
    await samples.create(stage.cluster.kube)
    await samples.enrol(stage.cluster.kube)
    history = await _until_state(stage, "Waiting")
    stage.output.tell(history.status.message)
    is_same = await _machine(stage) == samples.provider_spec()
    stage.output.check("no node runs the release yet, and the machine set is unchanged", is_same)


async def a_machine_set_gets_the_image_of_the_release(stage: Stage) -> None:
    stage.output.scene(f"node-1 runs release {samples.RELEASE}: the machine set is updated")
    label = {"metadata": {"labels": {OS_RELEASE_LABEL: samples.RELEASE}}}
    await stage.cluster.kube.patch(NODES, "node-1", label)
    await _until_state(stage, "Current")
    stage.output.tell(f"{_short(OLD_IMAGE)} became {_short(NEW_IMAGE)}")
    stage.output.check(
        "the machine set has the golden image and the new stub, and nothing else changed",
        await _machine(stage) == samples.provider_spec(NEW_IMAGE, COPY),
    )
    stub = await _stub(stage, COPY)
    lifted = {**samples.stub_of_specification_2()["ignition"]["config"]["append"][0]}
    stage.output.check(
        f"Secret {COPY} holds the stub in specification {stub['ignition']['version']}",
        stub == {"ignition": {"version": "3.0.0", "config": {"merge": [lifted]}}},
    )
    is_same = await _stub(stage, samples.STUB) == samples.stub_of_specification_2()
    stage.output.check(f"Secret {samples.STUB} is unchanged", is_same)


async def an_earlier_image_is_restored(stage: Stage) -> None:
    stage.output.scene("The earlier image is restored from the history, and updates are paused")
    client = stage.cluster.kube
    details = (await _history(stage)).spec.details
    for one in details:
        stage.output.tell(f"{one.index}  {one.set_by:<7} {_short(one.boot_image_ref)}")
    stage.output.check(
        "the history has both images, the first one from before the update",
        [one.boot_image_ref for one in details] == [OLD_IMAGE, NEW_IMAGE],
    )
    machine_set = await client.get(MACHINE_SETS, NAME, namespace=MACHINE_NAMESPACE)
    served = next(one for one in await commands.served(client) if one.resource == MACHINE_SETS)
    for action in await commands.restore_actions(client, served, machine_set, details[0]):
        await apply.apply(action, client, served.resource, field_manager="lading-demo")
    history = await _until_state(stage, "Skipped")
    is_same = await _machine(stage) == samples.provider_spec()
    stage.output.check("the machine set has its first image and stub again", is_same)
    stage.output.check(
        "the controller does not change it: the reason is Paused", history.status.reason == "Paused"
    )


async def _until_state(stage: Stage, state: str) -> MachineSetBootImageHistory:
    async def is_so() -> bool:
        found = [one.status.state for one in await commands.histories(stage.cluster.kube)]
        return found == [state]

    await stage.until(f"machine set {NAME} is {state}", is_so)
    return await _history(stage)


async def _history(stage: Stage) -> MachineSetBootImageHistory:
    (found,) = await commands.histories(stage.cluster.kube)
    return found


async def _machine(stage: Stage) -> Any:
    """The provider spec of new machines of the set."""
    one = await stage.cluster.kube.get(MACHINE_SETS, NAME, namespace=MACHINE_NAMESPACE)
    return one.spec["template"]["spec"]["providerSpec"]["value"]


async def _stub(stage: Stage, name: str) -> Any:
    found = await stage.cluster.kube.get(SECRETS, name, namespace=MACHINE_NAMESPACE)
    return samples.stub_in(found.data["userData"])


def _short(image: str) -> str:
    return image.rsplit("/", 1)[-1]
