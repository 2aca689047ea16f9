"""The trash: a repository that gets a complete copy of an image before it is deleted.

Blobs are mounted or copied, manifests are pushed with dated tags, children before parents, and last
a record. An image is in the trash only if it has a record and all parts answer a HEAD. Restoring
works in the same way and never moves an existing tag.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime, timedelta
from typing import Annotated

import msgspec

from lading.kernel import digests, references
from lading.kernel.digests import Digest, DigestText
from lading.kernel.errors import UNREADABLE, Malformed
from lading.kernel.manifests import Descriptor
from lading.kernel.references import Reference, TagName
from lading.ports import registry as registries
from lading.ports.registry import Manifest
from lading.ports.registry_administration import RegistryAdministration
from lading.pruning.engine.inventory import documents
from lading.pruning.engine.trash import trash_tags
from lading.pruning.engine.trash.registry_file import RegistryFile
from lading.pruning.engine.types import TRASH_PERIOD_DEFAULT

REPOSITORY_DEFAULT = "lading-trash"
RECORD_TYPE = "application/vnd.lading.trash.record.v1+json"
RECORD_BYTES_MAX = 16 * 1024 * 1024  # about 90,000 manifests of one image
INDEX_TAG = "index"
_ANY_HOST = "localhost"
_PROJECT = "{project}"


ZonedTime = Annotated[datetime, msgspec.Meta(tz=True)]


class NotWhole(Exception):
    """The trash cannot hold the whole image, so the image stays."""


class Record(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One deleted group: its repository, tags and manifests."""

    repository: str
    group: str
    tags: dict[TagName, DigestText] = {}
    """tag -> digest."""
    manifests: dict[DigestText, TagName] = {}
    """digest -> the tag in the trash that holds it, children first."""
    configs: tuple[DigestText, ...] = ()
    """The digests of the configurations: some runtimes report what they run by them."""
    reason: str = ""
    deleted_at: ZonedTime
    expires_at: ZonedTime

    @property
    def name(self) -> str:
        """A hash of its content, so that each record has its own name."""
        return _file_name([self])

    def uses(self, digest: str) -> bool:
        return digest in self.manifests or digest in self.tags.values()


class TrashSettings(msgspec.Struct, frozen=True, kw_only=True):
    registry: str
    repository: str = REPOSITORY_DEFAULT
    """May contain {project}, the first part of the path, for registries with projects."""
    period: timedelta = TRASH_PERIOD_DEFAULT

    def __post_init__(self) -> None:
        """The name alone must show that a repository is the trash, or it would be pruned."""
        begins = _PROJECT not in self.repository or self.repository.startswith(f"{_PROJECT}/")
        if not begins or not references.is_repository(self.repository_for("project")):
            reason = f"expected the name of a repository; {_PROJECT} can only be its first part"
            raise Malformed(what="trash repository", text=self.repository, reason=reason)

    def repository_for(self, name: str) -> str:
        return self.repository.replace(_PROJECT, name.partition("/")[0])

    def is_trash(self, name: str) -> bool:
        return name == self.repository_for(name)


