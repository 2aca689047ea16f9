"""Restores images of the trash that are used again, before a run deletes anything.

`used_again` decides which are used. This module asks the registry which parts are missing.
"""

from collections.abc import Mapping, Sequence

import msgspec

from lading.ports import registry as registries
from lading.pruning.engine.trash import used_again
from lading.pruning.engine.trash.trash import Record, Trash
from lading.pruning.engine.types import Inventory, References, Source


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    records: tuple[Record, ...] = ()
    lost: tuple[Record, ...] = ()
    """Records of images that are used again, but are no longer in the trash."""


async def restore(
    trash: Trash,
    records: Sequence[tuple[str, Record]],
    uses: References,
    inventory: Inventory,
    *,
    held: Mapping[str, set[str]],
) -> Restored:
    """`held` are the manifests that indexes hold, by repository."""
    restored: list[Record] = []
    lost: list[Record] = []
    for place, record in records:
        is_used = used_again.is_used(record, uses) and await _is_gone(trash, record, inventory)
        if is_used or await trash.misses(record, held.get(record.repository, set())):
            try:
                await trash.restore(place, record)
                for where, attached in used_again.with_attached(record, records):
                    await trash.restore(where, attached)
            except registries.NotFound:
                lost.append(record)
            else:
                restored.append(record)
    return Restored(records=tuple(restored), lost=tuple(lost))


async def _is_gone(trash: Trash, record: Record, inventory: Inventory) -> bool:
    """An image without a tag may exist and not be in the inventory."""
    if used_again.is_in_place(record, inventory):
        return False
    if inventory.source is Source.REGISTRY and used_again.has_its_tags(record, inventory):
        return await trash.misses(record, record.manifests.keys())
    return True
