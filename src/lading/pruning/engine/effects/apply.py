"""Executes the plan of a plain registry, one repository after the other.

The invariant: nothing that was used, pushed or tagged after the snapshot is deleted, and no tag
ever names what it did not name.

All images of a repository are copied into the trash first. Then its tags are read once: an image
stays if one of its tags changed, or if a new tag or a new reference needs it. The rest is deleted
by digest, which takes its tags along. Then the tags are read once more: an image that is needed by
now is restored. A tag is only ever written to restore an image whose snapshot had that very tag.
A kept tag that moves to an image between the reading and the deletion of the image is lost, because
no registry deletes conditionally; it is reported, and the image is in the trash.
"""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime

from lading.kernel import digests
from lading.kernel.references import Reference
from lading.ports import registry as registries
from lading.ports.registry import Manifest
from lading.ports.registry_administration import RegistryAdministration
from lading.pruning.engine.effects.groups import Group, grouped
from lading.pruning.engine.effects.outcomes import (
    CanaryFailed,
    CannotDelete,
    PruneOutcome,
    Result,
)
from lading.pruning.engine.effects.run_lock import RunLock
from lading.pruning.engine.effects.tags_now import TagReader, Tags
from lading.pruning.engine.inventory import parallel
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.engine.references.watch import NewReferences
from lading.pruning.engine.trash.trash import NotWhole, Trash, read_whole
from lading.pruning.engine.types import Deletion, Inventory, What

_CLIENT_ERRORS = range(400, 500)
_SERVER_ERROR = 500


