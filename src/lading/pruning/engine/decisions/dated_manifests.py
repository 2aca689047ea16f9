"""The rules for manifests without a tag. Pure.

The storage of a registry lists them with push times: `--keep-tag-revisions` keeps former images of
a kept tag, and every young manifest is kept. The API only shows those that an interrupted run was
about to delete. The graph decides about the rest.
"""

from collections.abc import Mapping, Sequence, Set

from lading.pruning.engine.decisions import rules
from lading.pruning.engine.decisions.policy import Policy
from lading.pruning.engine.decisions.rules import Candidate, Facts, Rule
from lading.pruning.engine.inventory import content
from lading.pruning.engine.inventory.manifest_table import InventoryManifest
from lading.pruning.engine.types import (
    Decision,
    Inventory,
    PruneReason,
    Repository,
    Revision,
    Tag,
    Verdict,
)

_NO_TAG = Tag("")
_NO_POLICY = Verdict(
    Decision.KEEP, PruneReason.NO_POLICY, "no policy is about its repository any more"
)
_FOLLOWS = (False, "it is deleted with the image that it belongs to")


def verdicts(
    repository: Repository,
    inventory: Inventory,
    facts: Facts,
    tag_policy: Policy,
    tags: Mapping[tuple[str, str], Verdict],
) -> dict[str, Verdict]:
    """By digest, without the manifests that no rule decides about."""
    if not repository.manifest_times:
        return _left_over(repository, inventory, facts, tag_policy) if repository.left_over else {}
    found: dict[str, Verdict] = {}
    for tag in repository.tags:
        verdict = tags.get((repository.name, tag.name))
        if verdict is not None and verdict.decision is Decision.KEEP:
            for digest, one in _previous(repository, tag, inventory, facts):
                _add(found, digest, one)
    every = set(repository.manifests)
    for digest, verdict in _untagged(
        repository, inventory, facts, tag_policy, rules.UNTAGGED, every
    ):
        _add(found, digest, verdict)
    return found


def _left_over(
    repository: Repository, inventory: Inventory, facts: Facts, tag_policy: Policy
) -> dict[str, Verdict]:
    """A user may have stopped the run because the policy was wrong."""
    left = {*repository.left_over}
    if tag_policy.of(repository.name) is None:
        return dict.fromkeys(left, _NO_POLICY)
    return dict(_untagged(repository, inventory, facts, tag_policy, rules.LEFT_OVER, left))


def _add(found: dict[str, Verdict], digest: str, verdict: Verdict) -> None:
    """Of several verdicts about a digest, the first one that keeps it wins."""
    known = found.get(digest)
    if known is None or known.decision is Decision.DELETE:
        found[digest] = verdict


def _previous(
    repository: Repository, tag: Tag, inventory: Inventory, facts: Facts
) -> list[tuple[str, Verdict]]:
    return [
        (
            revision.digest,
            rules.decide(
                Candidate(
                    repository=repository,
                    tag=tag,
                    position=position,
                    revision=revision,
                    manifest=inventory.manifests.get(revision.digest),
                ),
                facts,
                rules.PREVIOUS_REVISION,
            ),
        )
        for position, revision in enumerate(tag.revisions)
        if position
    ]


def _untagged(
    repository: Repository,
    inventory: Inventory,
    facts: Facts,
    tag_policy: Policy,
    chain: Sequence[Rule],
    chosen: Set[str],
) -> list[tuple[str, Verdict]]:
    own_policy = tag_policy.of(repository.name)
    types = own_policy.artifact_types if own_policy else ()
    known = [one for digest in repository.manifests if (one := inventory.manifests.get(digest))]
    inside = {child for one in known for child in one.children}
    inside |= {
        revision.digest
        for tag in repository.tags
        if content.subject_of_tag(tag.name)
        for revision in tag.revisions
    }
    found = []
    for manifest in known:
        if manifest.digest not in chosen:
            continue
        time = repository.manifest_times.get(manifest.digest)
        candidate = Candidate(
            repository=repository,
            tag=_NO_TAG,
            position=0,
            revision=Revision(manifest.digest, time),
            manifest=manifest,
            retained=_FOLLOWS if _belongs(manifest, inside, types) else None,
        )
        verdict = rules.first_found(candidate, facts, chain)
        if verdict is not None:
            found.append((manifest.digest, verdict))
    return found


def _belongs(manifest: InventoryManifest, inside: set[str], types: tuple[str, ...]) -> bool:
    """Whether the rule for artifacts without a policy does not apply."""
    return bool(manifest.subject) or manifest.digest in inside or manifest.artifact_type in types
