"""The conditions about all machine sets together, and the events. Pure.

The reasons of one machine set are in `verdicts.py`.
"""

from enum import StrEnum


class BootImageConditionType(StrEnum):
    PROGRESSING = "BootImageUpdateProgressing"
    """Machine sets are being updated."""
    DEGRADED = "BootImageUpdateDegraded"
    """Machine sets fail; also on the worker pool."""


class BootImageEventReason(StrEnum):
    """Of events about a machine set; one that fails has the reason of its verdict."""

    UPDATED = "BootImageUpdated"
    """The machine set got the image of the release."""
