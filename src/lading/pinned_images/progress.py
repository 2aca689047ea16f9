"""How far a node is, as its agent answers a client that asks it: the form of the answer."""

from enum import StrEnum

from lading.kernel.objects import Model

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
    """Empty while a pull runs, and where nothing failed."""
    image_count: int
    present_count: int = 0
    bytes_done: int | None = None
    """Compressed, with what running pulls have brought so far; None while a size is not known."""
    bytes_total: int | None = None
    bytes_per_second: int = 0
    """Of its running pulls."""
    ends_at: str = ""
    """Estimated by that rate; empty while nothing arrives."""
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
    bytes_wanted: int
    bytes_missing: int | None
    """None when the size of an image is not known."""
    bytes_per_second: int = 0
    sets: tuple[SetProgress, ...]
    pulls: tuple[PullProgress, ...]
    storage: StorageBudget | None
