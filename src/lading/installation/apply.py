"""Installs the CustomResourceDefinitions, and waits until the API server serves them."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS, CustomResourceDefinition
from lading.api.definitions import Definition
from lading.installation import check
from lading.installation.plan import ApplyDefinition, plan
from lading.kernel.backoff import Backoff
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import Kube

FIELD_MANAGER = "lading-installation"
ESTABLISHED_SECONDS_MAX = 30.0
PLANS_MAX = 3  # a second plan sees the conflict of the first; a third, a kind that comes and goes
POLL = Backoff(seconds_min=0.1, seconds_max=2)


class NotEstablished(Exception):
    """The API server accepted a definition but does not serve it."""


class InstallationOutcome(StrEnum):
    INSTALLED = "installed"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


class InstalledDefinitions(msgspec.Struct, frozen=True, kw_only=True):
    outcomes: Mapping[str, InstallationOutcome]
    """By name, for each definition that was applied."""
    foreign: tuple[str, ...]
    """A sentence for each kind that belongs to another owner."""


async def install(
    api: Kube,
    clock: Clock,
    definitions: Sequence[Definition],
    *,
    established_seconds_max: float = ESTABLISHED_SECONDS_MAX,
    poll: Backoff = POLL,
) -> InstalledDefinitions:
    """Installs or upgrades the kinds, except those that belong to others."""
    found = await _applied(api, definitions)
    for definition in definitions:
        await _wait_until_served(api, clock, definition.name, established_seconds_max, poll)
    return found


async def _applied(api: Kube, definitions: Sequence[Definition]) -> InstalledDefinitions:
    """If another owner installs a kind meanwhile, it plans again."""
    outcomes: dict[str, InstallationOutcome] = {}
    for plans_left in reversed(range(PLANS_MAX)):
        existing = await check.installed(api, definitions)
        found = plan(definitions, existing)
        try:
            for action in found.actions:
                assert isinstance(action, ApplyDefinition)
                name = action.definition.name
                applied = await _apply(api, action)
                # The first plan that applied it knows what was there before.
                outcomes.setdefault(name, _outcome(existing.get(name), applied))
        except kube.Conflict:
            if not plans_left:
                raise
        else:
            return InstalledDefinitions(outcomes=outcomes, foreign=found.foreign)
    raise AssertionError("the last plan is applied or its error is raised")


async def _apply(api: Kube, action: ApplyDefinition) -> CustomResourceDefinition:
    return await api.apply(
        CUSTOM_RESOURCE_DEFINITIONS,
        action.definition.manifest(),
        field_manager=FIELD_MANAGER,
        force=action.is_upgrade,
    )


def _outcome(
    before: CustomResourceDefinition | None, after: CustomResourceDefinition
) -> InstallationOutcome:
    """Not by the resource version, which a new field manager changes too."""
    if before is None:
        return InstallationOutcome.INSTALLED
    return (
        InstallationOutcome.UNCHANGED
        if _content(before) == _content(after)
        else InstallationOutcome.UPDATED
    )


def _content(definition: CustomResourceDefinition) -> tuple[object, ...]:
    """The generation counts the changes of the spec."""
    metadata = definition.metadata
    return metadata.generation, metadata.labels, metadata.annotations


async def _wait_until_served(
    api: Kube, clock: Clock, name: str, seconds_max: float, poll: Backoff
) -> None:
    deadline = clock.monotonic() + seconds_max
    polls = 0
    while not (await api.get(CUSTOM_RESOURCE_DEFINITIONS, name)).is_established:
        if clock.monotonic() > deadline:
            raise NotEstablished(
                f"{name} was not established within {seconds_max:.0f} s; "
                f"`kubectl describe crd {name}` shows why"
            )
        polls += 1
        await clock.sleep(poll.delay_seconds(failures=polls, jitter=0.0))
