"""Feature gates as Kubernetes writes them."""

import pytest

from lading.kernel import feature_gates
from lading.kernel.errors import Malformed
from lading.kernel.feature_gates import Gate

ON = Gate(name="On", default=True, off="nothing")
ALPHA = Gate(name="Alpha", default=False, off="nothing")
KNOWN = (ON, ALPHA)


def test_the_empty_text_gives_the_defaults() -> None:
    assert feature_gates.parse("", KNOWN) == {ON: True, ALPHA: False}


def test_what_is_named_is_changed_and_nothing_else() -> None:
    assert feature_gates.parse("Alpha=true", KNOWN) == {ON: True, ALPHA: True}
    assert feature_gates.parse(" Alpha=True, On=False,", KNOWN) == {ON: False, ALPHA: True}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Beta=true", "'Beta' is not a valid feature gate: expected one of On, Alpha"),
        ("On", "expected On=true or On=false"),
        ("On=1", "expected On=true or On=false"),
        ("on=true", "expected one of On, Alpha"),
    ],
)
def test_an_unknown_gate_or_value_is_refused_with_what_was_expected(
    text: str, expected: str
) -> None:
    with pytest.raises(Malformed, match=expected):
        feature_gates.parse(text, KNOWN)
