"""The one spelling of a quantity."""

import pytest

from lading.embedded.kube.schema import formats


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("0Gi", "0"),
        ("1000Mi", "1000Mi"),
        ("0.5Ki", "512"),
        ("0.1Gi", "107374182400m"),
        ("-2000m", "-2"),
        ("100000k", "100M"),
        ("1e-3", "1e-3"),
        ("0.1n", "1n"),
        ("1x", "1x"),
        (True, True),
    ],
)
def test_a_quantity_is_written_with_the_largest_suffix(given: object, kept: object) -> None:
    assert formats.canonical_quantity(given) == kept
