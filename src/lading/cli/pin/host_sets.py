"""The sets that are pinned on one host without a cluster: listed, and removed one by one.

The host keeps the pins with the names of their sets, so these are the images of a set that are
pinned there; what was in its file is not kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SET, PINNED_IMAGE_SETS
from lading.cli import output
from lading.cli.pin import host_state
from lading.pinned_images.node.pins_of_sets import PinsOfSets
from lading.ports.cri import RecordedPin
from lading.wiring.clock import system_clock
from lading.wiring.runtimes import open_runtime

_KIND_NAMES = {
    PINNED_IMAGE_SET.plural,
    PINNED_IMAGE_SET.kind.lower(),
    *PINNED_IMAGE_SET.short_names,
}


def require_kind(kind: str) -> None:
    if kind.lower().partition(".")[0] not in _KIND_NAMES:
        raise click.UsageError(
            f"with --runtime-endpoint the only kind is PinnedImageSet, not {kind!r}"
        )


async def pinned_sets(endpoint: str) -> dict[str, list[RecordedPin]]:
    async with open_runtime(endpoint, system_clock()) as runtime:
        return by_set(await runtime.pins.recorded())


async def remove(endpoint: str, names: Sequence[str], *, state_dir: Path) -> None:
    """An image that another set has too stays pinned; the runtime keeps all images."""
    with host_state.owned(state_dir, endpoint, "delete"):
        async with open_runtime(endpoint, system_clock()) as runtime:
            found = by_set(await runtime.pins.recorded())
            for name in names:
                require_pinned(name, found)
            for name in names:
                await PinsOfSets(runtime.pins, frozenset({name})).write(())
                click.echo(f"pinnedimageset/{name} deleted")


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