class Trash:
    def __init__(self, registry: RegistryAdministration, settings: TrashSettings) -> None:
        self.registry = registry
        self.settings = settings
        self._copied: set[tuple[str, Digest]] = set()
        """The blobs that this run copied into a trash repository."""

    async def put(
        self,
        repository: str,
        group: str,
        contents: Iterable[Manifest],
        *,
        tags: Mapping[str, str],
        reason: str,
        now: datetime,
    ) -> Record:
        """Copies an image into the trash, with its record."""
        record = await self.copy(repository, group, contents, tags=tags, reason=reason, now=now)
        if not await self.write([record]):
            raise NotWhole(f"{repository}@{group} is not in the trash after it was pushed")
        return record

    async def copy(
        self,
        repository: str,
        group: str,
        contents: Iterable[Manifest],
        *,
        tags: Mapping[str, str],
        reason: str,
        now: datetime,
    ) -> Record:
        """Without the record. `contents` has children before parents."""
        target = self.settings.repository_for(repository)
        held: dict[str, str] = {}
        whole = tuple(contents)
        for manifest in whole:
            for descriptor in blobs_of(manifest.content):
                if (target, descriptor.digest) not in self._copied:
                    await self._move_blob(descriptor, source=repository, target=target)
                    self._copied.add((target, descriptor.digest))
            tag = trash_tags.of_manifest(now, manifest.digest.encoded)
            await self.registry.push_manifest(self._at(target, tag=tag), manifest)
            held[str(manifest.digest)] = tag
        record = Record(
            repository=repository,
            group=group,
            tags=dict(tags),
            manifests=held,
            configs=tuple(sorted(documents.configs_of(whole))),
            reason=reason,
            deleted_at=now,
            expires_at=now + self.settings.period,
        )
        if not self._belongs(target, record):
            raise NotWhole(f"a record of {repository} in {target} would not be read again")
        if len(msgspec.json.encode(record)) > RECORD_BYTES_MAX:
            raise NotWhole(
                f"the record of {len(held)} manifests would be too large to be read again; use"
                " --no-trash for this image"
            )
        return record

    async def write(self, records: Sequence[Record]) -> list[Record]:
        """Writes the records of copied images, many in one file; returns those in the trash.

        All are of one trash repository.
        """
        if not records:
            return []
        target = self.settings.repository_for(records[0].repository)
        whole = [one for one in records if await self._holds(target, one)]
        written: list[Record] = []
        for batch in _batches(whole):
            await self._push_records(target, batch)
            place = self._at(target, tag=trash_tags.of_record(_file_name(batch)))
            if await self.registry.head(place) is not None:
                written += batch
        return written

    async def _holds(self, target: str, record: Record) -> bool:
        for digest, tag in record.manifests.items():
            found = await self.registry.head(self._at(target, tag=tag))
            if found is None or str(found.digest) != digest:
                return False
        return True

    async def records(self, repositories: Iterable[str]) -> list[tuple[str, Record]]:
        """(trash repository, record) of each image in the trash. Unreadable records are skipped."""
        return [
            (name, record)
            for name in repositories
            for _, records in await self._files(name)
            for record in records
        ]

    async def _files(self, name: str) -> list[tuple[str, tuple[Record, ...]]]:
        """The tag and the records of each file. The index saves reading them one by one."""
        tags = [
            one for one in await self.registry.tags(self._at(name)) if trash_tags.is_record(one)
        ]
        index = await self._read_index(name) if tags else {}
        read = {tag: await self._read_records(name, tag) for tag in tags if tag not in index}
        found = {**read, **index}
        return [
            (tag, found[tag])
            for tag in tags
            if found[tag] and all(self._belongs(name, one) for one in found[tag])
        ]

    async def _read_index(self, name: str) -> dict[str, tuple[Record, ...]]:
        """By tag. A tag is made of the hash of its records, so the index cannot change them."""
        try:
            content = await self._index(name).read()
            found = msgspec.json.decode(content or b"[]", type=list[tuple[Record, ...]])
        except (registries.NotFound, registries.TooLarge, *UNREADABLE):
            return {}
        return {trash_tags.of_record(_file_name(one)): one for one in found if one}

    async def write_index(self, repositories: Iterable[str]) -> None:
        """After a run that wrote or deleted records."""
        for name in repositories:
            files = await self._files(name)
            if len(files) > 1:
                await self._index(name).replace(msgspec.json.encode([own for _, own in files]))

    def _index(self, name: str) -> RegistryFile:
        return RegistryFile(self.registry, self._at(name, tag=INDEX_TAG))

    async def restore(self, trash_repository: str, record: Record) -> tuple[str, ...]:
        """Restores the image. Returns the tags that name another image now, which are not moved."""
        contents = await self._held(trash_repository, record)
        for manifest in contents.values():
            await self._move_blobs(manifest, source=trash_repository, target=record.repository)
            reference = self._at(record.repository, digest=manifest.digest)
            await self.registry.push_manifest(reference, manifest)
        taken: list[str] = []
        for tag, digest in record.tags.items():
            reference = self._at(record.repository, tag=tag)
            present = await self.registry.head(reference)
            if present is not None and str(present.digest) != digest:
                taken.append(tag)
            elif present is None:
                held = self._at(record.repository, digest=digests.parse(digest))
                manifest = contents.get(digest) or await self.registry.manifest(held)
                await self.registry.push_manifest(reference, manifest)
        return tuple(taken)

    async def misses(self, record: Record, held: Set[str]) -> bool:
        """Whether an index in the repository lacks a manifest that the record has.

        The inventory does not show it, because it takes known manifests as present.
        """
        for digest in sorted(held & record.manifests.keys()):
            place = self._at(record.repository, digest=digests.parse(digest))
            if await self.registry.head(place) is None:
                return True
        return False

    async def _held(self, trash_repository: str, record: Record) -> dict[str, Manifest]:
        """Children first. A tag that was deleted alone also needs its image, if that is gone."""
        found: dict[str, Manifest] = {}
        for digest in record.manifests:
            reference = self._at(trash_repository, digest=digests.parse(digest))
            found[digest] = await self.registry.manifest(reference)
        for digest in {*record.tags.values()} - found.keys():
            encoded = digests.parse(digest)
            if await self.registry.head(self._at(record.repository, digest=encoded)) is None:
                await read_whole(self.registry, self._at(trash_repository, digest=encoded), found)
        return found

    async def expire(self, records: Iterable[tuple[str, Record]], now: datetime) -> int:
        """Deletes expired records. A manifest of another record is kept."""
        everything = list(records)
        kept = {
            (name, digest)
            for name, record in everything
            if record.expires_at > now
            for digest in record.manifests
        }
        count = 0
        for name, record in everything:
            if record.expires_at > now:
                continue
            for digest in reversed(record.manifests):
                if (name, digest) not in kept:
                    await self.registry.delete(self._at(name, digest=digests.parse(digest)))
            count += 1
        for name in {name for name, record in everything if record.expires_at <= now}:
            for tag, own in await self._files(name):
                if all(one.expires_at <= now for one in own):
                    await RegistryFile(self.registry, self._at(name, tag=tag)).remove()
        return count

    async def _move_blobs(self, manifest: Manifest, *, source: str, target: str) -> None:
        for descriptor in blobs_of(manifest.content):
            await self._move_blob(descriptor, source=source, target=target)

    async def _move_blob(self, descriptor: Descriptor, *, source: str, target: str) -> None:
        origin, goal = self._at(source), self._at(target)
        if await self.registry.mount_blob(goal, descriptor.digest, source=origin):
            return
        try:
            await self.registry.copy_blob(goal, descriptor, source=origin)
        except registries.NotFound as error:
            raise NotWhole(
                f"{source} does not have blob {descriptor.digest}; use --no-trash to delete the"
                " image without a copy"
            ) from error

    async def _push_records(self, target: str, records: Sequence[Record]) -> None:
        place = self._at(target, tag=trash_tags.of_record(_file_name(records)))
        await RegistryFile(self.registry, place, RECORD_TYPE).replace(_encoded(records))

    async def _read_records(self, repository: str, tag: str) -> tuple[Record, ...]:
        try:
            place = self._at(repository, tag=tag)
            file = RegistryFile(self.registry, place, bytes_max=RECORD_BYTES_MAX)
            content = await file.read()
            found = msgspec.json.decode(content or b"[]", type=Record | tuple[Record, ...])
        except (registries.NotFound, registries.TooLarge, *UNREADABLE):
            return ()
        return (found,) if isinstance(found, Record) else found

    def _belongs(self, trash_repository: str, record: Record) -> bool:
        """Whether the pruner could have written this record.

        Otherwise a user who may push into the trash of one project could restore images into
        another. An invalid name could lead a request to any path of the registry.
        """
        try:
            for tag in record.tags or ("any",):
                place = references.parse(f"{_ANY_HOST}/{record.repository}:{tag}")
                if (place.repository, place.tag) != (record.repository, tag):
                    return False
        except Malformed:
            return False
        own = self.settings.repository_for(record.repository)
        return own == trash_repository and own != record.repository

    def _at(
        self, repository: str, *, tag: str | None = None, digest: Digest | None = None
    ) -> Reference:
        return Reference(
            registry=self.settings.registry, repository=repository, tag=tag, digest=digest
        )


