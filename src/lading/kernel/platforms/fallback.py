"""The CPUs whose images a CPU can run, best first: newer variants run what was built for older."""

from lading.kernel.platforms.types import Platform

_ARM_VARIANTS_NEWEST_FIRST = ("v8", "v7", "v6", "v5")
_ARM64_V8_MINOR_MAX = 9
# ARMv9.m includes everything of ARMv8.(m+5).
_ARM64_V9_MINOR_LEAD = 5


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
    level = _number(variant.removeprefix("v")) if variant else 1
    if level is None:
        return (("amd64", variant),)
    newer = tuple(("amd64", f"v{number}") for number in range(level, 1, -1))
    return (*newer, ("amd64", ""))


def _arm(variant: str) -> tuple[tuple[str, str], ...]:
    if variant not in _ARM_VARIANTS_NEWEST_FIRST:
        return (("arm", variant),)
    first = _ARM_VARIANTS_NEWEST_FIRST.index(variant)
    return tuple(("arm", older) for older in _ARM_VARIANTS_NEWEST_FIRST[first:])


def _arm64(variant: str) -> tuple[tuple[str, str], ...]:
    major, _, minor_text = (variant or "v8").removeprefix("v").partition(".")
    minor = _number(minor_text or "0")
    if minor is None or major not in ("8", "9"):
        return (("arm64", variant),)
    if major == "8":
        return _arm64_v8(minor)
    newest = tuple(("arm64", f"v9.{number}" if number else "v9") for number in range(minor, -1, -1))
    return (*newest, *_arm64_v8(min(minor + _ARM64_V9_MINOR_LEAD, _ARM64_V8_MINOR_MAX)))


def _arm64_v8(minor: int) -> tuple[tuple[str, str], ...]:
    newer = tuple(("arm64", f"v8.{number}") for number in range(minor, 0, -1))
    return (*newer, ("arm64", ""))


_LEVEL_DIGITS_MAX = 2


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) <= _LEVEL_DIGITS_MAX else None
