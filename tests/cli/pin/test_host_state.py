"""The state directory of a machine: who owns its pins, and a directory that is not ours."""

import os
from pathlib import Path
from typing import NoReturn

import click
import pytest

from lading.cli.exit_codes import RefusedByGuard
from lading.cli.pin import host_state
from lading.wiring import ownership


def test_issue_17_15_two_commands_do_not_change_the_pins_of_a_machine_together(
    tmp_path: Path,
) -> None:
    refused = pytest.raises(RefusedByGuard, match="`lading apply` owns the pins of this machine")
    with host_state.owned(tmp_path, "apply"), refused, host_state.owned(tmp_path, "delete"):
        pass
    with host_state.owned(tmp_path, "delete"):
        pass


def test_issue_17_15_an_owner_that_was_killed_owns_nothing(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        with ownership.owning(tmp_path, "the agent of node worker-1"):
            os._exit(0)
    os.waitpid(child, 0)
    with host_state.owned(tmp_path, "apply"):
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
    with refused, host_state.owned(place, "apply"):
        pass
