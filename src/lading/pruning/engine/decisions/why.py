"""Answers `why`: the chains that keep a tag, manifest or blob, or the rule against it. Pure."""

from collections.abc import Iterator, Mapping

import msgspec

from lading.pruning.engine.inventory import content
from lading.pruning.engine.types import (
    Decision,
    Inventory,
    PrunePlan,
    PruneReason,
    References,
    Verdict,
)

CHAINS_MAX = 100


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Each chain leads from the subject to what keeps it. Without a chain it is deleted."""

    subject: str
    verdicts: tuple[tuple[str, Verdict], ...] = ()
    """(place, verdict) of each tag or manifest of the subject."""
    chains: tuple[tuple[str, ...], ...] = ()

    @property
    def is_known(self) -> bool:
        return bool(self.verdicts or self.chains)


def why(text: str, inventory: Inventory, references: References, plan: PrunePlan) -> Answer:
    """`repository:tag`, `repository@digest` or a digest, of a manifest or a blob."""
    repository, digest, tag = _split(text, inventory.registry)
    asked = _Asked(inventory, references, plan)
    if digest:
        verdicts = tuple(
            (place or "image", verdict)
            for (place, one), verdict in plan.manifest_verdicts.items()
            if one == digest and repository in ("", place)
        )
        return Answer(subject=text, verdicts=verdicts, chains=tuple(asked.chains(digest)))
    verdict = plan.tag_verdicts.get((repository, tag))
    if verdict is None:
        return Answer(subject=text)
    chain = ((f"tag {repository}:{tag}", verdict.message),)
    is_kept = verdict.decision is Decision.KEEP
    return Answer(
        subject=text,
        verdicts=((f"{repository}:{tag}", verdict),),
        chains=chain if is_kept else (),
    )


def digest_of(text: str, inventory: Inventory) -> str:
    """The digests that the text names; empty if the tag does not exist."""
    repository, digest, tag = _split(text, inventory.registry)
    if digest or repository not in inventory.repositories:
        return digest
    tags = inventory.repositories[repository].tags
    return next((one.digest for one in tags if one.name == tag), "")


def _split(text: str, registry: str) -> tuple[str, str, str]:
    text = text.removeprefix(f"{registry}/")
    name, at, digest = text.partition("@")
    if at:
        return name.partition(":")[0], digest, ""
    algorithm, _, encoded = text.partition(":")
    if "/" not in algorithm and algorithm in ("sha256", "sha512") and len(encoded) >= 64:
        return "", text, ""
    repository, colon, tag = text.rpartition(":")
    return (repository, "", tag) if colon else (text, "", "latest")


class _Asked:
    """The steps upwards: manifests that need a digest, and its subjects."""

    def __init__(self, inventory: Inventory, references: References, plan: PrunePlan) -> None:
        self._references = references
        self._above: dict[str, list[tuple[str, str]]] = {}
        self._tags: dict[str, list[tuple[str, Verdict]]] = {}
        for manifest in inventory.manifests.values():
            kind = "index" if manifest.children else "manifest"
            for needed in content.needs(manifest):
                self._above.setdefault(needed, []).append((kind, manifest.digest))
        for subject, attached in content.attachments(inventory):
            self._above.setdefault(attached, []).append(("subject", subject))
        self._collect_tags(inventory, plan.tag_verdicts)
        self._kept: dict[str, list[Verdict]] = {}
        """By digest: what keeps the manifest itself (it is young, or imported)."""
        for (_, one), verdict in plan.manifest_verdicts.items():
            if verdict.decision is Decision.KEEP and verdict.reason is not PruneReason.REACHABLE:
                self._kept.setdefault(one, []).append(verdict)

    def _collect_tags(
        self, inventory: Inventory, verdicts: Mapping[tuple[str, str], Verdict]
    ) -> None:
        for repository in inventory.repositories.values():
            for tag in repository.tags:
                verdict = verdicts.get((repository.name, tag.name))
                if verdict is not None:
                    place = f"tag {repository.name}:{tag.name}"
                    self._tags.setdefault(tag.digest, []).append((place, verdict))

    def chains(self, digest: str) -> Iterator[tuple[str, ...]]:
        """Every chain without a cycle, at most CHAINS_MAX of them."""
        found = 0
        pending: list[tuple[str, tuple[str, ...], frozenset[str]]] = [
            (digest, (digest,), frozenset({digest}))
        ]
        while pending and found < CHAINS_MAX:
            here, chain, seen = pending.pop(0)
            for end in self._ends(here):
                found += 1
                yield (*chain, *end)
            for kind, above in self._above.get(here, ()):
                if above not in seen:
                    pending.append((above, (*chain, f"{kind} {above}"), seen | {above}))

    def _ends(self, digest: str) -> Iterator[tuple[str, ...]]:
        if users := self._references.digests.get(digest):
            yield tuple(f"used by {user}" for user in users[:CHAINS_MAX])
        for place, verdict in self._tags.get(digest, ()):
            if verdict.decision is Decision.KEEP:
                yield place, verdict.message
        for verdict in self._kept.get(digest, ()):
            yield (f"{verdict.reason}: {verdict.message}",)
