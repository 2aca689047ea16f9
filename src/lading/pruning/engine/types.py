"""The values of the prune engine: mentions of images, the inventory, settings, the plan.

A digest is the text `sha256:...`, as every API writes it; the graph turns digests into numbers.
"""

import sys
from collections.abc import Mapping, MutableMapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self

import msgspec

from lading.kernel.errors import Malformed
from lading.pruning.engine.inventory.manifest_table import ManifestTable

KEEP_YOUNGER_THAN_DEFAULT = timedelta(minutes=60)  # the default of `oc adm prune images`
KEEP_TAG_REVISIONS_DEFAULT = 3  # the default of `oc adm prune images`
TRASH_PERIOD_DEFAULT = timedelta(days=7)


class Form(StrEnum):
    """What the text of a mention means."""

    IMAGE = "image"  # a reference as a container names it
    IMAGE_ID = "imageID"  # what a runtime reports: a digest, with or without a name
    STREAM_TAG = "ImageStreamTag"
    STREAM_IMAGE = "ImageStreamImage"
    POSSIBLE = "possible"  # free text (an argument, a variable) that may hold a reference


class Mention(msgspec.Struct, frozen=True, gc=False):
    """A text that names an image, and the object and field where it was found."""

    text: str
    found_in: str
    form: Form = Form.IMAGE


class References(msgspec.Struct, frozen=True, kw_only=True):
    """The references of the clusters. All else is unused, unless `unknown` covers it."""

    tags: Mapping[tuple[str, str], tuple[str, ...]] = {}
    """(repository, tag) by a name of this registry, and where each was found."""
    possible_tags: Mapping[tuple[str, str], tuple[str, ...]] = {}
    """(path, tag) under a host that may be another registry."""
    images: Mapping[tuple[str, str], tuple[str, ...]] = {}
    """(path, digest) under any host; the path is empty if only a digest is known."""
    digests: Mapping[str, tuple[str, ...]] = {}
    """Every digest that is used under any name."""
    unknown: tuple[Mention, ...] = ()
    """Unreadable texts: each keeps every repository with a name in it."""
    hosts: Mapping[str, int] = {}
    """The number of mentions of each host."""
    of_this_registry: int = 0
    """The number of mentions of this registry, or of a digest alone."""


class Revision(msgspec.Struct, frozen=True, gc=False):
    """One entry of the history of a tag."""

    digest: str
    pushed_at: datetime | None = None


class Tag(msgspec.Struct, frozen=True, gc=False):
    name: str
    digest: str = ""
    """The current digest; empty for a tag of an ImageStream without items."""
    pushed_at: datetime | None = None
    previous: tuple[Revision, ...] = ()
    """Former digests, newest first. The API of a registry does not show them."""

    @classmethod
    def of(cls, name: str, revisions: Sequence[Revision]) -> Self:
        """The whole history, newest first."""
        if not revisions:
            return cls(sys.intern(name))
        newest, *before = revisions
        return cls(sys.intern(name), newest.digest, newest.pushed_at, tuple(before))

    @property
    def revisions(self) -> tuple[Revision, ...]:
        if not (self.digest or self.pushed_at or self.previous):
            return ()
        return (Revision(self.digest, self.pushed_at), *self.previous)


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """A repository of a registry, or an ImageStream."""

    name: str
    tags: tuple[Tag, ...] = ()
    manifests: tuple[str, ...] = ()
    """The digests that are known to be in it, referrers included."""
    created_at: datetime | None = None
    resource_version: str = ""
    size_limit_bytes: int | None = None
    """The smallest image limit of the LimitRanges in the namespace of an ImageStream."""
    opaque_digests: tuple[str, ...] = ()
    manifest_times: Mapping[str, datetime] = {}
    """The push time of each manifest; empty if the source does not list untagged manifests."""
    left_over: tuple[str, ...] = ()
    """Those of `manifests` that only an interrupted run knows, which was about to delete them."""


class Source(StrEnum):
    REGISTRY = "registry"
    IMAGE_STREAMS = "imagestreams"
    STORAGE = "storage"


class Inventory(msgspec.Struct, frozen=True, kw_only=True):
    """All content of a registry. It is never incomplete: an incomplete list is an error."""

    source: Source
    registry: str
    repositories: Mapping[str, Repository]
    manifests: ManifestTable


class AgeFrom(StrEnum):
    PUSHED = "pushed"
    CREATED = "created"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of a plan: flags of `oc adm prune images`, and our own."""

    keep_younger_than: timedelta = KEEP_YOUNGER_THAN_DEFAULT
    keep_tag_revisions: int = KEEP_TAG_REVISIONS_DEFAULT
    prune_over_size_limit: bool = False
    all_images: bool = True
    namespace: str = ""
    prune_registry: bool = True
    age_from: AgeFrom = AgeFrom.PUSHED

    def __post_init__(self) -> None:
        if self.keep_younger_than < timedelta(0):
            reason = "--keep-younger-than must be greater than or equal to 0"
            raise Malformed(what="setting", text=str(self.keep_younger_than), reason=reason)
        if self.keep_tag_revisions < 0:
            reason = "--keep-tag-revisions must be greater than or equal to 0"
            raise Malformed(what="setting", text=self.keep_tag_revisions, reason=reason)


class TrashState(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about the trash for the plan of ImageStreams."""

    is_filled: bool = False
    """Images that leave a stream are copied into the trash, so their content is needed."""
    repositories: frozenset[str] = frozenset()
    """The ImageStreams that the registry made for the trash."""
    digests: frozenset[str] = frozenset()
    """The digests of records that are not expired."""
    period: timedelta = TRASH_PERIOD_DEFAULT


