"""The gates are written down apart from the features, and are still theirs."""

from lading.wiring.features import FEATURES
from lading.wiring.gates import GATES


def test_each_gate_of_a_feature_is_known_in_their_order() -> None:
    assert tuple(one.gate for one in FEATURES if one.gate is not None) == GATES
