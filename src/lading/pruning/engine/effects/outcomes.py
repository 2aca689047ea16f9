"""What became of each line of a plan."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from lading.pruning.engine.types import Deletion


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
    """It was deleted, and it is restored because something needs it."""
    TAG_IS_GONE = "TagIsGone"
    """A kept tag that another client deleted, or moved to an image while that was deleted."""


class PruneOutcome(msgspec.Struct, frozen=True, kw_only=True):
    line: Deletion
    result: Result
    message: str = ""

    @property
    def is_failure(self) -> bool:
        return self.result in (Result.FAILED, Result.REFUSED)


class CannotDelete(Exception):
    """This registry does not delete: the run ends with this message."""


class CanaryFailed(Exception):
    """The first deletion also deleted something else. The run ends with exit code 3."""


STOPS = (CannotDelete, CanaryFailed)
"""A registry that does not behave as the API says."""


def of_all(lines: Iterable[Deletion], result: Result, message: str = "") -> list[PruneOutcome]:
    return [PruneOutcome(line=line, result=result, message=message) for line in lines]
