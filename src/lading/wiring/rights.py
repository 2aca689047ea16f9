"""The rights of each process: what every such process needs, and what its features need."""

from collections.abc import Iterable, Iterator

from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.core import EVENTS, LEASES, NODES
from lading.api.rbac import NAMESPACE, Process, Right
from lading.kernel.values import replace
from lading.loop.feature import Feature
from lading.loop.recorder import CLUSTER_SCOPED_NAMESPACE
from lading.wiring.controller import LEASE_NAME


def rights_of(process: Process, features: Iterable[Feature]) -> tuple[Right, ...]:
    """Each right once. Empty for a process that no feature uses."""
    used = [feature for feature in features if feature.rights(process)]
    if not used:
        return ()
    features_need = (right for feature in used for right in feature.rights(process))
    owned = (one.name for feature in used for one in feature.owns)
    return tuple(_merged((*features_need, *_definitions(owned), *_COMMON[process])))


def _definitions(names: Iterable[str]) -> Iterator[Right]:
    if found := tuple(sorted(set(names))):
        yield Right(
            group=CUSTOM_RESOURCE_DEFINITIONS.group,
            resources=(CUSTOM_RESOURCE_DEFINITIONS.plural,),
            names=found,
            verbs=("get",),
            why="To report the owner of a kind, and the versions that are served.",
        )


_LEASE = Right(
    group=LEASES.group, resources=(LEASES.plural,), verbs=("get", "patch"), namespaces=(NAMESPACE,)
)
_EVENTS = Right(
    group=EVENTS.group,
    resources=(EVENTS.plural,),
    verbs=("create", "patch"),
    namespaces=(CLUSTER_SCOPED_NAMESPACE,),
    why="Events about objects without a namespace are in the namespace default.",
)
_COMMON: dict[Process, tuple[Right, ...]] = {
    Process.CONTROLLER: (
        _EVENTS,
        replace(_EVENTS, namespaces=(NAMESPACE,), why="Events about the Lease."),
        replace(_LEASE, verbs=("create",), why="RBAC cannot restrict a create by name."),
        replace(_LEASE, names=(LEASE_NAME,)),
    ),
    Process.AGENT: (
        _EVENTS,
        Right(group=NODES.group, resources=(NODES.plural,), verbs=("get",)),
    ),
}


def _merged(rights: Iterable[Right]) -> Iterator[Right]:
    """Removes covered rights, and joins rights that differ only in their resources."""
    resources: dict[Right, dict[str, None]] = {}
    every = tuple(rights)
    for right in every:
        same = replace(right, resources=())
        for resource in right.resources:
            if not any(_covers(other, right, resource) for other in every):
                resources.setdefault(same, {})[resource] = None
    return (replace(same, resources=tuple(found)) for same, found in resources.items())


def _covers(other: Right, right: Right, resource: str) -> bool:
    """Whether the other right grants more verbs on the resource, with the same restrictions."""
    return (
        resource in other.resources
        and set(other.verbs) > set(right.verbs)
        and replace(other, resources=(), verbs=(), why="")
        == replace(right, resources=(), verbs=(), why="")
    )
