"""The CPUs that a CPU can run images of, best first: newer variants run what older ones do."""

import functools
import re

from lading.kernel.platforms.types import Platform

_LEVEL = re.compile(r"v([1-9][0-9]?)(?:\.([1-9][0-9]?))?")
_ARM_VARIANTS_NEWEST_FIRST = ("v8", "v7", "v6", "v5")
_ARM64_V8_MINOR_MAX = 9
# ARMv9.m includes everything of ARMv8.(m+5).
_ARM64_V9_MINOR_LEAD = 5


@functools.lru_cache(maxsize=16)  # asked again for each entry of an index
def processors(platform: Platform) -> tuple[tuple[str, str], ...]:
    """(architecture, variant) pairs for a normalised platform, in the order to try them."""
    match platform.architecture:
        case "amd64":
            return (*_amd64(platform.variant), ("386", ""))
        case "arm":
            return _arm(platform.variant)
        case "arm64":
            return (*_arm64(platform.variant), *_arm("v8"))
        case architecture:
            return ((architecture, platform.variant),)


def _amd64(variant: str) -> tuple[tuple[str, str], ...]:
    level, minor = _level(variant or "v1")
    if not level or minor:
        return (("amd64", variant),)
    newer = tuple(("amd64", f"v{number}") for number in range(level, 1, -1))
    return (*newer, ("amd64", ""))


def _arm(variant: str) -> tuple[tuple[str, str], ...]:
    if variant not in _ARM_VARIANTS_NEWEST_FIRST:
        return (("arm", variant),)
    first = _ARM_VARIANTS_NEWEST_FIRST.index(variant)
    return tuple(("arm", older) for older in _ARM_VARIANTS_NEWEST_FIRST[first:])


def _arm64(variant: str) -> tuple[tuple[str, str], ...]:
    major, minor = _level(variant or "v8")
    if major == 8:
        return _arm64_v8(minor)
    if major != 9:
        return (("arm64", variant),)
    newest = tuple(("arm64", f"v9.{number}" if number else "v9") for number in range(minor, -1, -1))
    return (*newest, *_arm64_v8(min(minor + _ARM64_V9_MINOR_LEAD, _ARM64_V8_MINOR_MAX)))


def _arm64_v8(minor: int) -> tuple[tuple[str, str], ...]:
    newer = tuple(("arm64", f"v8.{number}") for number in range(minor, 0, -1))
    return (*newer, ("arm64", ""))


def _level(variant: str) -> tuple[int, int]:
    """The numbers of `v9.2`; (0, 0) for a variant that is not written so."""
    match = _LEVEL.fullmatch(variant)
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)
