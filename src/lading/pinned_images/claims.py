"""The claims of a node: the uid and pinned generation of each set, in its MachineConfigNode. Pure.

Without the uid, a claim would also fit another set of the same name. The status has the claims
that fit: the CRD of another owner has no `uid`, and every CRD limits the list to 100 sets. The
other claims are in an annotation, each with uid and generation.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_node import (
    MachineConfigNode,
    MachineConfigNodeStatus,
    NodePinnedImageSet,
)
from lading.kernel.values import replace

ANNOTATION = "lading.dev/pinned-image-sets"


class Claim(NamedTuple):
    uid: str
    generation: int
    """The generation that is pinned completely; 0 if none is."""


_Claims = dict[str, Claim]
_decoder = msgspec.json.Decoder(dict[str, tuple[str, int]])


def held(node: MachineConfigNode) -> _Claims:
    """By the name of the set."""
    entries = node.status.pinned_image_sets
    claims = {entry.name: Claim(entry.uid, entry.current_generation) for entry in entries}
    for name, claim in _annotated(node).items():
        listed = claims.get(name)
        if listed is None or listed == Claim("", claim.generation):
            claims[name] = claim
    return claims


def reported(node: MachineConfigNode) -> tuple[NodePinnedImageSet, ...]:
    """The entries of all sets of the node, from the status and from the annotation."""
    if ANNOTATION not in node.metadata.annotations:
        return node.status.pinned_image_sets
    claims = held(node)
    listed = node.status.pinned_image_sets
    names = {entry.name for entry in listed}
    entries = [replace(entry, uid=claims[entry.name].uid) for entry in listed]
    entries += [_entry(name, claim) for name, claim in claims.items() if name not in names]
    return tuple(sorted(entries, key=lambda entry: entry.name))


def listed(
    entries: Iterable[NodePinnedImageSet], *, with_uid: bool
) -> tuple[NodePinnedImageSet, ...]:
    """The entries for the status, by name. If there are too many, unfinished sets come first."""
    urgent = sorted(entries, key=lambda entry: (is_done(entry), entry.name))
    kept = sorted(urgent[: group.SETS_PER_NODE_MAX], key=lambda entry: entry.name)
    return tuple(kept if with_uid else (replace(one, uid="") for one in kept))


def annotation(entries: Iterable[NodePinnedImageSet], stored: MachineConfigNodeStatus) -> str:
    """The claims that the stored status lacks; empty if it has all."""
    kept = {(one.name, one.uid, one.current_generation) for one in stored.pinned_image_sets}
    missing = {
        one.name: (one.uid, one.current_generation)
        for one in entries
        if (one.name, one.uid, one.current_generation) not in kept
    }
    return msgspec.json.encode(missing, order="sorted").decode() if missing else ""


def is_done(entry: NodePinnedImageSet) -> bool:
    return entry.current_generation == entry.desired_generation != 0


def _entry(name: str, claim: Claim) -> NodePinnedImageSet:
    return NodePinnedImageSet(
        name=name,
        uid=claim.uid,
        current_generation=claim.generation,
        desired_generation=claim.generation,
    )


def _annotated(node: MachineConfigNode) -> _Claims:
    """Anyone may write an annotation. A malformed one has no claims."""
    text = node.metadata.annotations.get(ANNOTATION)
    if text is None:
        return {}
    try:
        return {name: Claim(*pair) for name, pair in _decoder.decode(text).items()}
    except msgspec.MsgspecError:
        return {}
