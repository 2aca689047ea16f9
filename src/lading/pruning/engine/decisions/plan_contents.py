"""The contents of a registry with all verdicts, as further lines of a plan file. Pure.

With these lines the dashboard answers `why` from the file alone. `apply` ignores them. Their names
and digests are only compared and shown; they never become a path or a request.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import msgspec

from lading.kernel.errors import UNREADABLE, Malformed
from lading.pruning.engine.inventory.manifest_table import InventoryManifest, ManifestTable
from lading.pruning.engine.types import (
    Decision,
    Header,
    Inventory,
    PrunePlan,
    References,
    Repository,
    Revision,
    Tag,
    Verdict,
)

BEGINNING = b'{"contents":'
"""Only these lines begin so."""


class _Line(msgspec.Struct, frozen=True, tag_field="contents", rename="camel", omit_defaults=True):
    pass


class TagLine(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    name: str
    digest: str
    verdict: Verdict
    previous: tuple[str, ...] = ()


class RepositoryLine(_Line, frozen=True, tag="repository"):
    name: str
    """Empty for the Image objects of a cluster."""
    tags: tuple[TagLine, ...] = ()
    manifests: dict[str, Verdict] = {}


class ManifestLine(_Line, frozen=True, tag="manifest"):
    digest: str
    children: tuple[str, ...] = ()
    blobs: tuple[str, ...] = ()
    subject: str = ""
    size_bytes: int = 0
    used_by: tuple[str, ...] = ()


class BlobLine(_Line, frozen=True, tag="blob"):
    digest: str
    size_bytes: int = 0
    used_by: tuple[str, ...] = ()


_encode = msgspec.json.Encoder().encode
ContentsLine: TypeAlias = RepositoryLine | ManifestLine | BlobLine
_decoder: msgspec.json.Decoder[ContentsLine] = msgspec.json.Decoder(
    RepositoryLine | ManifestLine | BlobLine
)


def lines(plan: PrunePlan, inventory: Inventory, references: References) -> Iterator[bytes]:
    manifests: dict[str, dict[str, Verdict]] = {}
    for (name, digest), verdict in plan.manifest_verdicts.items():
        manifests.setdefault(name, {})[digest] = verdict
    for name in sorted({*inventory.repositories, *manifests}):
        repository = inventory.repositories.get(name)
        tags = tuple(_tags(repository, plan.tag_verdicts)) if repository else ()
        yield _line(RepositoryLine(name=name, tags=tags, manifests=manifests.get(name, {})))
    used = references.digests
    for one in inventory.manifests.values():
        yield _line(
            ManifestLine(
                digest=one.digest,
                children=one.children,
                blobs=one.blobs,
                subject=one.subject,
                size_bytes=one.size_bytes,
                used_by=tuple(used.get(one.digest, ())),
            )
        )
    blobs = {*inventory.manifests.blobs(), *used} - inventory.manifests.keys()
    for digest in sorted(blobs):
        size = inventory.manifests.blob_size_bytes(digest)
        yield _line(BlobLine(digest=digest, size_bytes=size, used_by=tuple(used.get(digest, ()))))


def _tags(repository: Repository, verdicts: Mapping[tuple[str, str], Verdict]) -> Iterator[TagLine]:
    for tag in repository.tags:
        verdict = verdicts.get((repository.name, tag.name))
        if verdict is not None:
            previous = tuple(one.digest for one in tag.previous)
            yield TagLine(name=tag.name, digest=tag.digest, verdict=verdict, previous=previous)


def _line(value: _Line) -> bytes:
    return _encode(value) + b"\n"


class PlanContents(msgspec.Struct, frozen=True, kw_only=True):
    """The input of `why`, at the time of the plan."""

    inventory: Inventory
    references: References
    plan: PrunePlan

    def kept_by_reason(self) -> dict[str, int]:
        verdicts = (*self.plan.tag_verdicts.values(), *self.plan.manifest_verdicts.values())
        counts = Counter(str(one.reason) for one in verdicts if one.decision is Decision.KEEP)
        return dict(sorted(counts.items()))


def read(header: Header, content: Iterable[bytes]) -> PlanContents | None:
    """Reads the lines after the header; None if the file has no contents."""
    reading = _Reading()
    is_there = False
    for number, line in enumerate(content, start=2):
        if line.startswith(BEGINNING):
            is_there = True
            reading.take(_decoded(line, number))
    return reading.finished(header) if is_there else None


def _decoded(line: bytes, number: int) -> ContentsLine:
    try:
        return _decoder.decode(line)
    except UNREADABLE as error:
        reason = f"line {number} is not what `lading prune images --save-plan` writes: {error}"
        raise Malformed(what="plan file", text=line[:64], reason=reason) from error


class _Reading:
    def __init__(self) -> None:
        self._repositories: dict[str, Repository] = {}
        self._manifests = ManifestTable()
        self._used: dict[str, tuple[str, ...]] = {}
        self._tag_verdicts: dict[tuple[str, str], Verdict] = {}
        self._manifest_verdicts: dict[tuple[str, str], Verdict] = {}

    def take(self, line: ContentsLine) -> None:
        match line:
            case RepositoryLine():
                self._take_repository(line)
                return
            case ManifestLine():
                self._manifests.add(
                    InventoryManifest(
                        digest=line.digest,
                        children=line.children,
                        blobs=line.blobs,
                        subject=line.subject,
                        size_bytes=line.size_bytes,
                    )
                )
            case BlobLine():
                self._manifests.add_sizes({line.digest: line.size_bytes})
        if line.used_by:
            self._used[line.digest] = line.used_by

    def _take_repository(self, line: RepositoryLine) -> None:
        tags = tuple(
            Tag(one.name, one.digest, None, tuple(Revision(digest) for digest in one.previous))
            for one in line.tags
        )
        for tag in line.tags:
            self._tag_verdicts[line.name, tag.name] = tag.verdict
        for digest, verdict in line.manifests.items():
            self._manifest_verdicts[line.name, digest] = verdict
        self._repositories[line.name] = Repository(
            name=line.name, tags=tags, manifests=tuple(line.manifests)
        )

    def finished(self, header: Header) -> PlanContents:
        return PlanContents(
            inventory=Inventory(
                source=header.source,
                registry=header.registry,
                repositories=self._repositories,
                manifests=self._manifests,
            ),
            references=References(digests=self._used),
            plan=PrunePlan(
                header=header,
                deletions=(),
                tag_verdicts=self._tag_verdicts,
                manifest_verdicts=self._manifest_verdicts,
            ),
        )
