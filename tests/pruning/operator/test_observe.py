"""What Jobs reported, wherever they could write it."""

import msgspec

from lading.api.core import ConfigMap
from lading.pruning.operator import observe
from tests.pruning.operator.pruner_worlds import pruner


def test_reports_come_from_the_status_and_the_config_map_as_far_as_they_can_be_read() -> None:
    status = {"lastRun": [{"name": "b", "job": "old"}, {"job": "without a name"}, 7]}
    data = {"b": '{"name": "b", "job": "new"}', "a": '{"name": "a"}', "x": "{", "y": "[]"}
    found = observe.reports(pruner(status=status), msgspec.convert({"data": data}, ConfigMap))
    assert [(one.name, one.job) for one in found] == [("a", ""), ("b", "new")]
    assert observe.reports(pruner(status={"lastRun": "none"}), None) == ()
    assert observe.reports(None, None) == ()
