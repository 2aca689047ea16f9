"""Verdicts by repository behave as one mapping."""

from lading.pruning.engine.decisions.verdicts import Verdicts
from lading.pruning.engine.types import Decision, PruneReason, Verdict

KEEP = Verdict(Decision.KEEP, PruneReason.USED)
GO = Verdict(Decision.DELETE, PruneReason.UNREACHABLE)


def test_it_is_a_mapping_of_places() -> None:
    found = Verdicts()
    found["a", "v1"] = KEEP
    found["a", "v2"] = GO
    found["b", "v1"] = GO
    assert dict(found) == {("a", "v1"): KEEP, ("a", "v2"): GO, ("b", "v1"): GO}
    assert len(found) == 3
    assert found.get(("c", "v1")) is None
    assert ("a", "v3") not in found
    del found["a", "v2"]
    assert list(found) == [("a", "v1"), ("b", "v1")]
