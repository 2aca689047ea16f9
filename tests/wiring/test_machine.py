"""What files of a machine declare about runtime handlers."""

from pathlib import Path

import pytest

from lading.kernel import platforms
from lading.kernel.errors import Malformed
from lading.wiring import host, machine
from lading.wiring.gates import parse_gates

ARM = platforms.parse("linux/arm64")
S390X = platforms.parse("linux/s390x")


def test_the_runtimes_own_configuration_wins_over_the_declared_table(tmp_path: Path) -> None:
    table, config = machine.files_of(tmp_path)
    for file, platform in ((table, "linux/arm64"), (config, "linux/s390x")):
        file.parent.mkdir(parents=True)
        file.write_text(f'[runtime_platforms.kata]\nplatform = "{platform}"')
    assert machine.guest_platforms((table,)) == {"kata": ARM}
    assert machine.guest_platforms((table, config)) == {"kata": S390X}


def test_a_file_that_is_not_there_declares_nothing(tmp_path: Path) -> None:
    files = machine.files_of(tmp_path)
    assert machine.guest_platforms(files) == {}
    assert machine.class_names(files) == {}


@pytest.mark.parametrize("content", [b"[runtimes", b"\xff", b"[runtimes.a]\nguest_platform = 3"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "runtimes.toml"
    file.write_bytes(content)
    with pytest.raises(Malformed, match=r"runtimes\.toml' is not a valid runtime configuration"):
        machine.handlers(file)


def test_the_example_declares_a_handler_for_each_kind_of_guest() -> None:
    example = Path(__file__).parents[2] / "examples" / "04-runtime-classes/handlers.toml"
    assert machine.handlers(example) == {
        "runc": None,
        "kata": None,
        "kata-arm": ARM,
        "runhcs-wcow-2019": platforms.parse("windows(10.0.17763)/amd64"),
    }
    assert machine.class_names((example,)) == {"kata-arm": ("arm-guests",)}


DECLARED = """
[runtimes.kata-arm]
runtime_class_names = ["vm-arm64", "isolated"]
[runtimes.runc]
"""


def test_runtime_classes_are_those_that_the_host_declares_and_none_with_the_gate_off(
    tmp_path: Path,
) -> None:
    file = tmp_path / machine.DECLARED_TABLE
    file.parent.mkdir(parents=True)
    file.write_text(DECLARED)
    on = parse_gates("RuntimeClassInImageCriApi=true")
    assert host.declared_handlers(tmp_path, on) == {
        "vm-arm64": "kata-arm",
        "isolated": "kata-arm",
    }
    assert host.declared_handlers(tmp_path, parse_gates("")) is None
