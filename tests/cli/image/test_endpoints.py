"""The runtime is found where crictl finds it."""

from pathlib import Path

import click
import pytest

from lading.cli.image import endpoints
from lading.cli.image.endpoints import Endpoints

CONFIG = "runtime-endpoint: unix:///from/config.sock\nimage-endpoint: ''\ntimeout: 2\n"


def find(folder: Path, *, config: str = "", **named: str) -> Endpoints:
    file = folder / "crictl.yaml"
    if config:
        file.write_text(config)
    sockets = (folder / "first.sock", folder / "second.sock")
    asked = {"runtime": "", "images": "", **named}
    return endpoints.find(
        runtime=asked["runtime"], images=asked["images"], config=file, sockets=sockets
    )


def test_what_is_named_wins_over_the_configuration_file(tmp_path: Path) -> None:
    found = find(tmp_path, config=CONFIG, runtime="unix:///named.sock")
    assert found == Endpoints(runtime="unix:///named.sock", images="unix:///named.sock")


def test_the_configuration_file_wins_over_the_usual_sockets(tmp_path: Path) -> None:
    (tmp_path / "first.sock").touch()
    assert find(tmp_path, config=CONFIG).runtime == "unix:///from/config.sock"


def test_the_first_usual_socket_that_exists_is_taken(tmp_path: Path) -> None:
    (tmp_path / "second.sock").touch()
    assert find(tmp_path).runtime == f"unix://{tmp_path}/second.sock"


def test_images_may_be_managed_by_another_service(tmp_path: Path) -> None:
    found = find(tmp_path, config=CONFIG, images="/images.sock")
    assert found == Endpoints(runtime="unix:///from/config.sock", images="unix:///images.sock")


def test_without_any_the_error_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(click.ClickException, match="--runtime-endpoint"):
        find(tmp_path)


@pytest.mark.parametrize(
    "config",
    ["runtime-endpoint: [1]\n", "- " * 100_000, "[" * 100_000, "a: &a [*a]", "a: !!bool x", "\0"],
)
def test_a_configuration_that_cannot_be_read_is_named(tmp_path: Path, config: str) -> None:
    with pytest.raises(click.ClickException, match=r"crictl\.yaml"):
        find(tmp_path, config=config)


def test_an_empty_configuration_names_nothing(tmp_path: Path) -> None:
    assert find(tmp_path, config="# nothing\n", runtime="unix:///a").runtime == "unix:///a"
