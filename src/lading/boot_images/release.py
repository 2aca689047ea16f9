"""The release of the golden ConfigMap, and the proof that the cluster runs it. Pure.

The ConfigMap changes at the beginning of an upgrade. A machine that boots the new image may not
be able to join while the cluster runs the old release, so one node must complete the update first.
"""

import re
from typing import Any

import msgspec

from lading.api.core import ConfigMap, Node
from lading.api.openshift_config import ClusterVersion
from lading.boot_images import stream
from lading.boot_images.stream import Golden
from lading.boot_images.types import OS_RELEASE_LABEL, PROOF_ANNOTATION, ObservedMachineSets
from lading.boot_images.verdicts import NotUpdated, Why
from lading.kernel.conditions import Truth
from lading.kernel.errors import UNREADABLE


class ReleaseProof(msgspec.Struct, frozen=True, kw_only=True):
    """`stamp` is the annotation to write; empty if it is not needed."""

    is_proven: bool
    message: str
    stamp: str = ""


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """The golden images, or why they may not be used."""

    golden: Golden | NotUpdated
    proof: ReleaseProof | None = None


def release_of(observed: ObservedMachineSets) -> Release:
    golden = _golden(observed.golden)
    if isinstance(golden, NotUpdated):
        return Release(golden=golden)
    proof = prove(golden, observed)
    if not proof.is_proven:
        return Release(golden=NotUpdated(Why.NOT_PROVEN, proof.message), proof=proof)
    return Release(golden=golden, proof=proof)


def needs_machines(golden: ConfigMap | None, cluster_version: ClusterVersion | None) -> bool:
    """Machines prove a release only until the proof is in the annotation."""
    if cluster_version is not None:
        return False
    parsed = _golden(golden)
    return isinstance(parsed, Golden) and not _is_stamped(parsed, golden)


def _golden(found: ConfigMap | None) -> Golden | NotUpdated:
    if found is None:
        return NotUpdated(Why.GOLDEN_MISSING, f"ConfigMap {stream.NAME} does not exist")
    try:
        return stream.golden(found.data)
    except stream.Broken as broken:
        return NotUpdated(Why.GOLDEN_BROKEN, f"ConfigMap {found.key}: {broken}")


def prove(golden: Golden, observed: ObservedMachineSets) -> ReleaseProof:
    """OpenShift's ClusterVersion decides alone if it exists, and then nothing is written."""
    if observed.cluster_version is not None:
        return _by_cluster_version(golden, observed.cluster_version)
    if _is_stamped(golden, observed.golden):
        return ReleaseProof(
            is_proven=True, message=f"release {golden.release_version} was proven before"
        )
    streams = (golden.default, *golden.named.values())
    releases = frozenset[str]().union(*(one.releases() for one in streams))
    images = frozenset[str]().union(*(one.images() for one in streams))
    made = {name for name, image in observed.machine_images.items() if image in images}
    node = next((one for one in observed.nodes if _runs(one, golden, releases, made)), None)
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


def _is_stamped(golden: Golden, config_map: ConfigMap | None) -> bool:
    annotations = config_map.metadata.annotations if config_map is not None else {}
    try:
        stamp: Any = msgspec.json.decode(annotations.get(PROOF_ANNOTATION, ""))
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
