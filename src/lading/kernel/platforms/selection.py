"""Chooses the entry of an image index for a platform, or explains why each does not fit.

Knows nothing about registries or manifests: an entry is anything that has a platform or None.
"""

import functools
from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from lading.kernel.platforms import fallback, windows
from lading.kernel.platforms.types import UNKNOWN, Platform, normalised

EXPLANATIONS_MAX = 10
# Every Windows base image declares it and every Windows host has it.
_WINDOWS_FEATURE_ALWAYS_PRESENT = "win32k"


class PlatformEntry(Protocol):
    @property
    def platform(self) -> Platform | None: ...


E = TypeVar("E", bound=PlatformEntry)


class Chosen(msgspec.Struct, Generic[E], frozen=True, kw_only=True):
    entry: E
    platform_is_declared: bool
    """False: the index declares none, and the image's own configuration must be read."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    offered: str
    reason: str

    def __str__(self) -> str:
        return f"{self.offered}: {self.reason}"


class NoMatch(msgspec.Struct, frozen=True, kw_only=True):
    wanted: Platform
    explanations: tuple[Explanation, ...]
    """Of the first entries."""
    entries_count: int

    def __str__(self) -> str:
        if not self.explanations:
            return f"no image for {self.wanted}: the index is empty"
        reasons = "; ".join(str(explanation) for explanation in self.explanations)
        more = self.entries_count - len(self.explanations)
        others = f"; and {more} more" if more else ""
        return f"no image for {self.wanted}: the index offers {reasons}{others}"


def select(entries: Sequence[E], wanted: Platform) -> Chosen[E] | NoMatch:
    """The best entry; entries that declare no platform come after all that match."""
    wanted = normalised(wanted)
    judged = [(entry, _refusal(wanted, entry.platform)) for entry in entries]
    fitting = [entry for entry, reason in judged if reason is None]
    if fitting:
        best = min(fitting, key=lambda entry: _rank(wanted, entry.platform))
        return Chosen(entry=best, platform_is_declared=_declared(best.platform) is not None)
    return NoMatch(
        wanted=wanted,
        explanations=tuple(
            Explanation(offered=str(entry.platform), reason=reason)
            for entry, reason in judged[:EXPLANATIONS_MAX]
            if reason is not None
        ),
        entries_count=len(entries),
    )


def refusal(wanted: Platform, offered: Platform | None) -> str | None:
    """The rule that keeps an offered platform from running on the wanted one; None if it runs."""
    return _refusal(normalised(wanted), offered)


def _refusal(wanted: Platform, offered: Platform | None) -> str | None:
    offered = _declared(offered)
    if offered is None:
        return None
    offered = normalised(offered)
    if (offered.os, offered.architecture) == (UNKNOWN.os, UNKNOWN.architecture):
        return "an attestation, not an image"
    if offered.os != wanted.os:
        return f"the operating system is not {wanted.os}"
    return (
        _processor_refusal(wanted, offered)
        or _version_refusal(wanted, offered)
        or _features_refusal(wanted, offered)
    )


def _declared(platform: Platform | None) -> Platform | None:
    """One without system and processor declares nothing, like that of an artifact."""
    return platform if platform and (platform.os or platform.architecture) else None


def _processor_refusal(wanted: Platform, offered: Platform) -> str | None:
    runnable = fallback.processors(wanted)
    if (offered.architecture, offered.variant) in runnable:
        return None
    if offered.architecture not in {architecture for architecture, _ in runnable}:
        return f"the architecture is not {wanted.architecture}"
    return f"variant {offered.variant or '(none)'} is not among {_listed(runnable)}"


@functools.lru_cache(maxsize=16)
def _listed(processors: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{name}/{variant}" if variant else name for name, variant in processors)


def _version_refusal(wanted: Platform, offered: Platform) -> str | None:
    if wanted.os != "windows":
        return None
    return windows.refusal(kernel=wanted.os_version, image=offered.os_version)


def _features_refusal(wanted: Platform, offered: Platform) -> str | None:
    missing = _features(offered) - set(wanted.os_features)
    return f"it needs the OS features {', '.join(sorted(missing))}" if missing else None


def _features(platform: Platform) -> set[str]:
    always = {_WINDOWS_FEATURE_ALWAYS_PRESENT} if platform.os == "windows" else set()
    return set(platform.os_features) - always


def _rank(wanted: Platform, offered: Platform | None) -> tuple[Any, ...]:
    offered = _declared(offered)
    if offered is None:
        return (True,)
    offered = normalised(offered)
    processor = fallback.processors(wanted).index((offered.architecture, offered.variant))
    version = windows.preference(kernel=wanted.os_version, image=offered.os_version)
    version_matters = version if wanted.os == "windows" else ()
    return (False, processor, version_matters, -len(offered.os_features))
