"""Machine sets with what they boot, why, what they had before, and how to go back."""

from typing import Any

import pytest

from lading.api.machineconfiguration.boot_image_history import (
    BootImageHistoryDetail,
    MachineSetBootImageHistory,
    MachineSetBootImageHistorySpec,
    MachineSetBootImageHistoryStatus,
)
from lading.kernel.objects import ObjectMeta
from lading.web.views import boot_images


def history(*, removed: str = "", **status: str) -> MachineSetBootImageHistory:
    details = tuple(
        BootImageHistoryDetail(
            index=number, updated_time="2026-01-01T00:00:00Z", boot_image_ref=ref
        )
        for number, ref in ((3, "old"), (4, "new"))
    )
    return MachineSetBootImageHistory(
        metadata=ObjectMeta(name="workers", namespace="machines"),
        spec=MachineSetBootImageHistorySpec(
            machine_set_name="workers", details=details, removed_time=removed
        ),
        status=MachineSetBootImageHistoryStatus(**status),
    )


def test_a_machine_set_has_what_it_boots_its_target_and_its_reason() -> None:
    found = boot_images.machine_set_value(
        history(state="Skipped", reason="Paused", boot_image_ref="new", target="newer")
    )
    assert (found["image"], found["target"], found["reason"]) == ("new", "newer", "Paused")


def test_the_history_begins_with_the_newest_and_each_entry_can_be_restored() -> None:
    found = boot_images.machine_set_value(history())["history"]
    assert [(one["index"], one["image"], one["preview"]) for one in found] == [
        (4, "new", "lading bootimage restore workers --to 4"),
        (3, "old", "lading bootimage restore workers --to 3"),
    ]


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ({"state": "Current"}, []),
        ({"state": "Failed", "reason": "Refused"}, [("ERROR", "lading bootimage plan")]),
        ({"state": "Skipped", "reason": "Paused"}, [("NOTE", "lading bootimage resume workers")]),
        ({"state": "Skipped", "reason": "Other"}, [("NOTE", "lading bootimage plan")]),
        ({"state": "Manual", "reason": "Other"}, [("WARNING", "lading bootimage plan")]),
    ],
)
def test_what_is_not_current_is_a_problem_with_the_command_that_leads_on(
    status: dict[str, str], found: list[tuple[str, str]]
) -> None:
    problems = boot_images.problems([history(**status)])
    assert [(one.urgency.name, one.command) for one in problems] == found


@pytest.mark.parametrize(
    ("histories", "state", "counts"),
    [
        ([history(state="Current")], "ok", "1 of 1"),
        ([history(state="Current"), history(state="Updating")], "busy", "1 of 2"),
        ([history(state="Current"), history(state="Waiting")], "busy", "1 of 2"),
        ([history(state="Current"), history(state="Skipped")], "skipped", "1 of 2"),
        ([history(state="Current"), history(state="Failed")], "error", "1 of 2"),
        ([history(state="Current"), history(removed="2026-01-01T00:00:00Z")], "ok", "1 of 1"),
    ],
    ids=["current", "one under way", "one waits", "one skipped", "one failed", "one removed"],
)
def test_the_feature_in_a_sentence(histories: list[Any], state: str, counts: str) -> None:
    text = f"Machine sets that boot the image of the release: {counts}."
    assert boot_images.summary(histories) == (state, text)
