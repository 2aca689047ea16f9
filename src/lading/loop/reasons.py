"""The events about a process itself. Pure."""

from enum import StrEnum


class ProcessEventReason(StrEnum):
    """On the Lease of the controller, or on the Node of an agent."""

    WAITING_FOR_KINDS = "WaitingForKinds"
    """A feature waits for kinds that the cluster does not serve."""
