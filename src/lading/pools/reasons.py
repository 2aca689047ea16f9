"""The condition of pools that combines the features, and the events about pools. Pure."""

from enum import StrEnum


class PoolConditionType(StrEnum):
    DEGRADED = "Degraded"
    """A feature has a reason why the pool is degraded."""


class PoolReason(StrEnum):
    AS_EXPECTED = "AsExpected"
    """No feature reports an error."""


class PoolEventReason(StrEnum):
    DEGRADED = "Degraded"
    """A condition that reports errors became true."""
    RECOVERED = "Recovered"
    """A condition that reports errors became false again."""
