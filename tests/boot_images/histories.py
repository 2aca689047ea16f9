"""Builders of the histories of machine sets."""

import msgspec

from lading.api.machineconfiguration.boot_image_history import MachineSetBootImageHistory


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
