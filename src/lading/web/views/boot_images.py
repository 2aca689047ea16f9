"""Boot images: machine sets, what they boot, and their history, as `lading bootimage status`."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from lading.api.machineconfiguration.boot_image_history import MachineSetBootImageHistory
from lading.boot_images import status
from lading.boot_images.verdicts import MachineSetState, Why
from lading.web.views import wording
from lading.web.views.wording import ShownProblem, Urgency

_URGENCIES = {
    MachineSetState.FAILED.value: Urgency.ERROR,
    MachineSetState.MANUAL.value: Urgency.WARNING,
    MachineSetState.SKIPPED.value: Urgency.NOTE,
    MachineSetState.WAITING.value: Urgency.NOTE,
}
_RESUMABLE = (Why.PAUSED, Why.COMPETING_WRITER)


def machine_set_value(history: MachineSetBootImageHistory) -> dict[str, Any]:
    """Does not show the raw image field: it belongs to an object of another project."""
    spec = history.spec
    row = {name: wording.message(text) for name, text in status.row(history).items()}
    return {
        **row,
        "namespace": wording.message(spec.machine_set_namespace),
        "removed": wording.message(spec.removed_time),
        "history": [
            {
                "index": one.index,
                "since": wording.message(one.updated_time),
                "setBy": one.set_by,
                "image": wording.message(one.boot_image_ref),
                "stub": wording.message(one.stub_secret_ref),
                "preview": wording.command(
                    "lading", "bootimage", "restore", spec.machine_set_name, "--to", str(one.index)
                ),
            }
            for one in reversed(spec.details)
        ],
    }


def problems(histories: Iterable[MachineSetBootImageHistory]) -> list[ShownProblem]:
    return [
        _problem(str(one.key), value, _URGENCIES[value["state"]])
        for one in histories
        if (value := machine_set_value(one))["state"] in _URGENCIES
    ]


def _problem(key: str, value: dict[str, Any], urgency: Urgency) -> ShownProblem:
    is_resumable = value["reason"] in _RESUMABLE
    resume = wording.command("lading", "bootimage", "resume", value["name"])
    return ShownProblem(
        key=f"boot/{key}",
        feature="boot",
        urgency=urgency,
        title=f"Machine set {value['name']}: {value['state']} ({value['reason']})",
        detail=value["message"],
        command=resume if is_resumable else "lading bootimage plan",
        purpose="Allow updates again" if is_resumable else "Show what would be patched, or why not",
        link=f"#/boot?{urlencode({'machineSet': key})}",
    )


def summary(histories: Iterable[MachineSetBootImageHistory]) -> tuple[str, str]:
    states = [value["state"] for one in histories if (value := machine_set_value(one))]
    states = [one for one in states if one != status.MachineSetRowState.REMOVED]
    if not states:
        return "empty", "No machine set has a history."
    current = states.count(MachineSetState.CURRENT)
    text = f"Machine sets that boot the image of the release: {current} of {len(states)}."
    return _summary_state(states, current), text


def _summary_state(states: list[str], current: int) -> str:
    if MachineSetState.FAILED in states:
        return "error"
    if current == len(states):
        return "ok"
    is_busy = MachineSetState.UPDATING in states or MachineSetState.WAITING in states
    return "busy" if is_busy else "skipped"
