"""What files of a host declare about runtime classes, behind the feature gate."""

from pathlib import Path

from lading.wiring import runtime_handlers, without_cluster
from lading.wiring.gates import parse_gates

DECLARED = """
[runtimes.kata-arm]
runtime_class_names = ["vm-arm64", "isolated"]
[runtimes.runc]
"""


def test_runtime_classes_are_those_that_the_host_declares_and_none_with_the_gate_off(
    tmp_path: Path,
) -> None:
    file = tmp_path / runtime_handlers.DECLARED_TABLE
    file.parent.mkdir(parents=True)
    file.write_text(DECLARED)
    on = parse_gates("RuntimeClassInImageCriApi=true")
    assert without_cluster.declared_handlers(tmp_path, on) == {
        "vm-arm64": "kata-arm",
        "isolated": "kata-arm",
    }
    assert without_cluster.declared_handlers(tmp_path, parse_gates("")) is None
