"""Which kubelets collect pinned images all the same."""

import pytest

from lading.pinned_images.node import skew


@pytest.mark.parametrize(
    "version", ["v1.25.14", "v1.26.9", "v1.27.6", "v1.28.2", "v1.29.0", "v1.36.0-rc.1+abc", ""]
)
def test_kubelets_that_honour_pins_are_not_complained_about(version: str) -> None:
    assert skew.pins_ignored(version) == ""


@pytest.mark.parametrize(
    ("version", "first_good"),
    [
        ("v1.24.17", "1.25.14"),
        ("v1.25.13", "1.25.14"),
        ("v1.26.8", "1.26.9"),
        ("v1.27.5", "1.27.6"),
        ("v1.28.1", "1.28.2"),
        ("1.28.0+k3s1", "1.28.2"),
    ],
)
def test_kubelets_that_ignore_pins_are_named_with_the_first_that_does_not(
    version: str, first_good: str
) -> None:
    message = skew.pins_ignored(version)
    assert f"kubelet {version} ignores pins" in message
    assert f"{first_good} and later" in message
