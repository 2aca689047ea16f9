"""Executes the plan of a plain registry: the first image as a canary, then the rest.

An image is copied into the trash. Then each tag is deleted, right after a HEAD that still shows the
planned digest, and then the manifests by digest. If the registry deletes other tags too, they are
restored.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime
from enum import StrEnum

import msgspec

from lading.kernel import digests
from lading.kernel.references import Reference
from lading.ports import registry as registries
from lading.ports.registry import Manifest
from lading.ports.registry_administration import RegistryAdministration
from lading.pruning.engine.effects.canary import Canary, KeptTag
from lading.pruning.engine.effects.pushed_since import PushedSince
from lading.pruning.engine.inventory import documents
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.engine.references.watch import NewReferences
from lading.pruning.engine.trash.trash import NotWhole, Record, Trash, read_whole
from lading.pruning.engine.types import Deletion, Inventory, What

_BAD_REQUEST = 400
_BY_DIGEST = "with its manifest"


class Result(StrEnum):
    DELETED = "Deleted"
    """It is deleted."""
    CHANGED = "Changed"
    """Kept: it, or what it belongs to, is no longer as the plan found it."""
    NEW_REFERENCE = "NewReference"
    """Kept: an object of a cluster uses it since the plan."""
    CANNOT_UNTAG = "CannotUntag"
    """Kept: the registry cannot delete a tag alone, and the image has other tags."""
    CANNOT_TRASH = "CannotTrash"
    """Kept: it cannot be copied into the trash."""
    REFUSED = "Refused"
    """Kept: the registry forbids the deletion; the exit code is 1."""
    FAILED = "Failed"
    """An error; the exit code is 1, and the next run tries again."""
    RESTORED = "Restored"
    """It was deleted, and it or a tag that was deleted with it is restored."""


class PruneOutcome(msgspec.Struct, frozen=True, kw_only=True):
    line: Deletion
    result: Result
    message: str = ""

    @property
    def is_failure(self) -> bool:
        return self.result in (Result.FAILED, Result.REFUSED)


class CannotDelete(Exception):
    """This registry does not delete: the run ends with this message."""


class Applying:
    """Executes one plan on one registry."""

    def __init__(
        self,
        registry: RegistryAdministration,
        inventory: Inventory,
        *,
        trash: Trash | None,
        new: NewReferences,
        now: datetime,
        progress: PruneProgress,
        touched: list[Deletion],
    ) -> None:
        self._registry = registry
        self._touched = touched
        self._progress = progress
        self._name = inventory.registry
        self._trash = trash
        self._new = new
        self._since = PushedSince(registry, inventory, new)
        self._now = now
        self._deleted: list[tuple[Record, list[Deletion]]] = []
        self._canary = Canary(registry, inventory.registry)

    async def run(
        self, lines: Iterable[Deletion], kept: Sequence[KeptTag], *, workers: int
    ) -> list[PruneOutcome]:
        lanes = _lanes(lines)
        if not lanes:
            return []
        self._progress.begin("deleting", sum(map(len, lanes)))
        await self._canary.confirm(kept)
        outcomes = await self._lane(lanes[0])
        await self._canary.check([outcome.line for outcome in outcomes])
        by_repository: dict[str, list[list[Deletion]]] = {}
        for lane in lanes[1:]:
            by_repository.setdefault(lane[0].repository, []).append(lane)
        slots = asyncio.Semaphore(workers)

        async def of_repository(own: list[list[Deletion]]) -> list[PruneOutcome]:
            async with slots:
                return [outcome for lane in own for outcome in await self._lane(lane)]

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(of_repository(own)) for own in by_repository.values()]
        outcomes += [outcome for task in tasks for outcome in task.result()]
        outcomes += await self._restore_used_again()
        return [*{one.line.identity: one for one in outcomes}.values()]  # the last one counts

    async def _lane(self, lines: list[Deletion]) -> list[PruneOutcome]:
        """Deletes one image. A failure stops no other image."""
        self._progress.advance(len(lines))
        done: list[PruneOutcome] = []
        try:
            return await self._image(lines, done)
        except NotWhole as error:
            return _all(lines, Result.CANNOT_TRASH, str(error))
        except registries.Denied as error:
            return _ended(lines, done, Result.REFUSED, f"the registry forbids it: {error}")
        except registries.RegistryError as error:
            return _ended(lines, done, Result.FAILED, str(error))

    async def _image(self, lines: list[Deletion], done: list[PruneOutcome]) -> list[PruneOutcome]:
        """Adds outcomes to `done`, so that they are known if the rest fails."""
        if outcome := self._stopped(lines):
            return outcome
        for line in lines:
            if line.tag and not await self._still_names(line):
                return _all(lines, Result.CHANGED, f"{line.repository}:{line.tag} changed")
        manifests = [line for line in lines if line.what is What.MANIFEST]
        contents = await self._contents(manifests)
        record = await self._into_trash(lines, contents)
        if outcome := self._stopped(lines, documents.configs_of(contents.values())):
            return outcome
        self._touched += lines
        if record is not None:
            self._deleted.append((record, lines))
        going = {line.digest for line in manifests}
        await self._untag([line for line in lines if line.tag], going, done)
        if any(one.result is not Result.DELETED for one in done):
            return done + _all(manifests, Result.CHANGED, "one of its tags was not deleted")
        tags = [*done]
        asked = {one.line.tag for one in tags if one.message == _BY_DIGEST}
        untagged = {one.line.tag for one in tags} - asked
        await self._delete_manifests(asked, untagged, manifests, contents, done)
        return _without_those_that_stay(tags, done[len(tags) :])

    def _stopped(
        self, lines: list[Deletion], configs: Set[str] = frozenset()
    ) -> list[PruneOutcome]:
        user = self._new.user_of(lines, configs)
        return _all(lines, Result.NEW_REFERENCE, f"now used by {user}") if user else []

    async def _contents(self, manifests: Sequence[Deletion]) -> dict[str, Manifest]:
        """The manifests and all that they hold, children first, without missing ones.

        The trash also gets manifests that are kept because another index holds them.
        """
        found: dict[str, Manifest] = {}
        for line in reversed(manifests):
            await read_whole(self._registry, self._at(line, by_digest=True), found)
        return found

    async def _into_trash(
        self, lines: Sequence[Deletion], contents: Mapping[str, Manifest]
    ) -> Record | None:
        if self._trash is None:
            return None
        return await self._trash.put(
            lines[0].repository,
            lines[0].group,
            contents.values(),
            tags={line.tag: line.digest for line in lines if line.tag},
            reason=f"{lines[0].reason}: {lines[0].because}",
            now=self._now,
        )

    async def _untag(
        self, tags: Sequence[Deletion], going: set[str], outcomes: list[PruneOutcome]
    ) -> None:
        for line in tags:
            if not await self._still_names(line):
                outcomes.append(
                    PruneOutcome(line=line, result=Result.CHANGED, message="it changed")
                )
                continue
            try:
                await self._registry.delete(self._at(line))
            except registries.RegistryError as error:
                if not _cannot_untag(error):
                    raise
                if line.digest in going:
                    outcomes.append(
                        PruneOutcome(line=line, result=Result.DELETED, message=_BY_DIGEST)
                    )
                    continue
                message = f"{self._name} cannot delete a tag alone; the image has other tags"
                outcomes.append(
                    PruneOutcome(line=line, result=Result.CANNOT_UNTAG, message=message)
                )
                continue
            if not await self._is_gone(self._at(line)):
                raise self._cannot_delete(self._at(line))
            outcomes.append(PruneOutcome(line=line, result=Result.DELETED))

    async def _delete_manifests(
        self,
        asked: Set[str],
        untagged: Set[str],
        manifests: Sequence[Deletion],
        contents: Mapping[str, Manifest],
        outcomes: list[PruneOutcome],
    ) -> None:
        """`asked` are the tags to delete with their manifest; other deleted tags are restored.

        `untagged` are the tags that were deleted before.
        """
        before = await self._tags(manifests[0]) if manifests else set()
        for position, line in enumerate(manifests):
            if found := await self._needed_by_now(line, before - asked, untagged):
                outcomes += _all(manifests[position:], *found)
                return
            try:
                await self._registry.delete(self._at(line, by_digest=True))
            except registries.Unsupported as error:
                raise CannotDelete(
                    f"{self._name} does not delete images ({error}); allow it in its"
                    " configuration, or prune another registry"
                ) from error
            is_gone = await self._is_gone(self._at(line, by_digest=True))
            after = await self._tags(line)
            if not is_gone:
                await self._check_pushed_again(line, after - asked)
                outcomes.append(
                    PruneOutcome(line=line, result=Result.CHANGED, message="it was pushed again")
                )
                before = after
                continue
            lost = before - after - asked
            if lost:
                await self._canary.check_lost(line, lost)
                try:
                    await self._put_back(line, lost, contents)
                except registries.RegistryError as error:
                    names = ", ".join(sorted(lost))
                    raise registries.RegistryError(
                        f"the registry deleted tags {names} of {line.repository} together with"
                        f" {line.digest}: {error}; push them again, or restore the image"
                    ) from error
                message = f"{', '.join(sorted(lost))} was deleted with it and is restored"
                outcomes.append(PruneOutcome(line=line, result=Result.RESTORED, message=message))
                before = await self._tags(line)
                continue
            before = after
            outcomes.append(PruneOutcome(line=line, result=Result.DELETED))

    async def _needed_by_now(
        self, line: Deletion, tags: Set[str], untagged: Set[str]
    ) -> tuple[Result, str] | None:
        if tag := await self._canary.kept_tag_that_moved_to(line):
            return Result.CHANGED, f"{line.repository}:{tag} names it by now"
        if tag := await self._since.tag_needing(line, tags, deleted=untagged):
            return Result.CHANGED, f"{line.repository}:{tag} needs it by now"
        if user := await self._since.user_of(line):
            return Result.NEW_REFERENCE, f"now used by {user}"
        return None

    async def _put_back(
        self, line: Deletion, tags: set[str], contents: Mapping[str, Manifest]
    ) -> None:
        """Restores tags that were pushed after the plan and deleted with their manifest."""
        for manifest in contents.values():  # children first
            reference = self._at(line)
            await self._registry.push_manifest(reference.at(manifest.digest), manifest)
        for tag in sorted(tags):
            place = self._tag(line.repository, tag)
            await self._registry.push_manifest(place, contents[line.digest])

    async def _is_gone(self, reference: Reference) -> bool:
        return await self._registry.head(reference) is None

    def _cannot_delete(self, reference: Reference) -> CannotDelete:
        return CannotDelete(
            f"{self._name} accepted the deletion of {reference} and still has it; it cannot be"
            " pruned by the registry API"
        )

    async def _check_pushed_again(self, line: Deletion, tags: Set[str]) -> None:
        """The registry still has the manifest. That is an error, unless a tag names it again."""
        for tag in sorted(tags):
            found = await self._registry.head(self._tag(line.repository, tag))
            if found is not None and str(found.digest) == line.digest:
                return
        raise self._cannot_delete(self._at(line, by_digest=True))

    async def _still_names(self, line: Deletion) -> bool:
        found = await self._registry.head(self._at(line))
        return found is not None and str(found.digest) == line.digest

    async def _tags(self, line: Deletion) -> set[str]:
        reference = Reference(registry=self._name, repository=line.repository)
        return set(await self._registry.tags(reference))

    def _tag(self, repository: str, tag: str) -> Reference:
        return Reference(registry=self._name, repository=repository, tag=tag)

    async def _restore_used_again(self) -> list[PruneOutcome]:
        """Restores images that became used or needed while they were deleted."""
        outcomes: list[PruneOutcome] = []
        missing: dict[str, frozenset[str]] = {}
        for record, lines in self._deleted:
            try:
                if record.repository not in missing:
                    missing[record.repository] = await self._missing(record.repository)
                user = self._new.user_of(lines, frozenset(record.configs))
                if not user and not missing[record.repository].isdisjoint(record.manifests):
                    user = "an index that was pushed"
                if user and self._trash is not None:
                    place = self._trash.settings.repository_for(record.repository)
                    await self._trash.restore(place, record)
                    outcomes += _all(lines, Result.RESTORED, f"used by {user} since")
            except registries.RegistryError as error:
                message = f"it is in the trash, and it cannot be seen whether it is used: {error}"
                outcomes += _all(lines, Result.FAILED, message)
        return outcomes

    async def _missing(self, repository: str) -> frozenset[str]:
        """The deleted images that are needed now."""
        tags = {
            line.tag
            for record, lines in self._deleted
            if record.repository == repository
            for line in lines
        }
        return await self._since.missing(repository, deleted=tags)

    def _at(self, line: Deletion, *, by_digest: bool = False) -> Reference:
        digest = digests.parse(line.digest) if by_digest or not line.tag else None
        return Reference(
            registry=self._name,
            repository=line.repository,
            tag=None if digest else line.tag,
            digest=digest,
        )


def _without_those_that_stay(
    tags: Sequence[PruneOutcome], manifests: Sequence[PruneOutcome]
) -> list[PruneOutcome]:
    """A tag that is deleted with its manifest is kept if the manifest is kept."""
    stay = {
        one.line.digest for one in manifests if one.result in (Result.CHANGED, Result.NEW_REFERENCE)
    }
    kept = [
        PruneOutcome(line=one.line, result=Result.CHANGED, message="its manifest stays")
        if one.message == _BY_DIGEST and one.line.digest in stay
        else one
        for one in tags
    ]
    return [*kept, *manifests]


def _ended(
    lines: Sequence[Deletion], done: Sequence[PruneOutcome], result: Result, message: str
) -> list[PruneOutcome]:
    """The outcomes of an image before the failure, and the failure for its other lines."""
    manifests = [one for one in done if not one.line.tag]
    tried = {one.line.digest for one in manifests}
    tags = [
        one
        for one in done
        if one.line.tag and (one.message != _BY_DIGEST or one.line.digest in tried)
    ]
    happened = {one.line.identity: one for one in _without_those_that_stay(tags, manifests)}
    return [
        happened.get(line.identity) or PruneOutcome(line=line, result=result, message=message)
        for line in lines
    ]


def _lanes(lines: Iterable[Deletion]) -> list[list[Deletion]]:
    found: dict[tuple[str, str], list[Deletion]] = {}
    for line in lines:
        found.setdefault(line.lane, []).append(line)
    return list(found.values())


def _all(lines: Iterable[Deletion], result: Result, message: str) -> list[PruneOutcome]:
    return [PruneOutcome(line=line, result=result, message=message) for line in lines]


def _cannot_untag(error: registries.RegistryError) -> bool:
    return isinstance(error, registries.Unsupported) or error.status == _BAD_REQUEST
