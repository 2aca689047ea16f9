"""The values of a sweep: what a storage has, what its manifests need, and what is decided.

Millions of objects are columns of numbers. The number of a digest is its first 64 bits, as in the
graph; two blobs with one number stop a run. Times are whole seconds, rounded up.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum

import msgspec
import numpy as np
from numpy.typing import NDArray

from lading.ports import storage as storages
from lading.ports.storage import StoredObject
from lading.pruning.engine.inventory import graph
from lading.pruning.engine.inventory.graph import Ids, Keys

Seconds = NDArray[np.uint32]
Sizes = NDArray[np.int64]
SECOND_LOOK_AFTER_DEFAULT = timedelta(seconds=30)
"""Between what a sweep takes away and its second look: the time that a registry may need from
finding data to writing the link to it, which are two requests to its storage."""
_SECONDS_MAX = 2**32 - 1
UPLOAD_AGE_MAX = timedelta(hours=168)  # that of the registry's own purge
LATE_DELETION_MAX = timedelta(hours=1)
"""How long a storage may still execute a deletion that got no answer: many times the three minutes
after which a client gives it up. So long a run does not rely on what such a deletion may take."""


class BlobReason(IntEnum):
    """Why a blob stays or goes, in the order in which the rules ask."""

    NEEDED = 0
    UNREADABLE = 1
    IMAGE = 2
    YOUNG = 3
    WAITING = 4
    TOO_LARGE = 5
    ANSWERED = 6
    CONDEMNED = 7
    UNREFERENCED = 8

    @property
    def label(self) -> str:
        return _LABELS[self][0]

    @property
    def sentence(self) -> str:
        return _LABELS[self][1]


_LABELS = {
    BlobReason.NEEDED: ("Needed", "it is a kept manifest, or a kept manifest names it"),
    BlobReason.UNREADABLE: (
        "UnreadableManifest", "a repository that links it has a manifest that cannot be read"),
    BlobReason.IMAGE: ("UsedByImage", "an Image of the cluster names it"),
    BlobReason.YOUNG: ("Young", "it was uploaded or linked within the grace period"),
    BlobReason.WAITING: (
        "Waiting", "it is condemned; the grace period or a deletion without answer is not over"),
    BlobReason.TOO_LARGE: (
        "TooLargeToMove", "the storage cannot move so much at once; use --offline"),
    BlobReason.ANSWERED: (
        "StillAnswered", "the registry still answers for it from its cache; restart the registry"),
    BlobReason.CONDEMNED: ("Condemned", "nothing needs it; it is deleted after the grace period"),
    BlobReason.UNREFERENCED: ("Unreferenced", "nothing needs it, and the grace period is over"),
}  # fmt: skip


class LinkKind(StrEnum):
    LAYER = "layer"
    MANIFEST = "manifest"


class Link(msgspec.Struct, frozen=True, order=True):
    """A link file: it makes data a layer or a manifest of a repository."""

    repository: str
    kind: LinkKind
    digest: str
    target: str = ""
    """The digest of the data, where it is another one."""

    @property
    def data(self) -> str:
        return self.target or self.digest


class StoredBlobs(msgspec.Struct, frozen=True, kw_only=True):
    """The data files, in the order of their numbers."""

    keys: Keys
    raw: NDArray[np.uint8]
    """The 32 bytes of each digest."""
    sizes: Sizes
    times: Seconds
    others: Mapping[int, str] = {}
    """By number the digests that are not sha256; `raw` has their hash."""

    def __len__(self) -> int:
        return len(self.keys)

    def digest(self, position: int) -> str:
        other = self.others.get(int(self.keys[position]))
        return other or f"sha256:{self.raw[position].tobytes().hex()}"

    def has(self, digest: str) -> bool:
        return self.position(digest) is not None

    def position(self, digest: str) -> int | None:
        places, is_there = self.positions(np.array([graph.key_of(digest)], dtype=np.uint64))
        return int(places[0]) if is_there[0] else None

    def positions(self, keys: Keys) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Where each number is, and whether it is there at all."""
        if not len(self.keys):
            return np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=np.bool_)
        found = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return found, self.keys[found] == keys


class Links(msgspec.Struct, frozen=True, kw_only=True):
    """Link files of one kind as columns."""

    repositories: Ids
    keys: Keys
    """Of the data that each names."""
    times: Seconds
    raw: NDArray[np.uint8] = msgspec.field(
        default_factory=lambda: np.zeros((0, 32), dtype=np.uint8)
    )
    """The 32 bytes of each digest; only of manifests, which are read by it."""

    def __len__(self) -> int:
        return len(self.keys)


