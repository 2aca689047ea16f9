"""Builders of the histories of machine sets."""

from typing import Any

import msgspec

from lading.api.machineconfiguration.boot_image_history import MachineSetBootImageHistory
from lading.boot_images.types import ObservedMachineSets, ReportMachineSet, SaveHistory
from lading.kernel.objects import ObjectMeta
from lading.kernel.values import replace


def history(
    name: str, state: str, reason: str = "Because", removed_time: str = ""
) -> MachineSetBootImageHistory:
    return msgspec.convert(
        {
            "metadata": {"name": name},
            "spec": {"machineSetName": name, "removedTime": removed_time},
            "status": {"state": state, "reason": reason, "message": f"{name} is {state}"},
        },
        MachineSetBootImageHistory,
    )


def written(world: ObservedMachineSets, action: Any) -> ObservedMachineSets:
    """The world after a write of a history."""
    histories = {each.key: each for each in world.histories}
    match action:
        case SaveHistory(key=key, spec=spec):
            metadata = ObjectMeta(name=key.name, namespace=key.namespace)
            made = MachineSetBootImageHistory(metadata=metadata, spec=spec)
            histories[key] = replace(histories.get(key, made), spec=spec)
        case ReportMachineSet(key=key, status=found):
            histories[key] = replace(histories[key], status=found)
    return replace(world, histories=tuple(histories.values()))
