"""The clock of this machine."""

from lading.adapters.clock import SystemClock
from lading.ports.clock import Clock


def system_clock() -> Clock:
    return SystemClock()
