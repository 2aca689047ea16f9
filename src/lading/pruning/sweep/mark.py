"""Marks the needed data: all that the kept manifests reach, in the graph of the engine. Pure.

Without roots every manifest is kept. Digests are compared by their first 64 bits: a collision can
only keep too much.
"""

import numpy as np
from numpy.typing import NDArray

from lading.pruning.engine.inventory import graph
from lading.pruning.engine.inventory.graph import Ids, Keys
from lading.pruning.sweep.types import LinkKind, Links, Listing, Roots, SweepFacts

_NONE = np.zeros(0, dtype=np.uint64)


def live(facts: SweepFacts, *, young_since: int) -> Keys:
    """The sorted numbers of all needed data. With roots, young manifests are kept too."""
    documents = facts.documents
    is_attached = documents.subjects != 0
    aliases = [one.link for one in facts.listing.aliases if one.link.target]
    every, columns = graph.numbered_keys(
        [
            documents.keys,
            documents.targets,
            documents.subjects[is_attached],
            _keys([one.digest for one in aliases]),
            _keys([one.target for one in aliases]),
            _root_keys(facts, young_since),
            _keys(sorted(facts.roots.used) if facts.roots else []),
        ]
    )
    manifests, targets, subjects, alias_from, alias_to, roots, used = columns
    counts = np.diff(documents.starts)
    built = graph.from_pairs(
        np.concatenate((np.repeat(manifests, counts), subjects, alias_from)),
        np.concatenate((targets, manifests[is_attached], alias_to)),
        node_count=len(every),
    )
    # A runtime may report the configuration of an image, or one platform of an index.
    holders = np.flatnonzero(built.reversed().reachable(used))
    found: Keys = every[built.reachable(np.concatenate((roots, holders)))]
    return found


def unreadable_repositories(facts: SweepFacts) -> Ids:
    """Repositories with an unreadable manifest or link: they keep all that they link."""
    found = np.array(sorted(facts.listing.opaque), dtype=np.int32)
    opaque = np.array(sorted(facts.documents.opaque), dtype=np.uint64)
    for revisions in manifest_links(facts.listing):
        found = np.union1d(found, revisions.repositories[np.isin(revisions.keys, opaque)])
    return found.astype(np.int32)


def linked_by(listing: Listing, repositories: Ids) -> Keys:
    """The sorted numbers of all data that these repositories link."""
    if not len(repositories):
        return _NONE
    parts = [one.keys[np.isin(one.repositories, repositories)] for one in listing.every_link()]
    return np.unique(np.concatenate(parts))


def contains(keys: Keys, wanted: Keys) -> NDArray[np.bool_]:
    """For each of `keys` whether it is in the sorted `wanted`."""
    if not len(wanted):
        return np.zeros(len(keys), dtype=np.bool_)
    places = np.minimum(np.searchsorted(wanted, keys), len(wanted) - 1)
    found: NDArray[np.bool_] = wanted[places] == keys
    return found


def _root_keys(facts: SweepFacts, young_since: int) -> Keys:
    links = manifest_links(facts.listing)
    if facts.roots is None:
        return np.concatenate([*(one.keys for one in links), _keys(sorted(facts.tagged))])
    kept = np.union1d(unreadable_repositories(facts), _numbers(facts.listing, facts.roots))
    parts = [_keys(sorted(facts.roots.digests))]
    for one in links:
        stays = (one.times > young_since) | np.isin(one.repositories, kept)
        parts.append(one.keys[stays])
    return np.concatenate(parts)


def _numbers(listing: Listing, roots: Roots) -> Ids:
    found = [
        number for number, name in enumerate(listing.repositories) if name in roots.repositories
    ]
    return np.array(found, dtype=np.int32)


def manifest_links(listing: Listing) -> tuple[Links, Links]:
    return listing.revisions, listing.of_aliases(LinkKind.MANIFEST)


def _keys(digests: list[str]) -> Keys:
    return np.array([graph.key_of(one) for one in digests], dtype=np.uint64)
