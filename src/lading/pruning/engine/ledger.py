"""What confirmed runs remember: since when each tag names its digest, and how much was used. Pure.

A registry does not say when something was pushed. The age of a digest under a tag begins when a
confirmed run first saw it there; a tag that names another digest begins again.
"""

from collections.abc import Collection
from datetime import datetime

import msgspec

from lading.kernel.errors import UNREADABLE, Malformed
from lading.pruning.engine.types import Inventory

VERSION = "lading.prune.ledger/v1"


class Ledger(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    version: str = VERSION
    references: int | None = None
    """How many references named this registry in the last confirmed run."""
    first_seen: dict[str, tuple[str, datetime]] = {}
    """`repository:tag` -> (digest, since when)."""


EMPTY = Ledger()


def decode(content: bytes | None) -> Ledger:
    if content is None:
        return EMPTY
    try:
        found = msgspec.json.decode(content, type=Ledger)
    except UNREADABLE as error:
        reason = f"{error}; remove it, and ages begin again"
        raise Malformed(what="prune ledger", text=content[:64], reason=reason) from error
    if found.version != VERSION:
        reason = f"expected {VERSION}; it was written by another release"
        raise Malformed(what="prune ledger", text=found.version, reason=reason)
    return found


def encode(ledger: Ledger) -> bytes:
    return msgspec.json.encode(ledger)


def updated(
    ledger: Ledger,
    inventory: Inventory,
    now: datetime,
    *,
    references: int | None,
    only: Collection[str] = (),
) -> Ledger:
    """With the tags of today: what is gone is forgotten, what is new begins now.

    Where `only` some repositories were read, the others are remembered as they were.
    """
    seen = {
        key: first
        for key, first in ledger.first_seen.items()
        if only and key.rpartition(":")[0] not in only
    }
    for repository in inventory.repositories.values():
        for tag in repository.tags:
            key = f"{repository.name}:{tag.name}"
            digest, since = ledger.first_seen.get(key, ("", now))
            seen[key] = (tag.digest, since if digest == tag.digest else now)
    return Ledger(references=references, first_seen=seen)
