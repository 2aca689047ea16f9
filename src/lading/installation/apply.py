"""Reads what is installed, applies what the plan says, and waits until it is served."""

from collections.abc import Sequence

from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.definitions import Definition
from lading.installation import check
from lading.installation.plan import ApplyDefinition, InstallationPlan, plan
from lading.kernel.backoff import Backoff
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import Kube

FIELD_MANAGER = "lading-installation"
ESTABLISHED_SECONDS_MAX = 30.0
PLANS_MAX = 3  # a second plan finds what the first met; a third is for a kind that comes and goes
POLL = Backoff(seconds_min=0.1, seconds_max=2)


class NotEstablished(Exception):
    """The API server took a definition but does not serve it."""


async def install(
    api: Kube,
    clock: Clock,
    definitions: Sequence[Definition],
    *,
    established_seconds_max: float = ESTABLISHED_SECONDS_MAX,
    poll: Backoff = POLL,
) -> InstallationPlan:
    """Installs the kinds; the plan names those that belong to others."""
    found = await _applied(api, definitions)
    for definition in definitions:
        await _wait_until_served(api, clock, definition.name, established_seconds_max, poll)
    return found


async def _applied(api: Kube, definitions: Sequence[Definition]) -> InstallationPlan:
    """Another owner may install a kind after it was looked for: then it is looked for again."""
    for plans_left in reversed(range(PLANS_MAX)):
        found = plan(definitions, await check.installed(api, definitions))
        try:
            for action in found.actions:
                assert isinstance(action, ApplyDefinition)
                await _apply(api, action)
        except kube.Conflict:
            if not plans_left:
                raise
        else:
            return found
    raise AssertionError("the last plan is applied or its error is raised")


async def _apply(api: Kube, action: ApplyDefinition) -> None:
    await api.apply(
        CUSTOM_RESOURCE_DEFINITIONS,
        action.definition.manifest(),
        field_manager=FIELD_MANAGER,
        force=action.is_upgrade,
    )


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
