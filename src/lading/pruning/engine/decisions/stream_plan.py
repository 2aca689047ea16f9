"""The plan of ImageStreams and Images: history by the rules, then links, blobs, Images. Pure.

It has the two stages of `oc adm prune images`, without its gaps: a digest that is used under any
name keeps its Image, an index keeps its manifests at any depth, and a layer link is kept while any
image in the stream has the layer.
"""

from collections.abc import Iterator

import msgspec

from lading.pruning.engine.decisions import registry_plan, rules
from lading.pruning.engine.decisions.registry_plan import Decided
from lading.pruning.engine.decisions.rules import Candidate, Facts
from lading.pruning.engine.inventory import content
from lading.pruning.engine.inventory.content import Content
from lading.pruning.engine.inventory.manifest_table import InventoryManifest
from lading.pruning.engine.types import (
    AgeFrom,
    Decision,
    Deletion,
    Inventory,
    PruneReason,
    Repository,
    TagVerdicts,
    Verdict,
    What,
)

ItemVerdicts = dict[tuple[str, int], Verdict]
ManifestVerdicts = dict[tuple[str, str], Verdict]


class _Stream(msgspec.Struct, frozen=True):
    repository: Repository
    items: ItemVerdicts

    def digests(self, *, kept_only: bool) -> set[str]:
        return {
            revision.digest
            for tag in self.repository.tags
            for position, revision in enumerate(tag.revisions)
            if not kept_only or self.items[tag.name, position].decision is Decision.KEEP
        }

    @property
    def is_trimmed(self) -> bool:
        return any(verdict.decision is Decision.DELETE for verdict in self.items.values())


def decide(inventory: Inventory, facts: Facts, graph: Content) -> Decided:
    streams = [_stream(one, inventory, facts) for one in inventory.repositories.values()]
    without_attached = _image_verdicts(inventory, facts, graph, _roots(streams, facts, own=True))
    for stream in streams:
        _follow_subjects(stream, without_attached)
    images = _image_verdicts(inventory, facts, graph, _roots(streams, facts))
    _keep_trashed(images, _trashed(streams, inventory, facts))
    lines = [line for stream in streams for line in _stream_lines(stream, inventory, facts)]
    lines += _image_lines(inventory, facts, graph, images)
    tags: TagVerdicts = {
        (stream.repository.name, tag): verdict
        for stream in streams
        for (tag, position), verdict in stream.items.items()
        if position == 0
    }
    return Decided(tags=tags, manifests=images, deletions=tuple(lines))


def _stream(repository: Repository, inventory: Inventory, facts: Facts) -> _Stream:
    items: ItemVerdicts = {}
    for tag in repository.tags:
        for position, revision in enumerate(tag.revisions):
            candidate = Candidate(
                repository=repository,
                tag=tag,
                position=position,
                revision=revision,
                manifest=inventory.manifests.get(revision.digest),
            )
            items[tag.name, position] = rules.decide(candidate, facts, rules.IMAGE_STREAM)
    return _Stream(repository, items)


def _roots(streams: list[_Stream], facts: Facts, *, own: bool = False) -> set[str]:
    """The digests of kept items and references; with `own`, without attached tags."""
    roots = {*facts.references.digests}
    for stream in streams:
        for tag in stream.repository.tags:
            if own and content.subject_of_tag(tag.name):
                continue
            roots |= {
                revision.digest
                for position, revision in enumerate(tag.revisions)
                if stream.items[tag.name, position].decision is Decision.KEEP
            }
    return roots


_BY_COUNT = (
    PruneReason.TAG_REVISIONS,
    PruneReason.OLD_REVISION,
    PruneReason.WITHIN_LIMIT,
    PruneReason.OVER_LIMIT,
)


def _trashed(streams: list[_Stream], inventory: Inventory, facts: Facts) -> set[str]:
    """The digests in the trash, and those that are copied there before they leave a stream."""
    found = {*facts.trash.digests}
    if facts.trash.is_filled:
        for stream in streams:
            if stream.repository.name not in facts.trash.repositories:
                found |= stream.digests(kept_only=False) - stream.digests(kept_only=True)
    return _closure(found, inventory)


def _keep_trashed(images: ManifestVerdicts, trashed: set[str]) -> None:
    for place, verdict in images.items():
        if verdict.decision is Decision.DELETE and place[1] in trashed:
            images[place] = Verdict(Decision.KEEP, PruneReason.IN_TRASH, "the trash needs it")


def _follow_subjects(stream: _Stream, images: ManifestVerdicts) -> None:
    """Tags like `sha256-HEX.sig` do not count: they follow their subject."""
    for tag in stream.repository.tags:
        subject = content.subject_of_tag(tag.name)
        decided = images.get(("", subject))
        if decided is None:
            continue
        for position in range(len(tag.revisions)):
            if stream.items[tag.name, position].reason not in _BY_COUNT:
                continue
            if decided.decision is Decision.KEEP:
                verdict = Verdict(Decision.KEEP, PruneReason.REACHABLE, f"attached to {subject}")
            else:
                verdict = Verdict(Decision.DELETE, PruneReason.SUBJECT_GONE, f"{subject} goes")
            stream.items[tag.name, position] = verdict


