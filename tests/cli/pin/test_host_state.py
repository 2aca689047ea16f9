"""The state directory of a machine: who owns its pins, and a directory that is not ours."""

import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NoReturn

import click
import pytest

from lading.cli.exit_codes import RefusedByGuard
from lading.cli.pin import host_state
from lading.wiring import ownership

ENDPOINT = "unix:///run/containerd/containerd.sock"


def owned(state_dir: Path, command: str) -> AbstractContextManager[None]:
    return host_state.owned(state_dir, ENDPOINT, command)


def test_two_commands_do_not_change_the_pins_of_a_machine_together(
    tmp_path: Path,
) -> None:
    refused = pytest.raises(RefusedByGuard, match="`lading apply` owns the pins of this machine")
    with owned(tmp_path, "apply"), refused, owned(tmp_path, "delete"):
        pass
    with owned(tmp_path, "delete"):
        pass


def test_an_owner_that_was_killed_owns_nothing(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        with ownership.owning(tmp_path, "the agent of node worker-1"):
            os._exit(0)
    os.waitpid(child, 0)
    with owned(tmp_path, "apply"):
        pass


def test_a_node_of_lading_up_belongs_to_its_agent(tmp_path: Path) -> None:
    """Its state directory is not that of this machine."""
    node = tmp_path / "nodes" / "node-1"
    endpoint = f"unix://{node}/runtime.sock"
    refused = pytest.raises(RefusedByGuard, match="the agent of node node-1 owns the pins")
    with (
        ownership.owning(node, "the agent of node node-1"),
        refused,
        host_state.owned(tmp_path / "state", endpoint, "apply"),
    ):
        pass
    with host_state.owned(tmp_path / "state", endpoint, "apply"):
        pass


def test_a_directory_that_cannot_be_written_names_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests may run as root, to whom nothing is forbidden."""
    place = tmp_path / "state"

    def forbidden(_path: object, *_flags: object) -> NoReturn:
        raise PermissionError(13, "Permission denied", str(place))

    monkeypatch.setattr(os, "open", forbidden)
    refused = pytest.raises(click.ClickException, match="Permission denied; run as root, or set")
    with refused, owned(place, "apply"):
        pass
