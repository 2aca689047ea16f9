"""Whether an image of the trash is used again, and whether its repository has it. Pure."""

from collections.abc import Sequence

from lading.pruning.engine.inventory import content
from lading.pruning.engine.references import names
from lading.pruning.engine.trash.trash import Record
from lading.pruning.engine.types import Inventory, References, Source


def is_used(record: Record, uses: References) -> bool:
    if not uses.digests.keys().isdisjoint((*record.manifests, *record.configs)):
        return True
    return any(
        names.user_of(uses, repository=record.repository, tag=tag, digest="")
        for tag in record.tags or ("",)
    )


def with_attached(
    record: Record, records: Sequence[tuple[str, Record]]
) -> list[tuple[str, Record]]:
    """The records of signatures by tag that belong to an image of the trash, also of signatures.

    Earlier releases wrote a record of their own for each.
    """
    found: list[tuple[str, Record]] = []
    digests = {*record.manifests}
    while True:
        fresh = [
            (place, one)
            for place, one in records
            if one != record
            and (place, one) not in found
            and not digests.isdisjoint(map(content.subject_of_tag, one.tags))
        ]
        if not fresh:
            return found
        found += fresh
        digests |= {digest for _, one in fresh for digest in one.manifests}


def held_by_indexes(
    records: Sequence[tuple[str, Record]], inventory: Inventory
) -> dict[str, set[str]]:
    """By repository of a record, the manifests that its indexes hold."""
    found: dict[str, set[str]] = {}
    for name in {record.repository for _, record in records} & inventory.repositories.keys():
        known = map(inventory.manifests.get, inventory.repositories[name].manifests)
        found[name] = {child for one in known if one for child in one.children}
    return found


def is_in_place(record: Record, inventory: Inventory) -> bool:
    repository = inventory.repositories.get(record.repository)
    if repository is None:
        return False
    if inventory.source is Source.IMAGE_STREAMS:
        history = {one.digest for tag in repository.tags for one in tag.revisions}
        return set(record.tags.values()) <= history
    has_manifests = record.manifests.keys() <= set(repository.manifests)
    return has_manifests and has_its_tags(record, inventory)


def has_its_tags(record: Record, inventory: Inventory) -> bool:
    """Whether all its tags exist; they may name other images, because no tag is moved."""
    repository = inventory.repositories.get(record.repository)
    return record.tags.keys() <= {tag.name for tag in (repository.tags if repository else ())}
