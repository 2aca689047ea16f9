"""The plan of a plain registry: tags by the rules, then manifests that no kept tag needs. Pure.

Deletions that share a manifest are one group, so that an image is always complete in its repository
or complete in the trash.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from lading.pruning.engine.decisions import dated_manifests, liveness, policy, rules
from lading.pruning.engine.decisions.policy import Policy, RepositoryPolicy
from lading.pruning.engine.decisions.rules import Candidate, Facts
from lading.pruning.engine.decisions.verdicts import Verdicts
from lading.pruning.engine.inventory import content
from lading.pruning.engine.inventory.manifest_table import InventoryManifest
from lading.pruning.engine.types import (
    AgeFrom,
    Decision,
    Deletion,
    Inventory,
    PruneReason,
    Repository,
    Revision,
    Settings,
    Tag,
    TagVerdicts,
    Verdict,
    What,
)

ManifestVerdicts = Mapping[tuple[str, str], Verdict]


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    tags: TagVerdicts
    manifests: ManifestVerdicts
    deletions: tuple[Deletion, ...]


def decide(inventory: Inventory, facts: Facts, tag_policy: Policy) -> Decided:
    tags = _tag_verdicts(inventory, facts, tag_policy)
    dated = {
        name: dated_manifests.verdicts(one, inventory, facts, tag_policy, tags)
        for name, one in inventory.repositories.items()
    }
    live = liveness.live(inventory, facts, tags, dated)
    manifests = Verdicts()
    for name, repository in inventory.repositories.items():
        for digest, is_live in live.flags(repository):
            manifests[name, digest] = _manifest_verdict(dated[name].get(digest), is_live=is_live)
    del live, dated
    _keep_tags_of_attached(inventory, tags, manifests)
    freed = _Freed(inventory, manifests)
    deletions = tuple(
        line
        for repository in inventory.repositories.values()
        for line in _lines(repository, inventory, tags, manifests, freed)
    )
    return Decided(tags=tags, manifests=manifests, deletions=deletions)


def _keep_tags_of_attached(
    inventory: Inventory, tags: TagVerdicts, manifests: ManifestVerdicts
) -> None:
    """A manifest that is kept with its subject keeps its tags.

    Without them the next run could not find it if the registry does not list referrers.
    """
    for (name, tag), digest in _going_tags(inventory, tags):
        subject = inventory.manifests.subject(digest)
        verdict = manifests.get((name, subject)) if subject else None
        if verdict is not None and verdict.decision is Decision.KEEP:
            tags[name, tag] = Verdict(
                Decision.KEEP, PruneReason.REACHABLE, f"attached to {subject}"
            )


def _going_tags(inventory: Inventory, tags: TagVerdicts) -> Iterator[tuple[tuple[str, str], str]]:
    for name, repository in inventory.repositories.items():
        for tag in repository.tags:
            if tags[name, tag.name].decision is Decision.DELETE:
                yield (name, tag.name), tag.digest


class _Freed:
    """The bytes that each manifest frees. Shared blobs count once."""

    def __init__(self, inventory: Inventory, manifests: ManifestVerdicts) -> None:
        self._known = inventory.manifests
        self._is_counted = bytearray(self._known.digest_count)
        """By number: whether a kept manifest needs it, or it was counted before."""
        for (_, digest), verdict in manifests.items():
            if verdict.decision is Decision.KEEP and digest in self._known:
                self._is_counted[self._known.number(digest)] = True
                for number in self._known.numbers_needed(digest):
                    self._is_counted[number] = True

    def size_bytes(self, digest: str) -> int:
        manifest = self._known.get(digest)
        if manifest is None:
            return 0
        total = manifest.size_bytes if self._counts(self._known.number(digest)) else 0
        for number in map(self._known.number, manifest.blobs):
            if self._counts(number):
                total += self._known.size_bytes(number)
        return total

    def _counts(self, number: int) -> bool:
        counts = not self._is_counted[number]
        self._is_counted[number] = True
        return counts


def _tag_verdicts(inventory: Inventory, facts: Facts, tag_policy: Policy) -> TagVerdicts:
    """The verdicts of all tags that do not follow a subject."""
    found = Verdicts()
    for repository in inventory.repositories.values():
        tags = [tag for tag in repository.tags if not content.subject_of_tag(tag.name)]
        tagged = {tag.digest: inventory.manifests.get(tag.digest) for tag in repository.tags}
        own_policy = tag_policy.of(repository.name)
        retained = _retained(tags, tagged, own_policy, facts) if own_policy else {}
        for tag in repository.tags:
            candidate = Candidate(
                repository=repository,
                tag=tag,
                position=0,
                revision=Revision(tag.digest, tag.pushed_at),
                manifest=tagged[tag.digest],
                retained=retained.get(tag.name),
            )
            chain = rules.ATTACHED if content.subject_of_tag(tag.name) else rules.REGISTRY
            if (verdict := rules.first_found(candidate, facts, chain)) is not None:
                found[repository.name, tag.name] = verdict
    return found


def _retained(
    tags: Sequence[Tag],
    tagged: Mapping[str, InventoryManifest | None],
    own: RepositoryPolicy,
    facts: Facts,
) -> Mapping[str, tuple[bool, str]]:
    """The decision of the policy about each tag that it covers.

    A tag of a manifest with a subject, such as a signature, does not count for `newest`.
    """
    times: dict[str, datetime | None] = {}
    found: dict[str, tuple[bool, str]] = {}
    for tag in tags:
        manifest = tagged[tag.digest]
        kind = manifest.artifact_type if manifest else ""
        if kind and kind not in own.artifact_types:
            continue
        time = _time(tag, manifest, facts.settings)
        if manifest and manifest.subject:
            found |= policy.verdicts(own, {tag.name: time}, facts.instant)
        else:
            times[tag.name] = time
    return found | policy.verdicts(own, times, facts.instant)


def _time(tag: Tag, manifest: InventoryManifest | None, settings: Settings) -> datetime | None:
    if settings.age_from is AgeFrom.CREATED:
        return manifest.created_at if manifest else None
    return tag.pushed_at


def closure(roots: Iterable[str], needed: Callable[[str], Iterable[str]]) -> set[str]:
    seen: set[str] = set()
    pending = list(roots)
    while pending:
        digest = pending.pop()
        if digest not in seen:
            seen.add(digest)
            pending += needed(digest)
    return seen


_NEEDED = Verdict(Decision.KEEP, PruneReason.REACHABLE, "a kept tag or a reference needs it")
_NOT_NEEDED = Verdict(Decision.DELETE, PruneReason.UNREACHABLE, "no kept tag or reference needs it")


def _manifest_verdict(own: Verdict | None, *, is_live: bool) -> Verdict:
    """`own` is the verdict by its age, if known."""
    if own is not None and (own.decision is Decision.KEEP) is is_live:
        return own
    return _NEEDED if is_live else _NOT_NEEDED


def _lines(
    repository: Repository,
    inventory: Inventory,
    tags: TagVerdicts,
    manifests: ManifestVerdicts,
    freed: _Freed,
) -> Iterator[Deletion]:
    name = repository.name
    going_tags = [
        tag for tag in repository.tags if tags[name, tag.name].decision is Decision.DELETE
    ]
    going = {
        digest
        for digest in repository.manifests
        if manifests[name, digest].decision is Decision.DELETE
    }
    groups = _groups(going, repository, inventory)
    for tag in sorted(going_tags, key=lambda tag: (groups.get(tag.digest, tag.digest), tag.name)):
        verdict = tags[name, tag.name]
        yield Deletion(
            what=What.TAG,
            repository=name,
            tag=tag.name,
            digest=tag.digest,
            group=groups.get(tag.digest, tag.digest),
            reason=verdict.reason,
            because=verdict.message,
        )
    for digest in _parents_first(going, inventory, groups):
        verdict = manifests[name, digest]
        yield Deletion(
            what=What.MANIFEST,
            repository=name,
            digest=digest,
            group=groups[digest],
            size_bytes=freed.size_bytes(digest),
            reason=verdict.reason,
            because=verdict.message,
        )


def _groups(going: set[str], repository: Repository, inventory: Inventory) -> dict[str, str]:
    """Manifests that share a manifest, and subjects with all that is attached, are one group."""
    leader = {digest: digest for digest in going}

    def find(digest: str) -> str:
        while leader[digest] != digest:
            leader[digest] = digest = leader[leader[digest]]
        return digest

    known = inventory.manifests
    together = [
        (digest, other)
        for digest in sorted(going)
        for other in (*known.manifests_needed(digest), known.subject(digest))
    ]
    together += content.attached_by_tag(repository)
    for digest, other in together:
        if digest in leader and other in leader:
            one, two = sorted((find(digest), find(other)))
            leader[two] = one
    return {digest: find(digest) for digest in going}


def _parents_first(going: set[str], inventory: Inventory, groups: Mapping[str, str]) -> list[str]:
    """In each group an index before its manifests: a registry may refuse to break an index."""
    seen: set[str] = set()
    finished: list[str] = []
    for top in sorted(going, reverse=True):
        pending = [(top, False)]
        while pending:
            digest, is_finished = pending.pop()
            if is_finished:
                finished.append(digest)
            elif digest in going and digest not in seen:
                seen.add(digest)
                children = inventory.manifests.manifests_needed(digest)
                pending += [(digest, True), *((child, False) for child in children)]
    finished.reverse()
    return sorted(finished, key=groups.__getitem__)
