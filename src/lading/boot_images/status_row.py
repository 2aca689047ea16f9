"""What is shown of one machine set: by `lading bootimage status` and by the dashboard. Pure."""

from enum import StrEnum

from lading.api.machineconfiguration.boot_image_history import MachineSetBootImageHistory


class MachineSetRowState(StrEnum):
    """Beside the states of the status."""

    REMOVED = "Removed"
    """The machine set no longer exists."""


def row(history: MachineSetBootImageHistory) -> dict[str, str]:
    spec, status = history.spec, history.status
    return {
        "name": spec.machine_set_name,
        "api": spec.machine_set_api_group,
        "state": MachineSetRowState.REMOVED.value if spec.removed_time else status.state,
        "reason": status.reason,
        "image": status.boot_image_ref,
        "target": status.target,
        "message": status.message,
    }
