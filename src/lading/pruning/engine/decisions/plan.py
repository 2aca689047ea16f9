"""The policy of the pruner, read top-down: from facts to a plan with a reason for each line."""

import itertools
from collections.abc import Callable, Iterable, Set
from datetime import datetime

from lading.kernel import durations
from lading.pruning.engine.decisions import registry_plan, rules, stream_plan
from lading.pruning.engine.decisions.policy import NO_POLICY, Policy
from lading.pruning.engine.decisions.registry_plan import Decided
from lading.pruning.engine.decisions.rules import Facts
from lading.pruning.engine.inventory import content
from lading.pruning.engine.types import (
    NO_TRASH,
    Decision,
    Deletion,
    Header,
    Inventory,
    PrunePlan,
    PruneReason,
    References,
    Saving,
    Settings,
    Source,
    TrashState,
    What,
)


def plan(
    inventory: Inventory,
    references: References,
    settings: Settings,
    now: datetime,
    *,
    policy: Policy = NO_POLICY,
    clusters: tuple[str, ...] = (),
    trash: TrashState = NO_TRASH,
) -> PrunePlan:
    facts = Facts(
        references=references,
        settings=settings,
        instant=now,
        holds_used=_holds_used(inventory, references),
        possible_paths=rules.possible_paths(references, inventory.repositories),
        digest_paths=rules.digest_paths(references, inventory.repositories),
        kept_repositories=rules.repositories_named_by_unreadable(
            references, tuple(inventory.repositories)
        ),
        trash=trash,
    )
    if inventory.source is Source.IMAGE_STREAMS:
        decided = stream_plan.decide(inventory, facts, content.build(inventory))
    else:
        decided = registry_plan.decide(inventory, facts, policy)
    return PrunePlan(
        header=_header(inventory, references, settings, now, clusters, decided),
        deletions=decided.deletions,
        tag_verdicts=decided.tags,
        manifest_verdicts=decided.manifests,
    )


def _holds_used(inventory: Inventory, references: References) -> Callable[[str], str]:
    """Maps an image to itself if it is used, else to a used manifest or configuration inside it.

    The registry's own garbage collection would delete a used manifest of an untagged index.
    """
    used = references.digests.keys()
    if not used:
        return lambda _digest: ""
    holding = _holding(inventory, used)

    def find(digest: str) -> str:
        if digest in used:
            return digest
        if digest not in holding:
            return ""
        found = registry_plan.closure([digest], lambda one: _needs(inventory, one))
        return min(found & used, default="")

    return find


def _holding(inventory: Inventory, used: Set[str]) -> set[str]:
    """The manifests that contain something used, at any depth."""
    holding: set[str] = set()
    found = inventory.manifests.needing(used)
    while not found <= holding:
        holding |= found
        found = inventory.manifests.needing(holding)
    return holding


def _needs(inventory: Inventory, digest: str) -> tuple[str, ...]:
    manifest = inventory.manifests.get(digest)
    return content.needs(manifest) if manifest else ()


def _header(
    inventory: Inventory,
    references: References,
    settings: Settings,
    now: datetime,
    clusters: tuple[str, ...],
    decided: Decided,
) -> Header:
    deletions = decided.deletions
    verdicts = itertools.chain(decided.tags.values(), decided.manifests.values())
    return Header(
        registry=inventory.registry,
        source=inventory.source,
        clusters=clusters,
        settings=_described(settings),
        planned_at=now,
        references=references.of_this_registry,
        deletions=len(deletions),
        kept_for_unknown_push_time=sum(
            1
            for one in verdicts
            if one.decision is Decision.KEEP and one.reason is PruneReason.UNKNOWN_PUSH_TIME
        ),
        size_bytes=sum(line.size_bytes for line in deletions),
        by_repository=_savings(deletions, lambda line: line.repository or "(images)"),
        by_rule=_savings(deletions, lambda line: line.reason),
    )


def _described(settings: Settings) -> dict[str, str]:
    return {
        "keepYoungerThan": durations.format_duration(settings.keep_younger_than),
        "keepTagRevisions": str(settings.keep_tag_revisions),
        "pruneOverSizeLimit": str(settings.prune_over_size_limit).lower(),
        "all": str(settings.all_images).lower(),
        "namespace": settings.namespace,
        "pruneRegistry": str(settings.prune_registry).lower(),
        "ageFrom": settings.age_from.value,
    }


def _savings(
    deletions: Iterable[Deletion], name_of: Callable[[Deletion], str]
) -> tuple[Saving, ...]:
    found: dict[str, tuple[int, int]] = {}
    for line in deletions:
        count, size = found.get(name_of(line), (0, 0))
        found[name_of(line)] = (count + 1, size + line.size_bytes)
    return tuple(Saving(name, *found[name]) for name in sorted(found))


def repositories_to_ask(found: PrunePlan, inventory: Inventory) -> frozenset[str]:
    """The repositories in which a referrer without a tag could change this plan.

    These are the repositories that lose a manifest: its referrers are deleted with it, and a
    referrer of another manifest may be an index that holds it. If a tag like `sha256-HEX.sig` is
    deleted, its subject may be in any repository, so all are asked.
    """
    if any(content.subject_of_tag(line.tag) for line in found.deletions):
        return frozenset(inventory.repositories)
    return frozenset(line.repository for line in found.deletions if line.what is What.MANIFEST)