NO_TRASH = TrashState()


class Decision(StrEnum):
    KEEP = "keep"
    DELETE = "delete"


class PruneReason(StrEnum):
    """Why something is kept or deleted, in the order of the rules."""

    UNREADABLE = "UnreadableManifest"
    """Kept: a manifest of its repository cannot be read."""
    UNKNOWN_REFERENCE = "UnknownReference"
    """Kept: a reference that cannot be read may name it."""
    USED = "Used"
    """Kept: an object of a cluster names the tag."""
    POSSIBLY_USED = "PossiblyUsed"
    """Kept: an object names the same path under a host that may be a mirror."""
    USED_DIGEST = "UsedDigest"
    """Kept: an object of a cluster names the digest."""
    OUT_OF_SCOPE = "OutOfScope"
    """Kept: it is outside of `--namespace`."""
    ARTIFACT = "OtherArtifact"
    """Kept: no policy names its artifact type."""
    YOUNG = "Young"
    """Kept: it is younger than `--keep-younger-than`."""
    UNKNOWN_PUSH_TIME = "UnknownPushTime"
    """Kept: its age is unknown."""
    NO_POLICY = "NoPolicy"
    """Kept: no policy is about its repository."""
    RETAINED = "RetainedByPolicy"
    """Kept: the policy keeps the tag."""
    TAG_REVISIONS = "KeepTagRevisions"
    """Kept: it is one of the last revisions of its tag."""
    WITHIN_LIMIT = "WithinSizeLimit"
    """Kept: it is within the size limit of its namespace."""
    REACHABLE = "Reachable"
    """Kept: something that is kept needs it."""
    NOT_MANAGED = "NotManaged"
    """Kept: it is imported, and `--all` is false."""
    IN_TRASH = "InTrash"
    """Kept: an image of an ImageStream is in the trash."""
    # and why something goes
    NOT_RETAINED = "NotRetained"
    """Deleted: no entry of the policy keeps the tag."""
    OLD_REVISION = "OldRevision"
    """Deleted: its tag has enough newer revisions."""
    NO_IMAGE = "ImageDoesNotExist"
    """Deleted: the entry of the stream names an Image that does not exist."""
    OVER_LIMIT = "OverSizeLimit"
    """Deleted: it exceeds the size limit of its namespace."""
    UNREACHABLE = "Unreachable"
    """Deleted: nothing that is kept needs it."""
    SUBJECT_GONE = "SubjectGoes"
    """Deleted: its subject is deleted."""
    TRASH_PERIOD_OVER = "TrashPeriodOver"
    """Deleted: its trash period is over."""


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """The decision about one tag, revision or manifest, and its reason."""

    decision: Decision
    reason: PruneReason
    message: str = ""


TagVerdicts = MutableMapping[tuple[str, str], Verdict]
"""By (repository, tag)."""


class What(StrEnum):
    """The kinds of lines in a plan, in the order of their deletion."""

    TAG = "tag"
    TAG_ITEM = "tagItem"
    MANIFEST = "manifest"
    LAYER_LINK = "layerLink"
    MANIFEST_LINK = "manifestLink"
    BLOB = "blob"
    IMAGE = "image"


class Deletion(
    msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, rename="camel"
):
    """One line of a plan: an idempotent command with its precondition and its reason."""

    what: What
    repository: str = ""
    tag: str = ""
    digest: str = ""
    group: str = ""
    """The digest of the image. Lines of one group are deleted together."""
    revision: int = 0
    """The position of a tag item in its history, at the time of the plan."""
    size_bytes: int = 0
    reason: PruneReason = PruneReason.NOT_RETAINED
    because: str = ""

    @property
    def lane(self) -> tuple[str, str]:
        return self.repository, self.group or self.digest

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Two lines with the same identity are the same deletion."""
        return self.what, self.repository, self.tag, self.digest

    def __str__(self) -> str:
        place = f"{self.repository}:{self.tag}" if self.tag else self.repository
        return f"{place}@{self.digest}" if self.digest else place


class Saving(msgspec.Struct, frozen=True, rename="camel"):
    """The bytes that a repository or a rule frees. Shared layers count once."""

    name: str
    deletions: int
    size_bytes: int


class Header(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The first line of a plan file: its registry, clusters and settings."""

    version: str = "lading.prune/v1"
    registry: str
    source: Source
    clusters: tuple[str, ...] = ()
    """The UIDs of the clusters with references."""
    settings: dict[str, str] = {}
    planned_at: datetime
    references: int = 0
    deletions: int = 0
    kept_for_unknown_push_time: int = 0
    size_bytes: int = 0
    by_repository: tuple[Saving, ...] = ()
    by_rule: tuple[Saving, ...] = ()


class PrunePlan(msgspec.Struct, frozen=True, kw_only=True):
    header: Header
    deletions: tuple[Deletion, ...]
    tag_verdicts: Mapping[tuple[str, str], Verdict] = {}
    manifest_verdicts: Mapping[tuple[str, str], Verdict] = {}
    """By (repository, digest); the repository of an Image object is empty."""
