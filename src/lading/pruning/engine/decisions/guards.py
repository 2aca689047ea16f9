"""Guards: if a plan looks wrong, the run deletes nothing and ends with exit code 3. Pure."""

from collections.abc import Iterator, Mapping
from enum import StrEnum

import msgspec

from lading.pruning.engine.types import Inventory, PrunePlan, References, What

SHARE_PERCENT_MAX_DEFAULT = 50
FEWER_REFERENCES_PERCENT = 50  # far fewer: less than half of last time
_HOSTS_SHOWN_MAX = 10
SMALL_PLAN = 10  # a share of fewer objects says nothing


class Guard(StrEnum):
    SHARE = "share"
    """The run would delete more than `--max-delete-percent` of the manifests."""
    BYTES = "bytes"
    """The run would delete more than `--max-delete-bytes`."""
    FEWER_REFERENCES = "fewer-references"
    """The run reads less than half of the references of the last confirmed run."""
    NO_REFERENCES = "no-references"
    """The run reads no reference that names this registry."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    share_percent_max: int = SHARE_PERCENT_MAX_DEFAULT
    size_bytes_max: int | None = None
    ignored: frozenset[Guard] = frozenset()


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    guard: Guard
    message: str


class GuardRefused(Exception):
    """The command ends with exit code 3."""

    def __init__(self, refusals: tuple[Refusal, ...]) -> None:
        names = ", ".join(f"--ignore-guard={one.guard}" for one in refusals)
        texts = " ".join(one.message for one in refusals)
        super().__init__(f"{texts} Nothing is deleted. To delete anyway: {names}.")
        self.refusals = refusals


def check(
    plan: PrunePlan,
    inventory: Inventory,
    references: References,
    limits: Limits,
    *,
    references_last_time: int | None = None,
) -> tuple[Refusal, ...]:
    """The guards that refuse this plan. A plan that deletes nothing is never refused."""
    if not plan.deletions:
        return ()
    found = (
        *_share(plan, inventory, limits),
        *_bytes(plan, limits),
        *_fewer_references(references, references_last_time),
        *_no_references(inventory, references),
    )
    return tuple(one for one in found if one.guard not in limits.ignored)


def _share(plan: PrunePlan, inventory: Inventory, limits: Limits) -> Iterator[Refusal]:
    gone = {
        (line.repository, line.digest)
        for line in plan.deletions
        if line.what in (What.MANIFEST, What.IMAGE)
    }
    total = max(len(plan.manifest_verdicts), 1)
    if len(gone) > SMALL_PLAN and len(gone) * 100 > limits.share_percent_max * total:
        message = (
            f"The plan deletes {len(gone)} of {total} manifests, which is more than"
            f" {limits.share_percent_max}%."
        )
        yield Refusal(guard=Guard.SHARE, message=message)


def _bytes(plan: PrunePlan, limits: Limits) -> Iterator[Refusal]:
    most = limits.size_bytes_max
    freed = sum(line.size_bytes for line in plan.deletions)
    if most is not None and freed > most:
        message = f"The plan frees {freed} bytes, which is more than {most}."
        yield Refusal(guard=Guard.BYTES, message=message)


def _fewer_references(references: References, last_time: int | None) -> Iterator[Refusal]:
    found = references.of_this_registry
    if last_time and found * 100 < FEWER_REFERENCES_PERCENT * last_time:
        message = (
            "The clusters have fewer references to this registry than last time:"
            f" {found} instead of {last_time}."
        )
        yield Refusal(guard=Guard.FEWER_REFERENCES, message=message)


def _no_references(inventory: Inventory, references: References) -> Iterator[Refusal]:
    if references.of_this_registry:
        return
    hosts = _most_used(references.hosts)
    used = f"They use {hosts}. If one of these is a name of this registry, set --registry-name."
    message = f"No reference of the clusters names {inventory.registry}."
    yield Refusal(guard=Guard.NO_REFERENCES, message=f"{message} {used if hosts else ''}".strip())


def _most_used(hosts: Mapping[str, int]) -> str:
    order = sorted(hosts, key=lambda host: (-hosts[host], host))
    return ", ".join(order[:_HOSTS_SHOWN_MAX])
