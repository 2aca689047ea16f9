"""Decides about every blob of a storage: keep, remove its links, or delete; each with a reason.

A blob that no manifest needs is condemned first: it loses its links, so that clients upload it
again. A later run deletes it if the grace period is over and it has no new link. With `--offline`
both happen at once.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from lading.pruning.engine.inventory import graph
from lading.pruning.engine.inventory.graph import Keys
from lading.pruning.sweep import mark
from lading.pruning.sweep.state import SweepState
from lading.pruning.sweep.types import (
    LATE_DELETION_MAX,
    BlobReason,
    Link,
    LinkKind,
    Links,
    Listing,
    SecondLook,
    StoredBlobs,
    SweepFacts,
    SweepPlan,
    SweepSettings,
    seconds,
)

Flags = NDArray[np.bool_]
Kept = list[tuple[BlobReason, Keys]]


def plan(facts: SweepFacts, state: SweepState, settings: SweepSettings, now: datetime) -> SweepPlan:
    blobs = facts.listing.blobs
    cutoff = seconds(now) - int(settings.grace.total_seconds())
    live = mark.live(facts, young_since=cutoff)
    kept = _kept_keys(facts, state, live)
    newest, is_linked = _links_of_blobs(facts.listing)
    reasons = _unneeded(blobs, is_linked, state, settings, now)
    left_aside = _left_aside(facts)
    for digest in left_aside:
        reasons[blobs.position(digest)] = BlobReason.WAITING
    reasons[newest > cutoff] = BlobReason.YOUNG
    for reason, keys in reversed(kept):
        reasons[mark.contains(blobs.keys, keys)] = reason
    condemned = np.flatnonzero(reasons == BlobReason.CONDEMNED)
    swept = np.flatnonzero(reasons == BlobReason.UNREFERENCED)
    dropped, used_again = _no_longer_condemned(facts, state, reasons, is_linked, now)
    return SweepPlan(
        reasons=reasons,
        condemned=condemned,
        swept=swept,
        links=links_of(facts.listing, swept if settings.is_offline else condemned),
        restored=tuple(sorted(_restored(facts, state, kept))),
        dropped=dropped,
        used_again=used_again,
        left_aside=left_aside,
        put_back=_put_back(facts, [keys for _, keys in kept]),
        uploads=tuple(sorted(_old_uploads(facts.listing, settings, now))),
    )


def second_look(
    facts: SweepFacts, state: SweepState, settings: SweepSettings, now: datetime
) -> SecondLook:
    """Decides by a new listing of links and manifests, which has no blobs."""
    cutoff = seconds(now) - int(settings.grace.total_seconds())
    live = mark.live(facts, young_since=cutoff)
    kept = _kept_keys(facts, state, live)
    return SecondLook(
        restored=tuple(sorted(_restored(facts, state, kept))),
        put_back=_put_back(facts, [keys for _, keys in kept]),
        used_again=tuple(sorted(one for one in state.condemned if _is_kept(one, kept))),
    )


def links_of(listing: Listing, positions: NDArray[np.int64]) -> tuple[Link, ...]:
    """All links to these blobs."""
    blobs = listing.blobs
    keys = blobs.keys[positions]
    found: list[Link] = []
    columns = ((listing.layers, LinkKind.LAYER), (listing.revisions, LinkKind.MANIFEST))
    for links, kind in columns:
        chosen = np.flatnonzero(mark.contains(links.keys, keys))
        places, _ = blobs.positions(links.keys[chosen])
        for one, place in zip(chosen.tolist(), places.tolist(), strict=True):
            name = listing.repositories[links.repositories[one]]
            found.append(Link(name, kind, blobs.digest(place)))
    wanted = set(keys.tolist())
    found += [one.link for one in listing.aliases if graph.key_of(one.link.data) in wanted]
    return tuple(sorted(found))


def _kept_keys(facts: SweepFacts, state: SweepState, live: Keys) -> Kept:
    images = np.unique(
        np.array([graph.key_of(one) for one in facts.image_digests], dtype=np.uint64)
    )
    unreadable = mark.linked_by(facts.listing, mark.unreadable_repositories(facts))
    lost = {graph.key_of(link.data) for link in _lost_by_unreadable(facts, state)}
    return [
        (BlobReason.NEEDED, live),
        (BlobReason.UNREADABLE, np.union1d(unreadable, np.array(sorted(lost), dtype=np.uint64))),
        (BlobReason.IMAGE, images),
    ]


def _is_kept(digest: str, kept: Kept) -> bool:
    return any(_is_in(graph.key_of(digest), keys) for _, keys in kept)


def _lost_by_unreadable(facts: SweepFacts, state: SweepState) -> Iterator[Link]:
    """The removed links of repositories that have an unreadable manifest now."""
    unreadable = mark.unreadable_repositories(facts).tolist()
    names = {facts.listing.repositories[one] for one in unreadable}
    for digest, condemned in state.condemned.items() if names else ():
        yield from (one for one in condemned.links(digest) if one.repository in names)


def _links_of_blobs(listing: Listing) -> tuple[NDArray[np.uint32], Flags]:
    """When each blob was last uploaded or linked, and whether it has any link."""
    blobs = listing.blobs
    newest = blobs.times.copy()
    is_linked = np.zeros(len(blobs), dtype=np.bool_)
    for links in listing.every_link():
        places, is_there = blobs.positions(links.keys)
        np.maximum.at(newest, places[is_there], links.times[is_there])
        is_linked[places[is_there]] = True
    return newest, is_linked


def _unneeded(
    blobs: StoredBlobs,
    is_linked: Flags,
    state: SweepState,
    settings: SweepSettings,
    now: datetime,
) -> NDArray[np.uint8]:
    """The reason of each blob if nothing needs it."""
    if settings.is_offline:
        return np.full(len(blobs), BlobReason.UNREFERENCED, dtype=np.uint8)
    reasons = np.full(len(blobs), BlobReason.CONDEMNED, dtype=np.uint8)
    for digest, condemned in state.condemned.items():
        place = blobs.position(digest)
        if place is None or is_linked[place] or condemned.is_used_again:
            continue  # it is condemned anew
        is_over = now - condemned.since >= settings.grace
        reasons[place] = BlobReason.UNREFERENCED if is_over else BlobReason.WAITING
    if settings.copy_bytes_max is not None:
        is_large = blobs.sizes > settings.copy_bytes_max
        reasons[is_large & (reasons == BlobReason.UNREFERENCED)] = BlobReason.TOO_LARGE
    return reasons


def _restored(facts: SweepFacts, state: SweepState, kept: Kept) -> set[Link]:
    """The links that a needed digest lost, and other links that current manifests need."""
    by_key = {graph.key_of(one): one for one in state.condemned if _is_kept(one, kept)}
    if not by_key:
        return set()
    by_reason = dict(kept)
    live, images = by_reason[BlobReason.NEEDED], by_reason[BlobReason.IMAGE]
    found = set(_lost_by_unreadable(facts, state))
    for key, digest in by_key.items():
        if _is_in(key, live) or _is_in(key, images):
            found.update(state.condemned[digest].links(digest))
    documents, listing = facts.documents, facts.listing
    manifests = set(documents.keys.tolist()) & by_key.keys()
    wanted = np.array(sorted(by_key), dtype=np.uint64)
    edges = np.flatnonzero(mark.contains(documents.targets, wanted))
    sources = np.searchsorted(documents.starts, edges, side="right") - 1
    for source, edge in zip(sources.tolist(), edges.tolist(), strict=True):
        key = int(documents.targets[edge])
        digest = by_key[key]
        is_manifest = bool(state.condemned[digest].manifests) or key in manifests
        kind = LinkKind.MANIFEST if is_manifest else LinkKind.LAYER
        if _is_in(int(documents.keys[source]), live):
            for links in mark.manifest_links(listing):
                holders = _repositories_of(links, documents.keys[source])
                found |= {Link(listing.repositories[one], kind, digest) for one in holders}
    return found - set(_present(listing, by_key))


def _repositories_of(links: Links, key: np.uint64) -> list[int]:
    found: list[int] = links.repositories[links.keys == key].tolist()
    return found


def _present(listing: Listing, by_key: dict[int, str]) -> Iterable[Link]:
    """The links that these digests have now."""
    wanted = np.array(sorted(by_key), dtype=np.uint64)
    columns = ((listing.layers, LinkKind.LAYER), (listing.revisions, LinkKind.MANIFEST))
    for links, kind in columns:
        for one in np.flatnonzero(mark.contains(links.keys, wanted)).tolist():
            name = listing.repositories[links.repositories[one]]
            yield Link(name, kind, by_key[int(links.keys[one])])
    yield from (one.link for one in listing.aliases)


def _no_longer_condemned(
    facts: SweepFacts,
    state: SweepState,
    reasons: NDArray[np.uint8],
    is_linked: Flags,
    now: datetime,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Condemned digests that are needed, linked or gone: to forget now, or to keep for a while.

    The storage may still execute a deletion of their links that got no answer.
    """
    blobs, aside = facts.listing.blobs, set(facts.aside)
    waits = {BlobReason.WAITING, BlobReason.TOO_LARGE, BlobReason.UNREFERENCED}
    dropped: list[str] = []
    used_again: list[str] = []
    for digest, condemned in sorted(state.condemned.items()):
        place = blobs.position(digest)
        if place is None:
            stays = digest in aside
        else:
            is_again = reasons[place] == BlobReason.CONDEMNED and bool(is_linked[place])
            stays = is_again or BlobReason(int(reasons[place])) in waits
        if not stays:
            is_late = now - condemned.since >= LATE_DELETION_MAX
            (dropped if place is None or is_late else used_again).append(digest)
    return tuple(dropped), tuple(used_again)


def _left_aside(facts: SweepFacts) -> tuple[str, ...]:
    """Their copy is needed if a late deletion takes data that a push relied on."""
    return tuple(sorted(one for one in facts.aside_lately if facts.listing.blobs.has(one)))


def _put_back(facts: SweepFacts, kept: list[Keys]) -> tuple[str, ...]:
    keys = np.array([graph.key_of(one) for one in facts.aside], dtype=np.uint64)
    stays = np.zeros(len(keys), dtype=np.bool_)
    for links in facts.listing.every_link():
        stays |= np.isin(keys, links.keys)
    for needed in kept:
        stays |= mark.contains(keys, needed)
    return tuple(sorted(one for one, stay in zip(facts.aside, stays, strict=True) if stay))


def _old_uploads(listing: Listing, settings: SweepSettings, now: datetime) -> Iterable[str]:
    oldest = seconds(now) - int(settings.upload_age_max.total_seconds())
    return (folder for folder, time in listing.uploads.items() if time < oldest)


def _is_in(key: int, keys: Keys) -> bool:
    place = int(np.searchsorted(keys, np.uint64(key)))
    return place < len(keys) and int(keys[place]) == key