async def read_whole(
    registry: RegistryAdministration, reference: Reference, found: dict[str, Manifest]
) -> None:
    """Adds a manifest and all manifests that it holds, children first, without missing ones."""
    pending: list[Reference | Manifest] = [reference]
    while pending:
        match pending.pop():
            case Manifest() as finished:
                found[str(finished.digest)] = finished
            case Reference() as place if str(place.digest) not in found:
                with contextlib.suppress(registries.NotFound):
                    manifest = await registry.manifest(place)
                    known, _ = documents.read(str(place.digest), manifest.content)
                    children = [place.at(digests.parse(one)) for one in known.children]
                    pending += [manifest, *reversed(children)]


def blobs_of(content: bytes) -> tuple[Descriptor, ...]:
    """The blobs that a registry must have for this manifest, in any form."""
    manifest, sizes = documents.read("", content)
    elsewhere = documents.layers_elsewhere(content)
    return tuple(
        Descriptor(media_type="", digest=digests.parse(one), size_bytes=sizes.get(one, 0))
        for one in manifest.blobs
        if one not in elsewhere
    )


def _encoded(records: Sequence[Record]) -> bytes:
    """One record alone as earlier releases wrote it."""
    return msgspec.json.encode(records[0] if len(records) == 1 else records)


def _file_name(records: Sequence[Record]) -> str:
    """It begins with the date, and ends with a hash of the content."""
    own = Digest.of(_encoded(records)).encoded
    return f"{trash_tags.stamp(records[0].deleted_at)}-{own[:12]}"


def _batches(records: Sequence[Record]) -> Iterator[list[Record]]:
    """Each at most as large as a file that is read again."""
    batch: list[Record] = []
    size_bytes = 0
    for one in records:
        own = len(msgspec.json.encode(one)) + 2
        if batch and size_bytes + own > RECORD_BYTES_MAX:
            yield batch
            batch, size_bytes = [], 0
        batch.append(one)
        size_bytes += own
    if batch:
        yield batch
