"""The record of confirmed runs: since when each tag names its digest, and planned deletions. Pure.

A registry does not report push times. So the age of a tag begins when a confirmed run first sees it
with its digest. A registry does not list untagged manifests either, so a run also records the
manifests that it is about to delete: if it is interrupted, the next run can find them.
"""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Annotated

import msgspec

from lading.kernel import errors, references
from lading.kernel.digests import DigestText
from lading.kernel.errors import UNREADABLE, Malformed
from lading.kernel.references import TagName
from lading.kernel.values import replace
from lading.pruning.engine.types import Deletion, Inventory, Source, What

VERSION = "lading.prune.ledger/v2"
FirstSeen = dict[TagName, tuple[DigestText, Annotated[datetime, msgspec.Meta(tz=True)]]]
"""Tag -> (digest, since when)."""
_first_seen_decoder = msgspec.json.Decoder(FirstSeen)


class Ledger(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    version: str = VERSION
    references: int | None = None
    """The number of references to this registry in the last confirmed run."""
    first_seen: dict[str, msgspec.Raw] = {}
    """By repository, not decoded, because a million tags as values need 350 MB."""
    unfinished: dict[str, tuple[DigestText, ...]] = {}
    """By repository, the manifests that a run was about to delete."""

    def of(self, repository: str) -> FirstSeen:
        content = self.first_seen.get(repository)
        if content is None:
            return {}
        try:
            return _first_seen_decoder.decode(content)
        except UNREADABLE as error:
            reason = f"firstSeen of {repository}: {errors.explained(error)}"
            raise _malformed(bytes(content)[:64], reason) from error

    def unread(self, source: Source, *, only: Collection[str]) -> "Ledger":
        """The entries of the repositories that the run did not read, because of `only`.

        So entries of deleted repositories are dropped. Other sources have their own dates.
        """
        if source is not Source.REGISTRY:
            return self

        def unread(name: str) -> bool:
            return bool(only) and name not in only

        return Ledger(
            references=self.references,
            first_seen={name: own for name, own in self.first_seen.items() if unread(name)},
            unfinished={name: own for name, own in self.unfinished.items() if unread(name)},
        )


EMPTY = Ledger()


def decode(content: bytes | None) -> Ledger:
    if content is None:
        return EMPTY
    try:
        found = msgspec.json.decode(content, type=Ledger)
    except UNREADABLE as error:
        raise _malformed(content[:64], errors.explained(error)) from error
    if found.version != VERSION:
        raise _malformed(found.version, f"expected {VERSION}; it was written by another release")
    for field, own in (("firstSeen", found.first_seen), ("unfinished", found.unfinished)):
        for name in own:
            if not references.is_repository(name.lower()):  # some registries allow upper case
                raise _malformed(name, f"expected the name of a repository in {field}")
    return found


def _malformed(text: object, reason: str) -> Malformed:
    advice = f"{reason}; remove the file, then all ages begin again"
    return Malformed(what="prune ledger", text=text, reason=advice)


def encode(ledger: Ledger) -> bytes:
    return msgspec.json.encode(ledger)


def updated(
    unread: Ledger,
    inventory: Inventory,
    now: datetime,
    *,
    references: int | None,
    going: Iterable[Deletion] = (),
) -> Ledger:
    """Adds the current tags with their ages from the inventory; the age of new tags begins now.

    `unread` has the repositories that this run did not read. `going` are the deletions of this run.
    Manifests that an earlier run left stay recorded until they are deleted or have a tag.
    """
    if inventory.source is not Source.REGISTRY:
        return replace(unread, references=references)
    seen = dict(unread.first_seen)
    unfinished = {name: {*own} for name, own in unread.unfinished.items()}
    for repository in inventory.repositories.values():
        own = {tag.name: (tag.digest, tag.pushed_at or now) for tag in repository.tags}
        seen[repository.name] = msgspec.Raw(msgspec.json.encode(own))
        if repository.left_over:
            unfinished.setdefault(repository.name, set()).update(repository.left_over)
    for line in going:
        if line.what is What.MANIFEST:
            unfinished.setdefault(line.repository, set()).add(line.digest)
    return Ledger(
        references=references,
        first_seen=seen,
        unfinished={name: tuple(sorted(own)) for name, own in unfinished.items()},
    )


def without(ledger: Ledger, repository: str, manifests: Collection[str]) -> Ledger:
    """Removes these manifests, because a user restored them."""
    lines = (Deletion(what=What.MANIFEST, repository=repository, digest=one) for one in manifests)
    return finished(ledger, lines)


def finished(ledger: Ledger, deleted: Iterable[Deletion]) -> Ledger:
    """Removes the manifests that a run deleted."""
    unfinished = {name: {*own} for name, own in ledger.unfinished.items()}
    for line in deleted:
        if line.what is What.MANIFEST:
            unfinished.get(line.repository, set()).discard(line.digest)
    left = {name: tuple(sorted(own)) for name, own in unfinished.items() if own}
    return replace(ledger, unfinished=left)


def not_begun(
    lines: Iterable[Deletion], touched: Iterable[Deletion], inventory: Inventory
) -> list[Deletion]:
    """The lines that the run did not begin, without manifests that an earlier run left.

    They must not stay recorded: if a user removes their tag, the image is not ours to delete.
    """
    begun = {line.identity for line in touched}
    left = {
        (one.name, digest) for one in inventory.repositories.values() for digest in one.left_over
    }
    return [
        line
        for line in lines
        if line.identity not in begun and (line.repository, line.digest) not in left
    ]