class Alias(msgspec.Struct, frozen=True, kw_only=True):
    """A link that is not sha256: its content, not its path, names the data."""

    link: Link
    time: int


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """Everything below the root of a registry, complete."""

    repositories: tuple[str, ...]
    blobs: StoredBlobs
    layers: Links
    revisions: Links
    aliases: tuple[Alias, ...] = ()
    opaque: frozenset[int] = frozenset()
    """Repositories with a link that is no digest, or that cannot be read."""
    tags: tuple[tuple[int, str], ...] = ()
    """Repository and name of each tag; only where tags decide."""
    uploads: Mapping[str, int] = {}
    """The folder of each upload, and its newest time."""
    special_uploads: tuple[StoredObject, ...] = ()
    """Links and the like in uploads: they and their uploads stay, and are reported."""
    objects: int = 0

    def skipped(self) -> Iterator[str]:
        """What was passed over, as sentences."""
        return (storages.not_a_file(one.path, one.special) for one in self.special_uploads)

    def of_aliases(self, *kinds: LinkKind) -> Links:
        """The links that are not sha256, by the data that they name."""
        chosen = [one for one in self.aliases if one.link.kind in kinds]
        numbers = {name: number for number, name in enumerate(self.repositories)} if chosen else {}
        return Links(
            repositories=np.array([numbers[one.link.repository] for one in chosen], dtype=np.int32),
            keys=np.array([graph.key_of(one.link.data) for one in chosen], dtype=np.uint64),
            times=np.array([one.time for one in chosen], dtype=np.uint32),
        )

    def every_link(self) -> tuple[Links, ...]:
        return (self.layers, self.revisions, self.of_aliases(*LinkKind))


class Documents(msgspec.Struct, frozen=True, kw_only=True):
    """What the manifests need: manifest i names `targets[starts[i]:starts[i + 1]]`."""

    keys: Keys
    starts: NDArray[np.int64]
    targets: Keys
    subjects: Keys
    """What each is attached to; 0 for most."""
    opaque: frozenset[int] = frozenset()
    """The numbers of those that cannot be read."""

    def __len__(self) -> int:
        return len(self.keys)


class Roots(msgspec.Struct, frozen=True, kw_only=True):
    """What keeps manifests with `--untagged`; without, every manifest stays."""

    digests: frozenset[str] = frozenset()
    """What tags name, and what the clusters use."""
    repositories: frozenset[str] = frozenset()
    """Those that a reference may name that cannot be read, and those with unreadable tags."""


class SweepSettings(msgspec.Struct, frozen=True, kw_only=True):
    grace: timedelta
    upload_age_max: timedelta = UPLOAD_AGE_MAX
    is_offline: bool = False
    copy_bytes_max: int | None = None
    """The largest object that the storage can set aside."""
    second_look_after: timedelta = SECOND_LOOK_AFTER_DEFAULT


class SweepFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan is made of."""

    listing: Listing
    documents: Documents
    roots: Roots | None = None
    """None keeps every manifest."""
    tagged: frozenset[str] = frozenset()
    """What tags name, where manifests are condemned; a tag may be all that is left of a push."""
    image_digests: tuple[str, ...] = ()
    """What Images of OpenShift name."""
    aside: tuple[str, ...] = ()
    """What a run that was cut off has moved aside."""
    aside_lately: frozenset[str] = frozenset()
    """Those of them that came there within the time of a late deletion."""


class SweepPlan(msgspec.Struct, frozen=True, kw_only=True):
    reasons: NDArray[np.uint8]
    """A `BlobReason` for each blob of the listing."""
    condemned: NDArray[np.int64]
    """Positions of the blobs that lose their links now."""
    swept: NDArray[np.int64]
    """Positions of the blobs that go now."""
    links: tuple[Link, ...]
    """The links that go with them."""
    restored: tuple[Link, ...]
    """Links that were removed and are needed again."""
    dropped: tuple[str, ...]
    """Digests that are no longer condemned."""
    used_again: tuple[str, ...]
    """Those that are not either; a late deletion may still take their links."""
    left_aside: tuple[str, ...]
    """What is aside and in its place, from where a late deletion may still take it."""
    put_back: tuple[str, ...]
    """What is aside and needed or linked."""
    uploads: tuple[str, ...]
    """Folders of uploads that are too old to be finished."""


class SecondLook(msgspec.Struct, frozen=True, kw_only=True):
    restored: tuple[Link, ...]
    put_back: tuple[str, ...]
    used_again: tuple[str, ...]


class Total(msgspec.Struct, frozen=True, kw_only=True):
    reason: BlobReason
    blobs: int
    size_bytes: int


def totals(plan: SweepPlan, blobs: StoredBlobs) -> tuple[Total, ...]:
    counts = np.bincount(plan.reasons, minlength=len(BlobReason))
    sizes = np.bincount(plan.reasons, weights=blobs.sizes, minlength=len(BlobReason))
    return tuple(
        Total(reason=one, blobs=int(counts[one]), size_bytes=int(sizes[one]))
        for one in BlobReason
        if counts[one]
    )


def seconds(time: datetime) -> int:
    """Rounded up, so that nothing seems older than it is; within what a column holds."""
    return min(max(0, int(time.timestamp()) + (1 if time.microsecond else 0)), _SECONDS_MAX)
