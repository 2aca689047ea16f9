"""What files of a machine declare about runtime handlers."""

from pathlib import Path

import pytest

from lading.kernel import platforms
from lading.kernel.errors import Malformed
from lading.wiring import runtime_handlers

ARM = platforms.parse("linux/arm64")
S390X = platforms.parse("linux/s390x")


def test_the_runtimes_own_configuration_wins_over_the_declared_table(tmp_path: Path) -> None:
    table, config = runtime_handlers.files_of(tmp_path)
    for file, platform in ((table, "linux/arm64"), (config, "linux/s390x")):
        file.parent.mkdir(parents=True)
        file.write_text(f'[runtime_platforms.kata]\nplatform = "{platform}"')
    assert runtime_handlers.guest_platforms((table,)) == {"kata": ARM}
    assert runtime_handlers.guest_platforms((table, config)) == {"kata": S390X}


def test_a_file_that_is_not_there_declares_nothing(tmp_path: Path) -> None:
    files = runtime_handlers.files_of(tmp_path)
    assert runtime_handlers.guest_platforms(files) == {}
    assert runtime_handlers.class_names(files) == {}


@pytest.mark.parametrize("content", [b"[runtimes", b"\xff", b"[runtimes.a]\nguest_platform = 3"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "runtimes.toml"
    file.write_bytes(content)
    with pytest.raises(Malformed, match=r"runtimes\.toml' is not a valid runtime configuration"):
        runtime_handlers.handlers(file)


def test_the_example_declares_a_handler_for_each_kind_of_guest() -> None:
    example = Path(__file__).parents[2] / "examples" / "04-runtime-classes/handlers.toml"
    assert runtime_handlers.handlers(example) == {
        "runc": None,
        "kata": None,
        "kata-arm": ARM,
        "runhcs-wcow-2019": platforms.parse("windows(10.0.17763)/amd64"),
    }
    assert runtime_handlers.class_names((example,)) == {"kata-arm": ("arm-guests",)}
