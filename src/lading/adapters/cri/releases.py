"""Release numbers of container runtimes, and since which release a runtime can pin."""

import re
from collections.abc import Mapping

from lading.ports.cri import CannotPin, RuntimeVersion

Release = tuple[int, int, int]

_RELEASE = re.compile(r"v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?")


def parse(text: str) -> Release | None:
    """The first three numbers of `v2.3.0-rc.1` or `1.6.20~ds1`; None when there are none."""
    match = _RELEASE.match(text)
    if match is None:
        return None
    major, minor, patch = match.groups(default="0")
    return int(major), int(minor), int(patch)


def too_old(
    version: RuntimeVersion, *, patch_by_line: Mapping[tuple[int, int], int], reason: str
) -> CannotPin | None:
    """Old release lines got pinning in a patch; every line after the newest listed has it."""
    release = parse(version.version)
    if release is None:
        return CannotPin(f"{version.name} reports the version {version.version!r}, not a release")
    line = release[:2]
    newest = max(patch_by_line)
    if line > newest or release[2] >= patch_by_line.get(line, _NEVER):
        return None
    since = " or ".join(f"{a}.{b}.{patch}" for (a, b), patch in sorted(patch_by_line.items()))
    return CannotPin(
        f"{version.name} {version.version} cannot pin images: {reason}. Upgrade it to at least"
        f" {since}, or to any release after {newest[0]}.{newest[1]}. Until then, the kubelet may"
        " remove the images"
    )


_NEVER = 10**9
