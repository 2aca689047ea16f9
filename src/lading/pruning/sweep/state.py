"""The state between sweeps: condemned digests, since when, and their former links. Pure."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

import msgspec

from lading.kernel import errors
from lading.kernel.digests import DigestText
from lading.kernel.errors import UNREADABLE, Malformed
from lading.kernel.references import RepositoryName
from lading.kernel.values import replace
from lading.pruning.sweep import layout
from lading.pruning.sweep.types import Link, LinkKind

VERSION = "lading.prune.sweep/v1"


class Condemned(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    since: Annotated[datetime, msgspec.Meta(tz=True)]
    is_used_again: bool = False
    """It is needed again. Its links are kept to restore those that a late deletion removes."""
    layers: tuple[RepositoryName, ...] = ()
    """The repositories that had it as a layer."""
    manifests: tuple[RepositoryName, ...] = ()
    """The repositories that had it as a manifest."""
    aliases: tuple[tuple[RepositoryName, LinkKind, DigestText], ...] = ()
    """Links by another digest: repository, kind and that digest."""

    def links(self, digest: str) -> tuple[Link, ...]:
        return (
            *(Link(one, LinkKind.LAYER, digest) for one in self.layers),
            *(Link(one, LinkKind.MANIFEST, digest) for one in self.manifests),
            *(Link(name, kind, other, digest) for name, kind, other in self.aliases),
        )


class SweepState(msgspec.Struct, frozen=True, kw_only=True):
    version: str = VERSION
    references: int | None = None
    """The number of references to this registry in the last confirmed run with `--untagged`."""
    condemned: dict[DigestText, Condemned] = {}

    @property
    def has_manifests(self) -> bool:
        """Whether a run with `--untagged` has condemned some."""
        return any(
            link.kind is LinkKind.MANIFEST
            for digest, one in self.condemned.items()
            for link in one.links(digest)
        )


EMPTY = SweepState()


def decode(content: bytes | None) -> SweepState:
    if content is None:
        return EMPTY
    try:
        found = msgspec.json.decode(content, type=SweepState)
    except UNREADABLE as error:
        reason = (
            f"{errors.explained(error)}; remove {layout.OWN}/state.json, or sweep-state.json in"
            " --state-dir, and condemning starts again"
        )
        raise Malformed(what="sweep state", text=content[:64], reason=reason) from error
    if found.version != VERSION:
        reason = f"expected {VERSION}; it was written by another release"
        raise Malformed(what="sweep state", text=found.version, reason=reason)
    return found


def encode(state: SweepState) -> bytes:
    return msgspec.json.encode(state)


def with_condemned(
    state: SweepState, digests: Iterable[str], links: Iterable[Link], now: datetime
) -> SweepState:
    """The grace period of a digest that has links again restarts. Its former links are kept."""
    by_digest: dict[str, set[Link]] = {digest: set() for digest in digests}
    for link in links:
        by_digest[link.data].add(link)
    condemned = dict(state.condemned)
    for digest, own in by_digest.items():
        before = condemned.get(digest)
        every = own | set(before.links(digest)) if before else own
        condemned[digest] = Condemned(
            since=now,
            layers=_repositories(every, LinkKind.LAYER),
            manifests=_repositories(every, LinkKind.MANIFEST),
            aliases=tuple(
                sorted((one.repository, one.kind, one.digest) for one in every if one.target)
            ),
        )
    return replace(state, condemned=condemned)


def without(state: SweepState, digests: Iterable[str]) -> SweepState:
    gone = set(digests)
    left = {digest: one for digest, one in state.condemned.items() if digest not in gone}
    return replace(state, condemned=left)


def with_used_again(state: SweepState, digests: Iterable[str]) -> SweepState:
    """The next run restores missing links of these digests, and then forgets them."""
    again = {one: replace(state.condemned[one], is_used_again=True) for one in digests}
    return replace(state, condemned=state.condemned | again)


def _repositories(links: Iterable[Link], kind: LinkKind) -> tuple[str, ...]:
    return tuple(sorted(one.repository for one in links if one.kind is kind and not one.target))
