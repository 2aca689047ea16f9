"""Feature gates as Kubernetes writes them."""

import pytest

from lading.kernel import feature_gates
from lading.kernel.errors import Malformed
from lading.kernel.feature_gates import DEFAULTS, Gate


def test_without_a_word_the_defaults_hold_and_the_alpha_gate_is_off() -> None:
    assert feature_gates.parse("") == DEFAULTS
    assert not DEFAULTS[Gate.RUNTIME_CLASS_IN_IMAGE_CRI_API]


def test_what_is_named_is_changed_and_nothing_else() -> None:
    gates = feature_gates.parse("RuntimeClassInImageCriApi=true, PinnedImages=False")
    assert gates == {
        **DEFAULTS,
        Gate.RUNTIME_CLASS_IN_IMAGE_CRI_API: True,
        Gate.PINNED_IMAGES: False,
    }


@pytest.mark.parametrize("text", ["RuntimeClassInCriCalls=true", "PinnedImages", "PinnedImages=1"])
def test_an_unknown_gate_or_value_is_refused(text: str) -> None:
    with pytest.raises(Malformed, match="feature gate"):
        feature_gates.parse(text)
