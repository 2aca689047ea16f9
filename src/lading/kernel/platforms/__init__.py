"""Which image of an index runs on a platform, and why the others do not."""

from lading.kernel.platforms.types import UNKNOWN, Platform, normalised

__all__ = ["UNKNOWN", "Platform", "normalised"]
