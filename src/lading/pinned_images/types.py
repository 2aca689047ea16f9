"""The feature gate, and the progress that an agent serves at `/pinned-images`. Frozen data only."""

from enum import StrEnum

from lading.kernel.feature_gates import Gate
from lading.kernel.objects import Model

PINNED_IMAGES = Gate(
    name="PinnedImages",
    default=True,
    off=(
        "the controller removes its sets from all pools, and agents unpin every image that Lading"
        " pinned"
    ),
)
PROGRESS_PATH = "/pinned-images"


class SetState(StrEnum):
    PINNED = "Pinned"
    """All images are present and pinned."""
    PINNING = "Pinning"
    """All images are present, and pins are being written."""
    PULLING = "Pulling"
    """Images are being pulled."""
    FAILED = "Failed"
    """The node reports an error."""


class SetProblem(Model, frozen=True, kw_only=True, omit_defaults=False):
    reason: str
    message: str
    image: str


class SetProgress(Model, frozen=True, kw_only=True, omit_defaults=False):
    name: str
    uid: str = ""
    generation: int
    state: str
    pulling: int
    attempt: int
    next_try_at: str
    """Empty while a pull runs, and if nothing failed."""
    image_count: int
    present_count: int = 0
    bytes_done: int | None = None
    """Compressed bytes, including those of running pulls. None if a size is unknown."""
    bytes_total: int | None = None
    bytes_per_second: int = 0
    """Of the running pulls of the set."""
    ends_at: str = ""
    """Estimated from the rate. Empty while no bytes arrive."""
    missing: tuple[str, ...]
    problems: tuple[SetProblem, ...]


class PullProgress(Model, frozen=True, kw_only=True, omit_defaults=False):
    image: str
    running: bool
    attempts: int
    error: str = ""


class StorageBudget(Model, frozen=True, kw_only=True, omit_defaults=False):
    capacity_bytes: int
    free_bytes: int
    reserve_bytes: int
    reserve_reason: str


class Progress(Model, frozen=True, kw_only=True, omit_defaults=False):
    node: str
    message: str
    """The numbers in one sentence."""
    image_count: int
    present_count: int
    bytes_missing: int | None
    """None if the size of an image is unknown."""
    bytes_per_second: int = 0
    sets: tuple[SetProgress, ...]
    pulls: tuple[PullProgress, ...]
    storage: StorageBudget | None
