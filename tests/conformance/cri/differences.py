"""Where runtimes rightly or wrongly differ from the embedded service, each with the reason.

A test that is listed must fail on that runtime: a difference that has gone is taken off the list.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    test: str
    runtimes: tuple[str, ...]
    reason: str
    releases: tuple[str, ...] = ("",)
    """How the release begins, where only some differ."""


DIFFERENCES: tuple[Difference, ...] = ()


def reason(*, test: str, runtime: str, release: str) -> str:
    for difference in DIFFERENCES:
        if (
            difference.test == test
            and runtime in difference.runtimes
            and release.removeprefix("v").startswith(difference.releases)
        ):
            return difference.reason
    return ""
