"""The state directory of this machine, for commands that change its pins without a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from lading.cli.exit_codes import RefusedByGuard
from lading.cli.options import Decorator
from lading.ports.node import NodeOwned
from lading.wiring import ownership

STOP_OR_CHANGE = "change the PinnedImageSets of its cluster, or stop that process first"


def state_dir_option(*, help: str) -> Decorator:  # noqa: A002
    """Hands over `state_dir`."""
    return click.option(
        "--state-dir",
        metavar="FOLDER",
        type=click.Path(path_type=Path, file_okay=False),
        default=ownership.STATE_FOLDER,
        show_default=True,
        help=help,
    )


@contextmanager
def owned(state_dir: Path, endpoint: str, command: str) -> Iterator[None]:
    """Refuses beside an agent, which would undo at once what the command does."""
    try:
        with ownership.owning_runtime(endpoint, state_dir, f"`lading {command}`"):
            yield
    except NodeOwned as error:
        raise RefusedByGuard(f"{error}; {STOP_OR_CHANGE}") from error
    except PermissionError as error:
        if error.filename is None or not Path(error.filename).is_relative_to(state_dir):
            raise
        raise click.ClickException(
            f"{error.filename}: {error.strerror}; run as root, or set --state-dir"
        ) from error
