"""PinnedImageSets on one host without a cluster: applied, listed and removed.

The runtime keeps the pins with the names of their sets. So a listed set has the images that are
pinned for it; the rest of its file is not kept. Applying one set leaves the pins of the others.
"""

import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from lading.api.machineconfiguration.pinned_image_set import (
    PINNED_IMAGE_SET,
    PINNED_IMAGE_SETS,
    PinnedImageSet,
)
from lading.cli import output
from lading.cli.error_messages import RefusedByGuard
from lading.cli.pin import sets
from lading.cli.terminal import ProgressLine
from lading.kernel.feature_gates import Gates
from lading.pinned_images.node import host as node_host
from lading.pinned_images.node.host import PinsOfSets
from lading.pinned_images.node.types import PinSettings
from lading.pinned_images.types import Progress, SetState
from lading.ports.cri import RecordedPin
from lading.ports.node import NodeOwned
from lading.wiring import host, machine
from lading.wiring.clock import system_clock
from lading.wiring.host import Host, open_runtime

STOP_OR_CHANGE = "change the PinnedImageSets of its cluster, or stop that process first"
_KIND_NAMES = {
    PINNED_IMAGE_SET.plural,
    PINNED_IMAGE_SET.kind.lower(),
    *PINNED_IMAGE_SET.short_names,
}


@contextmanager
def owned(state_dir: Path, endpoint: str, command: str) -> Iterator[None]:
    """Refuses while an agent runs, because the agent would undo the changes at once."""
    try:
        with machine.owning_runtime(endpoint, state_dir, f"`lading {command}`"):
            yield
    except NodeOwned as error:
        raise RefusedByGuard(f"{error}; {STOP_OR_CHANGE}") from error
    except PermissionError as error:
        if error.filename is None or not Path(error.filename).is_relative_to(state_dir):
            raise
        raise click.ClickException(
            f"{error.filename}: {error.strerror}; run as root, or set --state-dir"
        ) from error


async def synchronize(
    files: Sequence[str], endpoint: str, *, state_dir: Path, gates: Gates
) -> None:
    """Pulls and pins the sets in the files, until nothing is left to do."""
    wanted = await sets.sets_in(files)
    place = Host(runtime_endpoint=endpoint, state_dir=state_dir)
    with owned(state_dir, endpoint, "apply"):
        found = await _synchronized(wanted, place, gates)
    for one in found.sets:
        if one.state == SetState.PINNED:
            click.echo(f"pinnedimageset/{one.name}: {one.image_count} pinned")
    problems = [f"{one.name}: {problem.message}" for one in found.sets for problem in one.problems]
    if problems:
        raise click.ClickException("\n".join(problems))


async def _synchronized(wanted: Sequence[PinnedImageSet], place: Host, gates: Gates) -> Progress:
    clock = system_clock()
    async with host.open_host(place, clock) as parts:
        desired = node_host.desired_of(
            socket.gethostname(),
            wanted,
            handlers=host.declared_handlers(place.root, gates),
            settings=PinSettings(),
        )
        with ProgressLine() as line:
            return await host.synchronize(
                parts, desired, clock, gates=gates, show=lambda one: line.show(one.message)
            )


async def remove(endpoint: str, named: Iterable[tuple[str, str]], *, state_dir: Path) -> None:
    """Unpins sets, given as (kind, name). Images of other sets stay pinned; no image is removed."""
    names = [_name_of_set(kind, name) for kind, name in named]
    with owned(state_dir, endpoint, "delete"):
        async with open_runtime(endpoint, system_clock()) as runtime:
            found = by_set(await runtime.pins.recorded())
            for name in names:
                require_pinned(name, found)
            for name in names:
                await PinsOfSets(runtime.pins, frozenset({name})).write(())
                click.echo(f"pinnedimageset/{name} deleted")


async def pinned_sets(
    endpoint: str, kind: str, named: Sequence[tuple[str, str]]
) -> dict[str, list[RecordedPin]]:
    """The named sets, given as (kind, name), or all."""
    require_kind(kind)
    names = [_name_of_set(kind, name) for kind, name in named]
    async with open_runtime(endpoint, system_clock()) as runtime:
        found = by_set(await runtime.pins.recorded())
    for name in names:
        require_pinned(name, found)
    return {name: found[name] for name in names} if names else found


def _name_of_set(kind: str, name: str) -> str:
    require_kind(kind)
    return name


def require_kind(kind: str) -> None:
    if kind.lower().partition(".")[0] not in _KIND_NAMES:
        raise click.UsageError(
            f"with --runtime-endpoint the only kind is PinnedImageSet, not {kind!r}"
        )


def require_pinned(name: str, found: Mapping[str, Sequence[RecordedPin]]) -> None:
    if name not in found:
        known = output.names(sorted(found)) or "none"
        raise click.ClickException(
            f"no PinnedImageSet {name!r} is pinned on this host; pinned are: {known}"
        )


def by_set(pins: Iterable[RecordedPin]) -> dict[str, list[RecordedPin]]:
    found: dict[str, list[RecordedPin]] = {}
    for recorded in sorted(pins, key=lambda one: one.pin.image):
        for owner in recorded.pin.owners:
            found.setdefault(owner, []).append(recorded)
    return dict(sorted(found.items()))


def table(found: Mapping[str, Sequence[RecordedPin]]) -> str:
    rows = [
        (name, str(len(pins)), str(sum(pin.effective for pin in pins)))
        for name, pins in found.items()
    ]
    return output.table(("NAME", "PINS", "EFFECTIVE"), rows)


def documents(found: Mapping[str, Sequence[RecordedPin]]) -> list[dict[str, Any]]:
    return [
        {
            "apiVersion": PINNED_IMAGE_SETS.api_version,
            "kind": PINNED_IMAGE_SETS.kind,
            "metadata": {"name": name},
            "spec": {"pinnedImages": [{"name": one.pin.image} for one in pins]},
        }
        for name, pins in found.items()
    ]
