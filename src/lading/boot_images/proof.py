"""Whether the release of the golden ConfigMap has reached the cluster. Pure.

The ConfigMap changes at the beginning of an upgrade. A machine that boots its image while the
cluster still runs the release before may not join, so one node must have completed the update.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from lading.api.core import Node
from lading.api.openshift_config import ClusterVersion
from lading.boot_images import stream
from lading.boot_images.stream import Golden
from lading.boot_images.types import OS_RELEASE_LABEL
from lading.kernel.conditions import Truth
from lading.kernel.errors import UNREADABLE


class ReleaseProof(msgspec.Struct, frozen=True, kw_only=True):
    """`stamp` is what to keep as an annotation; empty when nothing needs to be written."""

    is_proven: bool
    message: str
    stamp: str = ""


def prove(
    golden: Golden,
    *,
    cluster_version: ClusterVersion | None,
    nodes: Iterable[Node],
    annotation: str,
    machine_images: Mapping[str, str],
) -> ReleaseProof:
    """Where OpenShift's ClusterVersion exists nothing else counts, and nothing is written."""
    if cluster_version is not None:
        return _by_cluster_version(golden, cluster_version)
    if _is_stamped(golden, annotation):
        return ReleaseProof(
            is_proven=True, message=f"release {golden.release_version} was proven before"
        )
    streams = (golden.default, *golden.named.values())
    releases = frozenset[str]().union(*(one.releases() for one in streams))
    images = frozenset[str]().union(*(one.images() for one in streams))
    made = {name for name, image in machine_images.items() if image in images}
    node = next((one for one in nodes if _runs(one, golden, releases, made)), None)
    if node is None:
        return ReleaseProof(
            is_proven=False,
            message=f"no ready node runs release {golden.release_version} yet; if nodes are "
            "replaced instead of updated, run "
            f"`lading bootimage approve {golden.release_version}`",
        )
    message = f"node {node.metadata.name} runs release {golden.release_version}"
    stamp = stamped(golden, by=f"node/{node.metadata.name}")
    return ReleaseProof(is_proven=True, message=message, stamp=stamp)


def stamped(golden: Golden, *, by: str) -> str:
    """The annotation: the release, the digest of the stream, and what proved it."""
    return msgspec.json.encode(
        {"releaseVersion": golden.release_version, "stream": golden.digest, "provenBy": by}
    ).decode()


def _by_cluster_version(golden: Golden, cluster_version: ClusterVersion) -> ReleaseProof:
    """Versions are compared for equality only: a downgrade is followed too."""
    history = cluster_version.status.history if cluster_version.status else None
    newest = next(iter(history or ()), None)
    if newest is None or newest.state != "Completed":
        return ReleaseProof(is_proven=False, message="the cluster is being installed or updated")
    for source, version in (
        (f"ConfigMap {stream.NAME}", golden.release_version),
        ("the machine config operator", golden.operator_version),
    ):
        if version and version != newest.version:
            message = f"the cluster runs {newest.version}, but {source} is of release {version}"
            return ReleaseProof(is_proven=False, message=message)
    return ReleaseProof(
        is_proven=True, message=f"the cluster completed its update to {newest.version}"
    )


def _is_stamped(golden: Golden, annotation: str) -> bool:
    if not annotation:
        return False
    try:
        stamp: Any = msgspec.json.decode(annotation)
    except UNREADABLE:
        return False
    wanted = {"releaseVersion": golden.release_version, "stream": golden.digest}
    return isinstance(stamp, dict) and all(stamp.get(key) == wanted[key] for key in wanted)


def _runs(node: Node, golden: Golden, releases: frozenset[str], made: set[str]) -> bool:
    is_ready = any(
        one.type == "Ready" and one.status is Truth.TRUE for one in node.status.conditions
    )
    if not is_ready:
        return False
    if node.metadata.name in made:
        return True
    if node.metadata.labels.get(OS_RELEASE_LABEL) == golden.release_version:
        return True
    return bool(releases & set(re.split(r"[\s()]+", node.status.node_info.os_image)))
