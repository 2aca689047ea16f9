"""The values of a sweep: the listing of a storage, the needs of its manifests, and the plan.

Millions of objects are stored as columns of numbers. The number of a digest is its first 64 bits,
as in the graph; if two blobs have the same number, the run ends. Times are whole seconds, rounded
up.
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
"""How long the second look waits: a registry finds data and writes the link to it in two requests
to its storage, and may be between them."""
_SECONDS_MAX = 2**32 - 1
UPLOAD_AGE_MAX = timedelta(hours=168)  # that of the registry's own purge
LATE_DELETION_MAX = timedelta(hours=1)
"""How long a storage may still execute a deletion that got no answer: many times the three minutes
after which a client gives up. Until then a run does not rely on data that it may delete."""


class BlobReason(IntEnum):
    """Why a blob is kept or deleted, in the order of the rules."""

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
    """The digest of the data, if it differs."""

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
        """The position of each number, and whether it exists."""
        if not len(self.keys):
            return np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=np.bool_)
        found = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return found, self.keys[found] == keys


class Links(msgspec.Struct, frozen=True, kw_only=True):
    """Link files of one kind as columns."""

    repositories: Ids
    keys: Keys
    """The number of the data of each link."""
    times: Seconds
    raw: NDArray[np.uint8] = msgspec.field(
        default_factory=lambda: np.zeros((0, 32), dtype=np.uint8)
    )
    """The 32 bytes of each digest; only for manifests, which are read by it."""

    def __len__(self) -> int:
        return len(self.keys)


class Alias(msgspec.Struct, frozen=True, kw_only=True):
    """A link that is not sha256: its content, not its path, names the data."""

    link: Link
    time: int


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """All objects of a registry. It is never incomplete."""

    repositories: tuple[str, ...]
    blobs: StoredBlobs
    layers: Links
    revisions: Links
    aliases: tuple[Alias, ...] = ()
    opaque: frozenset[int] = frozenset()
    """Repositories with a link that is malformed or unreadable."""
    tags: tuple[tuple[int, str], ...] = ()
    """The repository and name of each tag; only if tags decide."""
    uploads: Mapping[str, int] = {}
    """The folder of each upload, and its newest time."""
    special_uploads: tuple[StoredObject, ...] = ()
    """Symbolic links and other special files in uploads. These uploads stay and are reported."""
    objects: int = 0

    def skipped(self) -> Iterator[str]:
        """The special files that were skipped, as sentences."""
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
    """The needs of manifests: manifest i names `targets[starts[i]:starts[i + 1]]`."""

    keys: Keys
    starts: NDArray[np.int64]
    targets: Keys
    subjects: Keys
    """The subject of each; 0 for most."""
    opaque: frozenset[int] = frozenset()
    """The numbers of unreadable manifests."""

    def __len__(self) -> int:
        return len(self.keys)


class Roots(msgspec.Struct, frozen=True, kw_only=True):
    """What keeps manifests with `--untagged`. Without it every manifest is kept."""

    digests: frozenset[str] = frozenset()
    """The digests that tags name."""
    used: frozenset[str] = frozenset()
    """The digests that the references of clusters name; what holds them is kept too."""
    repositories: frozenset[str] = frozenset()
    """Repositories that an unreadable reference may name, or that have unreadable tags."""


class SweepSettings(msgspec.Struct, frozen=True, kw_only=True):
    grace: timedelta
    upload_age_max: timedelta = UPLOAD_AGE_MAX
    is_offline: bool = False
    copy_bytes_max: int | None = None
    """The largest object that the storage can move aside."""
    second_look_after: timedelta = SECOND_LOOK_AFTER_DEFAULT


class SweepFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The input of a plan."""

    listing: Listing
    documents: Documents
    roots: Roots | None = None
    """None: every manifest is kept."""
    tagged: frozenset[str] = frozenset()
    """The digests that tags name, if manifests are condemned; a push may leave only its tag."""
    image_digests: tuple[str, ...] = ()
    """The digests that OpenShift's Images name."""
    aside: tuple[str, ...] = ()
    """The digests that an interrupted run moved aside."""
    aside_lately: frozenset[str] = frozenset()
    """Those of them that a late deletion may still concern."""


class SweepPlan(msgspec.Struct, frozen=True, kw_only=True):
    reasons: NDArray[np.uint8]
    """A `BlobReason` for each blob of the listing."""
    condemned: NDArray[np.int64]
    """Positions of the blobs that lose their links now."""
    swept: NDArray[np.int64]
    """Positions of the blobs that are deleted now."""
    links: tuple[Link, ...]
    """The links that are removed with them."""
    restored: tuple[Link, ...]
    """Links that were removed and are needed again."""
    dropped: tuple[str, ...]
    """Digests that are no longer condemned."""
    used_again: tuple[str, ...]
    """No longer condemned, but a late deletion may still remove their links."""
    left_aside: tuple[str, ...]
    """Digests that are aside and in place; a late deletion may still remove them from there."""
    put_back: tuple[str, ...]
    """Digests that are aside, and needed or linked again."""
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
    """Rounded up, so that no object seems older than it is; limited to the range of a column."""
    return min(max(0, int(time.timestamp()) + (1 if time.microsecond else 0)), _SECONDS_MAX)
