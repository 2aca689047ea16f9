"""How often another writer put its value back, by the entries of a history."""

import pytest

from lading.api.machineconfiguration.boot_image_history import (
    BootImageHistoryDetail,
    MachineSetBootImageHistorySpec,
    SetBy,
)
from lading.boot_images import history
from lading.boot_images.platforms.types import Api
from lading.kernel.objects import Key
from lading.kernel.values import replace

TARGET, OTHER_IMAGE = {"image": "target"}, {"image": "other"}


def past(
    *entries: tuple[dict[str, str], str, SetBy], resumed_after: int | None = None
) -> MachineSetBootImageHistorySpec:
    """Each entry is an image, its stub, and who set both."""
    details = tuple(
        BootImageHistoryDetail(
            index=index,
            updated_time="2026-01-01T00:00:00Z",
            boot_image_ref=image["image"],
            boot_image=image,
            stub_secret_ref=secret,
            set_by=set_by,
        )
        for index, (image, secret, set_by) in enumerate(entries)
    )
    empty = history.empty(Api.MACHINE, Key("a", "b"))
    return replace(empty, details=details, resumed_after_index=resumed_after)


OURS = (TARGET, "stub", SetBy.LADING)
PAID = (TARGET, "stub", SetBy.LADING_MARKETPLACE)
BACK = (OTHER_IMAGE, "stub", SetBy.OTHER)


@pytest.mark.parametrize(
    ("spec", "times"),
    [
        pytest.param(past(), 0, id="nothing was observed"),
        pytest.param(past(BACK, OURS, BACK), 1, id="once"),
        pytest.param(past(BACK, OURS, BACK, OURS, BACK), 2, id="twice"),
        pytest.param(past(BACK, PAID, BACK, PAID, BACK), 2, id="a product"),
        pytest.param(
            past(BACK, (TARGET, "stub", SetBy.OTHER), BACK, (TARGET, "stub", SetBy.STREAM), BACK),
            0,
            id="others set the target",
        ),
        pytest.param(past(BACK, (TARGET, "stub-2", SetBy.LADING), BACK), 0, id="another stub"),
        pytest.param(past(BACK, (OTHER_IMAGE, "stub", SetBy.LADING), BACK), 0, id="another target"),
        pytest.param(past(BACK, OURS, BACK, OURS, resumed_after=2), 1, id="one since the resume"),
        pytest.param(past(BACK, OURS, BACK, OURS, resumed_after=3), 0, id="none since the resume"),
        pytest.param(past(OURS, BACK, resumed_after=0), 0, id="resumed after the first"),
    ],
)
def test_how_often_the_target_was_put_back(
    spec: MachineSetBootImageHistorySpec, times: int
) -> None:
    assert history.reversals(spec, TARGET, "stub") == times
