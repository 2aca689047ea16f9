"""The conditions about all machine sets together, and the events. Pure.

The reasons of one machine set are in `verdicts.py`.
"""

from enum import StrEnum


class BootImageConditionType(StrEnum):
    PROGRESSING = "BootImageUpdateProgressing"
    """Of a MachineConfiguration: machine sets are being updated."""
    DEGRADED = "BootImageUpdateDegraded"
    """Of a MachineConfiguration and of the worker pool: machine sets fail."""


class BootImageEventReason(StrEnum):
    """Of events about a machine set; one that fails has the reason of its verdict."""

    UPDATED = "BootImageUpdated"
    """The machine set was patched."""
