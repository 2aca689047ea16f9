"""How often Lading patched one value, by what is written before each patch."""

import pytest

from lading.api.machineconfiguration.boot_image_history import MachineSetBootImageHistorySpec
from lading.boot_images import history
from lading.boot_images.history import WantedPatch
from lading.boot_images.platforms.types import Api, BootImage
from lading.kernel.objects import Key
from lading.kernel.values import replace

EMPTY = history.empty(Api.MACHINE, Key("a", "b"))
TARGET = BootImage(reference="target", value="target")


def wanted(
    generation: int = 0, *, value: str = "target", secret: str = "stub", is_retry: bool = False
) -> WantedPatch:
    return WantedPatch(
        value={"image": value}, secret=secret, generation=generation, is_retry=is_retry
    )


def patched(*times: WantedPatch) -> MachineSetBootImageHistorySpec:
    spec = EMPTY
    for one in times:
        spec = history.with_intention(spec, one, image=TARGET)
    return spec


@pytest.mark.parametrize(
    ("spec", "now", "times"),
    [
        pytest.param(EMPTY, wanted(), 0, id="nothing was patched"),
        pytest.param(patched(wanted(1)), wanted(3), 1, id="once"),
        pytest.param(patched(wanted(1), wanted(3)), wanted(5), 2, id="twice"),
        pytest.param(patched(wanted(1)), wanted(1), 0, id="killed before the patch was applied"),
        pytest.param(patched(wanted(1)), wanted(2), 1, id="killed after the patch"),
        pytest.param(
            patched(wanted(1), wanted(2, is_retry=True), wanted(3, is_retry=True)),
            wanted(4, is_retry=True),
            0,
            id="the API server never applied it, and others write all the time",
        ),
        pytest.param(patched(wanted()), wanted(), 1, id="no generation is known"),
        pytest.param(patched(wanted(1, secret="other")), wanted(3), 0, id="another stub"),
        pytest.param(patched(wanted(1, value="other")), wanted(3), 0, id="another target"),
        pytest.param(
            replace(patched(wanted(1), wanted(3)), resumed_time="later"), wanted(5), 0, id="resumed"
        ),
    ],
)
def test_how_often_lading_patched_the_target(
    spec: MachineSetBootImageHistorySpec, now: WantedPatch, times: int
) -> None:
    assert history.patches(spec, now) == times