class Applying:
    """Executes one plan on one registry."""

    def __init__(
        self,
        registry: RegistryAdministration,
        inventory: Inventory,
        *,
        trash: Trash | None,
        new: NewReferences,
        lock: RunLock,
        now: datetime,
        progress: PruneProgress,
        touched: list[Deletion],
        workers: int,
    ) -> None:
        self._registry = registry
        self._inventory = inventory
        self._trash = trash
        self._new = new
        self._lock = lock
        self._now = now
        self._progress = progress
        self._touched = touched
        self._workers = workers
        self._turns = asyncio.Semaphore(workers)
        self._tags = TagReader(registry, inventory, new, workers=workers)
        self._staying: set[str] = set()
        """The digests that the plan deletes and that stay: their signatures stay too."""
        self._gone: list[PruneOutcome] = []

    async def run(self, lines: Iterable[Deletion]) -> list[PruneOutcome]:
        """The first image is a canary: it is deleted and checked alone.

        A signature in another repository than its image comes after all others.
        """
        groups = grouped(lines, self._inventory)
        if not groups:
            return []
        self._progress.begin("deleting", sum(len(one.lines) for one in groups))
        first: dict[str, list[Group]] = {}
        last: dict[str, list[Group]] = {}
        for one in groups:
            (last if one.follows else first).setdefault(one.repository, []).append(one)
        canary = next(iter(first or last))
        await self._prune((first or last).pop(canary), has_canary=True)
        for part in (first, last):
            async with asyncio.TaskGroup() as tasks:
                for own in part.values():
                    tasks.create_task(self._prune_in_turn(own))
        await self._restore_used(groups)
        return [outcome for one in groups for outcome in one.outcomes()] + self._gone

    async def _prune_in_turn(self, groups: Sequence[Group]) -> None:
        async with self._turns:
            await self._prune(groups)

    async def _prune(self, groups: Sequence[Group], *, has_canary: bool = False) -> None:
        """The groups are of one repository. A failure stops no other image."""
        name = groups[0].repository
        try:
            copied = [one for one in groups if await self._copied(one)]
            tags = await self._tags.now(name) if copied else {}
            going = await self._recorded(await self._unneeded(name, copied, tags))
        except registries.RegistryError as error:
            for one in groups:
                one.end(Result.FAILED, str(error))
            return
        if has_canary and going:
            tags = await self._delete_all(name, going[:1], tags, is_canary=True)
            going = await self._unneeded(name, going[1:], tags)
        await self._delete_all(name, going, tags)
        self._staying |= {line.digest for one in groups if one.stays for line in one.manifests}

    async def _delete_all(
        self, name: str, groups: Sequence[Group], before: Tags, *, is_canary: bool = False
    ) -> Tags:
        """Deletes, and checks what the tags name after it."""
        for group in groups:
            await self._delete(group)
        begun = [one for one in groups if one.is_begun]
        if not begun:
            return before
        try:
            after = await self._tags.now(name)
            await self._check(name, begun, before, after, is_canary=is_canary)
        except registries.RegistryError as error:
            for one in begun:
                one.replace(Result.FAILED, f"it cannot be seen whether it is needed: {error}")
            return before
        return after

    async def _copied(self, group: Group) -> bool:
        """Whether the image is in the trash, without its record. Without a trash always."""
        self._progress.advance(len(group.lines))
        if await self._is_used(group):
            return False
        if self._trash is None:
            return True
        await self._lock.check()
        contents: dict[str, Manifest] = {}
        try:
            for line in reversed(group.manifests):
                await read_whole(self._registry, self._at(line), contents)
            group.record = await self._trash.copy(
                group.repository,
                group.lines[0].group,
                contents.values(),
                tags={line.tag: line.digest for line in group.lines if line.tag},
                reason=f"{group.lines[0].reason}: {group.lines[0].because}",
                now=self._now,
            )
        except NotWhole as error:
            group.end(Result.CANNOT_TRASH, str(error))
        except registries.Denied as error:
            group.end(Result.REFUSED, f"the registry forbids it: {error}")
        except registries.RegistryError as error:
            group.end(Result.FAILED, f"it cannot be copied into the trash: {_with_advice(error)}")
        return group.record is not None

    async def _unneeded(self, name: str, groups: Sequence[Group], before: Tags) -> list[Group]:
        needed = await self._tags.needed(name, before) if groups else None
        for group in groups:
            assert needed is not None, "there is a group"
            for line in group.lines:
                if line.tag and before.get(line.tag) != line.digest:
                    group.end(Result.CHANGED, f"{name}:{line.tag} changed")
                elif line.digest in needed.by and line.what is What.MANIFEST:
                    tag = needed.by[line.digest]
                    group.end(Result.CHANGED, f"{name}:{tag} needs it by now")
            if not group.follows.isdisjoint(self._staying):
                group.end(Result.CHANGED, "the image that it belongs to stays")
        return [one for one in groups if not one.is_ended and not await self._is_used(one)]

    async def _recorded(self, groups: Sequence[Group]) -> list[Group]:
        if self._trash is None or not groups:
            return [*groups]
        held = await self._trash.write([one.record for one in groups if one.record])
        for one in groups:
            if one.record not in held:
                one.end(Result.CANNOT_TRASH, "it is not in the trash after it was pushed")
        return [one for one in groups if not one.is_ended]

    async def _is_used(self, group: Group) -> bool:
        """Ends the group if a new reference uses it, or an untagged index that holds it."""
        user = self._new.user_of(group.lines, group.contained)
        if not user:
            used = await self._tags.used_in(group.repository)
            user = next((used[one.digest] for one in group.manifests if one.digest in used), "")
        if user and not group.is_begun:
            group.end(Result.NEW_REFERENCE, f"now used by {user}")
        group.user = user
        return bool(user)

    async def _delete(self, group: Group) -> None:
        await self._lock.check()
        if await self._is_used(group):
            return
        self._touched += group.lines
        group.is_begun = True
        try:
            for line in group.tags_alone:
                await self._untag(line, group)
            if group.is_changed:
                group.end(Result.CHANGED, "one of its tags was not deleted")
            for line in group.manifests:
                await self._delete_manifest(line, group)
        except registries.Denied as error:
            group.end(Result.REFUSED, f"the registry forbids it: {error}")
        except registries.RegistryError as error:
            group.end(Result.FAILED, str(error))

    async def _delete_manifest(self, line: Deletion, group: Group) -> None:
        if group.is_ended:
            return
        tags = [one for one in group.lines if one.tag and one.digest == line.digest]
        try:
            await self._registry.delete(self._at(line))
        except registries.Unsupported as error:
            raise CannotDelete(
                f"{self._inventory.registry} does not delete images ({error}); allow it in its"
                " configuration, or prune another registry"
            ) from error
        except registries.RegistryError as error:
            if not tags or isinstance(error, registries.Denied):
                raise
            if error.status not in _CLIENT_ERRORS:
                raise
            for tag in tags:  # some registries delete no manifest that has a tag
                await self._untag(tag, group)
            if group.is_changed:
                group.end(Result.CHANGED, "one of its tags was not deleted")
                return
            await self._registry.delete(self._at(line))
        for one in (*tags, line):
            group.set(one, Result.DELETED)

    async def _untag(self, line: Deletion, group: Group) -> None:
        """Right after a HEAD: the deletion of a tag also deletes what the tag names by then."""
        place = self._at(line, by_tag=True)
        found = await self._registry.head(place)
        if found is None or str(found.digest) != line.digest:
            group.set(line, Result.CHANGED, "it changed")
            return
        try:
            await self._registry.delete(place)
        except registries.RegistryError as error:
            if not isinstance(error, registries.Unsupported) and error.status != _CLIENT_ERRORS[0]:
                raise
            name = self._inventory.registry
            message = f"{name} cannot delete a tag alone; the image has other tags"
            group.set(line, Result.CANNOT_UNTAG, message)
            return
        group.set(line, Result.DELETED)

    async def _check(
        self, name: str, groups: Sequence[Group], before: Tags, after: Tags, *, is_canary: bool
    ) -> None:
        """Restores what is needed by now, and reports kept tags that are gone."""
        deleted = {line.digest: one for one in groups for line in one.deleted(What.MANIFEST)}
        tags = {line.tag: line for one in groups for line in one.deleted(What.TAG)}
        for tag, line in tags.items():
            if after.get(tag) == line.digest and line.digest not in deleted:
                raise self._cannot_delete(self._at(line, by_tag=True))
        for tag, digest in before.items():
            if tag not in after and tag not in tags and digest not in deleted:
                self._tag_is_gone(name, tag, digest, is_canary=is_canary)
        needed = await self._tags.needed(name, after, deleted=tags.keys())
        again = {digest for digest, tag in needed.by.items() if tag not in tags}
        # A deletion takes the tags along. If they are gone, the manifest was pushed again.
        untagged = {line.digest for tag, line in tags.items() if after.get(tag) != line.digest}
        for digest in await self._present(name, [*deleted]):
            if is_canary and digest not in again | untagged:
                raise self._cannot_delete(self._place(name, digest))
            deleted[digest].pushed_again(digest)
        for group in groups:
            if not needed.missing.isdisjoint(line.digest for line in group.manifests):
                await self._restore(group, "an index that was pushed, or a new reference")

    def _tag_is_gone(self, name: str, tag: str, digest: str, *, is_canary: bool) -> None:
        """It is not written again: another client may have deleted it."""
        line = Deletion(what=What.TAG, repository=name, tag=tag, digest=digest)
        if is_canary:
            raise CanaryFailed(
                f"{name}:{tag} was gone after the first deletion, though it named another image:"
                f" {digest}. Nothing else is deleted. If no other client deleted the tag, this"
                " registry deletes too much: push the tag again, and do not prune this registry"
            )
        message = (
            "another client deleted it meanwhile, or moved it to an image that was just deleted;"
            " it is not written again"
        )
        self._gone.append(PruneOutcome(line=line, result=Result.TAG_IS_GONE, message=message))

    async def _present(self, name: str, found: Sequence[str]) -> list[str]:
        async def present(digest: str) -> str:
            head = await self._registry.head(self._place(name, digest))
            return "" if head is None else digest

        answers = await parallel.results(present, found, workers=self._workers)
        return [one for one in answers if one]

    async def _restore_used(self, groups: Sequence[Group]) -> None:
        """Restores images that became used while they were deleted, and their signatures."""
        begun = [one for one in groups if one.is_begun and one.is_gone]
        restored: set[str] = set()
        for group in sorted(begun, key=lambda one: bool(one.follows)):
            try:
                if not group.follows.isdisjoint(restored):
                    await self._restore(group, "the image that it belongs to")
                elif await self._is_used(group):
                    await self._restore(group, group.user)
                else:
                    continue
            except registries.RegistryError as error:
                message = f"it cannot be seen whether it is used: {error}"
                group.replace(Result.FAILED, message)
            restored |= {line.digest for line in group.manifests}

    async def _restore(self, group: Group, user: str) -> None:
        if self._trash is None or group.record is None:
            group.replace(Result.FAILED, f"it is deleted without a copy, and used by {user} since")
            return
        place = self._trash.settings.repository_for(group.repository)
        await self._trash.restore(place, group.record)
        group.replace(Result.RESTORED, f"used by {user} since")

    def _cannot_delete(self, reference: Reference) -> CannotDelete:
        return CannotDelete(
            f"{self._inventory.registry} accepted the deletion of {reference} and still has it; it"
            " cannot be pruned by the registry API"
        )

    def _place(self, repository: str, digest: str) -> Reference:
        return Reference(
            registry=self._inventory.registry, repository=repository, digest=digests.parse(digest)
        )

    def _at(self, line: Deletion, *, by_tag: bool = False) -> Reference:
        if not by_tag:
            return self._place(line.repository, line.digest)
        return Reference(
            registry=self._inventory.registry, repository=line.repository, tag=line.tag
        )


def _with_advice(error: registries.RegistryError) -> str:
    if (error.status or 0) < _SERVER_ERROR:
        return str(error)
    return f"{error}; if the storage of the registry is full, delete with --no-trash"
