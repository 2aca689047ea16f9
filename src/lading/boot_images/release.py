"""The release of the golden ConfigMap, and the proof that the cluster runs it. Pure.

The ConfigMap changes at the beginning of an upgrade. A machine that boots the new image may not
be able to join while the cluster runs the old release, so one node must complete the update first.
A release may change one architecture or one stream only, so each has a proof of its own.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from lading.api.core import ConfigMap, Node
from lading.api.machine import MachineSet
from lading.api.openshift_config import ClusterVersion
from lading.boot_images import rules, stream, templates
from lading.boot_images.stream import Golden, Stream
from lading.boot_images.types import OS_RELEASE_LABEL, PROOF_ANNOTATION, ObservedMachineSets
from lading.boot_images.verdicts import NotUpdated, Why
from lading.kernel.conditions import Truth
from lading.kernel.errors import UNREADABLE


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What machines of one architecture and one stream boot."""

    stream: Stream
    architecture: str
    """The name that RPM uses."""
    digest: str


class ReleaseProof(msgspec.Struct, frozen=True, kw_only=True):
    """`by` is what proves the release; empty if nothing does, or if nothing is to be written."""

    is_proven: bool
    message: str
    by: str = ""


class Release:
    """The golden images of one plan. Each part is proven once, even if many sets share it."""

    def __init__(self, observed: ObservedMachineSets) -> None:
        self.golden = _golden(observed.golden)
        self._observed = observed
        self._architecture = rules.cluster_architecture(observed)
        self._stamped = _stamp_of(self.golden, observed.golden)
        self._parts: dict[tuple[str | None, str], Part] = {}
        self._proofs: dict[str, ReleaseProof] = {}

    def part(self, machine_set: MachineSet) -> Part | NotUpdated:
        """The part of this machine set, whether it is proven or not."""
        if isinstance(self.golden, NotUpdated):
            return self.golden
        label = machine_set.metadata.labels.get(stream.STREAM_LABEL)
        chosen = self.golden.chosen(label)
        if chosen is None:
            message = f"ConfigMap {stream.NAME} has no stream {label!r}"
            return NotUpdated(Why.STREAM_UNKNOWN, message)
        template = self._observed.templates.get(templates.reference_of(machine_set))
        status = template.status if template else None
        architecture = rules.architecture(machine_set, self._architecture, status)
        if isinstance(architecture, NotUpdated):
            return architecture
        key = label, architecture
        if key not in self._parts:
            digest = chosen.digest(architecture)
            self._parts[key] = Part(stream=chosen, architecture=architecture, digest=digest)
        return self._parts[key]

    def proven_part(self, machine_set: MachineSet) -> Part | NotUpdated:
        part = self.part(machine_set)
        if isinstance(part, NotUpdated):
            return part
        assert isinstance(self.golden, Golden), "a part is of the golden ConfigMap"
        proof = self._proofs.get(part.digest)
        if proof is None:
            proof = self._proofs[part.digest] = self._prove(self.golden, part)
        return part if proof.is_proven else NotUpdated(Why.NOT_PROVEN, proof.message)

    def needs_machines(self, machine_set: MachineSet) -> bool:
        """The proof is not in the annotation, so the machine of a node may be the proof."""
        if self._observed.cluster_version is not None:
            return False
        part = self.part(machine_set)
        return isinstance(part, Part) and part.digest not in self._stamped

    def messages(self) -> tuple[str, ...]:
        """What is known about each part that a machine set needs."""
        return tuple(one.message for one in self._proofs.values())

    def stamp(self) -> str:
        """The annotation with the new proofs; empty if there is no new one."""
        found = {digest: one.by for digest, one in self._proofs.items() if one.by}
        if not found or isinstance(self.golden, NotUpdated):
            return ""
        kept = {one: self._stamped[one] for one in self._stamped.keys() & self.golden.digests()}
        return stamped(self.golden, {**kept, **found})

    def _prove(self, golden: Golden, part: Part) -> ReleaseProof:
        """OpenShift's ClusterVersion decides alone if it exists, and then nothing is written."""
        observed, version = self._observed, golden.release_version
        if observed.cluster_version is not None:
            return _by_cluster_version(golden, observed.cluster_version)
        if part.digest in self._stamped:
            message = f"release {version} was proven before for {part.architecture}"
            return ReleaseProof(is_proven=True, message=message)
        releases = part.stream.releases(part.architecture)
        images = part.stream.images(part.architecture)
        made = {name for name, image in observed.machine_images.items() if image in images}
        node = next(
            (one for one in observed.nodes if _runs(one, golden, part, releases, made)), None
        )
        if node is None:
            return ReleaseProof(
                is_proven=False,
                message=f"no ready {part.architecture} node runs release {version} yet; if nodes "
                f"are replaced instead of updated, run `lading bootimage approve {version}`",
            )
        message = f"node {node.metadata.name} runs release {version} on {part.architecture}"
        return ReleaseProof(is_proven=True, message=message, by=f"node/{node.metadata.name}")


def _golden(found: ConfigMap | None) -> Golden | NotUpdated:
    if found is None:
        return NotUpdated(Why.GOLDEN_MISSING, f"ConfigMap {stream.NAME} does not exist")
    try:
        return stream.golden(found.data)
    except stream.Broken as broken:
        return NotUpdated(Why.GOLDEN_BROKEN, f"ConfigMap {found.key}: {broken}")


def stamped(golden: Golden, proofs: Mapping[str, str]) -> str:
    """The annotation: the release, and what proved each part, by the digest of the part."""
    value = {"releaseVersion": golden.release_version, "provenBy": proofs}
    return msgspec.json.encode(value, order="sorted").decode()


def _stamp_of(golden: Golden | NotUpdated, config_map: ConfigMap | None) -> dict[str, str]:
    """What the annotation proves about this release; nothing if it is of another one."""
    if isinstance(golden, NotUpdated) or config_map is None:
        return {}
    try:
        stamp: Any = msgspec.json.decode(config_map.metadata.annotations.get(PROOF_ANNOTATION, ""))
    except UNREADABLE:
        return {}
    if not isinstance(stamp, dict) or stamp.get("releaseVersion") != golden.release_version:
        return {}
    proofs = stamp.get("provenBy")
    return {one: str(by) for one, by in proofs.items()} if isinstance(proofs, dict) else {}


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


def _runs(node: Node, golden: Golden, part: Part, releases: frozenset[str], made: set[str]) -> bool:
    """A ready node of the same architecture, with the release of the same stream."""
    info, labels = node.status.node_info, node.metadata.labels
    is_ready = any(
        one.type == "Ready" and one.status is Truth.TRUE for one in node.status.conditions
    )
    if not is_ready or rules.ARCHITECTURES.get(info.architecture) != part.architecture:
        return False
    is_of_stream = golden.chosen(labels.get(stream.STREAM_LABEL)) == part.stream
    if labels.get(OS_RELEASE_LABEL) == golden.release_version and is_of_stream:
        return True
    if node.metadata.name in made:
        return True
    return bool(releases & set(re.split(r"[\s()]+", info.os_image)))