def _stream_lines(stream: _Stream, inventory: Inventory, facts: Facts) -> Iterator[Deletion]:
    if not stream.is_trimmed:
        return
    name = stream.repository.name
    for tag in stream.repository.tags:
        for position, revision in enumerate(tag.revisions):
            verdict = stream.items[tag.name, position]
            if verdict.decision is Decision.DELETE:
                yield Deletion(
                    what=What.TAG_ITEM,
                    repository=name,
                    tag=tag.name,
                    digest=revision.digest,
                    group=name,
                    revision=position,
                    reason=verdict.reason,
                    because=verdict.message,
                )
    if facts.settings.prune_registry:
        yield from _links(stream, inventory)


def _links(stream: _Stream, inventory: Inventory) -> Iterator[Deletion]:
    before = _closure(stream.digests(kept_only=False), inventory)
    after = _closure(stream.digests(kept_only=True), inventory)
    for what, digests in (
        (What.LAYER_LINK, sorted(_blobs(before, inventory) - _blobs(after, inventory))),
        (What.MANIFEST_LINK, sorted(before - after)),
    ):
        for digest in digests:
            yield Deletion(
                what=what,
                repository=stream.repository.name,
                digest=digest,
                group=stream.repository.name,
                reason=PruneReason.UNREACHABLE,
                because="no image that remains in the stream has it",
            )


def _closure(digests: set[str], inventory: Inventory) -> set[str]:
    def children(digest: str) -> tuple[str, ...]:
        manifest = inventory.manifests.get(digest)
        return manifest.children if manifest else ()

    return registry_plan.closure(digests, children)


def _blobs(digests: set[str], inventory: Inventory) -> set[str]:
    known = (inventory.manifests.get(digest) for digest in digests)
    return {blob for manifest in known if manifest for blob in manifest.blobs}


def _image_verdicts(
    inventory: Inventory, facts: Facts, graph: Content, roots: set[str]
) -> ManifestVerdicts:
    used = graph.holders(facts.references.digests)
    kept = graph.marked(graph.marks(roots) | used, inventory)
    return {
        ("", image.digest): _image_verdict(image, facts, is_live=image.digest in kept)
        for image in inventory.manifests.values()
    }


def _image_verdict(image: InventoryManifest, facts: Facts, *, is_live: bool) -> Verdict:
    if is_live:
        return Verdict(Decision.KEEP, PruneReason.REACHABLE, "a stream, index or object needs it")
    settings = facts.settings
    if not settings.all_images and not image.is_managed:
        return Verdict(Decision.KEEP, PruneReason.NOT_MANAGED, "imported, and --all is false")
    if settings.namespace:
        return Verdict(
            Decision.KEEP, PruneReason.OUT_OF_SCOPE, "Images are not pruned by namespace"
        )
    time = image.created_at if settings.age_from is AgeFrom.CREATED else image.pushed_at
    if time is None and settings.keep_younger_than:
        return Verdict(Decision.KEEP, PruneReason.UNKNOWN_PUSH_TIME, "its age is not known")
    if time is not None and time > facts.instant - settings.keep_younger_than:
        age = rules.shown_age(facts.instant, time)
        return Verdict(Decision.KEEP, PruneReason.YOUNG, f"{settings.age_from} {age}")
    return Verdict(
        Decision.DELETE, PruneReason.UNREACHABLE, "no stream, no index and no reference needs it"
    )


def _image_lines(
    inventory: Inventory, facts: Facts, graph: Content, verdicts: ManifestVerdicts
) -> Iterator[Deletion]:
    kept = [digest for (_, digest), one in verdicts.items() if one.decision is Decision.KEEP]
    held = graph.marks(kept)
    gone: set[str] = set()
    for (_, digest), verdict in verdicts.items():
        if verdict.decision is Decision.KEEP:
            continue
        image = inventory.manifests[digest]
        if facts.settings.prune_registry:
            for blob in dict.fromkeys((*image.blobs, digest)):
                if blob not in gone and not graph.is_marked(held, blob):
                    gone.add(blob)
                    size_bytes = inventory.manifests.blob_size_bytes(blob)
                    yield _image_line(What.BLOB, blob, image, verdict, size_bytes=size_bytes)
        yield _image_line(What.IMAGE, digest, image, verdict)


def _image_line(
    what: What,
    digest: str,
    image: InventoryManifest,
    verdict: Verdict,
    *,
    size_bytes: int = 0,
) -> Deletion:
    """Only blobs free bytes. Each has its own line."""
    return Deletion(
        what=what,
        digest=digest,
        group=image.digest,
        size_bytes=size_bytes,
        reason=verdict.reason,
        because=verdict.message,
    )
