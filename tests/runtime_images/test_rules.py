from datetime import timedelta

from lading.runtime_images import rules


def test_a_verdict_states_a_duration_in_whole_seconds() -> None:
    assert rules.whole_seconds(timedelta(seconds=61.9)) == "1m1s"
