"""Kubelets that collect pinned images all the same. Pure.

Until these patch releases the kubelet dropped the runtime's `pinned` on its way to the garbage
collector (kubernetes pull request 119986).
"""

import re

_FIRST_PATCH_BY_MINOR = {25: 14, 26: 9, 27: 6, 28: 2}
_VERSION = re.compile(r"v?1\.(?P<minor>[0-9]+)\.(?P<patch>[0-9]+)")


def pins_ignored(kubelet_version: str) -> str:
    """Why pins do not protect on this node, or nothing when they do or the version is unknown."""
    match = _VERSION.match(kubelet_version)
    if match is None:
        return ""
    minor, patch = int(match["minor"]), int(match["patch"])
    first = _FIRST_PATCH_BY_MINOR.get(minor)
    if minor > max(_FIRST_PATCH_BY_MINOR) or (first is not None and patch >= first):
        return ""
    wanted = f"1.{minor}.{first}" if first is not None else "1.25.14"
    return (
        f"images are pinned in the runtime, but kubelet {kubelet_version} ignores pins when it "
        f"collects garbage; {wanted} and later honour them"
    )
