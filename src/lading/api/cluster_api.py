"""cluster.x-k8s.io: machine sets of Cluster API, and the templates that hold their images."""

from typing import Any

from lading.api.machine import Machine, MachineSet
from lading.kernel.objects import Object, Resource

GROUP = "cluster.x-k8s.io"
TEMPLATE_GROUP = "infrastructure.cluster.x-k8s.io"
VERSIONS = ("v1beta2", "v1beta1")


class MachineTemplate(Object, frozen=True, kw_only=True):
    """An InfrastructureMachineTemplate of any platform; its spec never changes."""

    spec: Any = None
    status: Any = None


CLUSTER_MACHINE_SETS: Resource[MachineSet] = Resource(
    group=GROUP,
    version=VERSIONS[0],
    kind="MachineSet",
    plural="machinesets",
    namespaced=True,
    type=MachineSet,
)
CLUSTER_MACHINES: Resource[Machine] = Resource(
    group=GROUP,
    version=VERSIONS[0],
    kind="Machine",
    plural="machines",
    namespaced=True,
    type=Machine,
)


def machine_templates(kind: str, version: str) -> Resource[MachineTemplate]:
    """Cluster API names the resource of a kind by its plural, in lower case."""
    return Resource(
        group=TEMPLATE_GROUP,
        version=version,
        kind=kind,
        plural=f"{kind.lower()}s",
        namespaced=True,
        type=MachineTemplate,
    )
