"""cluster.x-k8s.io: machine sets of Cluster API, and the templates that hold their images."""

from typing import Any, TypeVar

from lading.api.machine import Machine, MachineSet
from lading.kernel.objects import Object, Resource

T = TypeVar("T")

GROUP = "cluster.x-k8s.io"
TEMPLATE_GROUP = "infrastructure.cluster.x-k8s.io"
VERSIONS = ("v1beta2", "v1beta1")
TemplateKey = tuple[str, str, str]
"""Kind, namespace and name of an infrastructure template."""


class MachineTemplate(Object, frozen=True, kw_only=True):
    """An InfrastructureMachineTemplate of any platform; its spec never changes."""

    spec: Any = None
    status: Any = None


class Cluster(Object, frozen=True, kw_only=True):
    """A Cluster of Cluster API. Lading reads whether it is paused."""

    spec: Any = None


CLUSTERS: Resource[Cluster] = Resource(
    group=GROUP,
    version=VERSIONS[0],
    kind="Cluster",
    plural="clusters",
    namespaced=True,
    type=Cluster,
)
CLUSTER_MACHINE_SETS: Resource[MachineSet] = Resource(
    group=GROUP,
    version=VERSIONS[0],
    kind="MachineSet",
    plural="machinesets",
    namespaced=True,
    type=MachineSet,
)
MACHINE_DEPLOYMENTS: Resource[MachineSet] = Resource(
    group=GROUP,
    version=VERSIONS[0],
    kind="MachineDeployment",
    plural="machinedeployments",
    namespaced=True,
    type=MachineSet,
)
"""They name their template and their stub as a machine set does."""
CLUSTER_MACHINES: Resource[Machine] = Resource(
    group=GROUP,
    version=VERSIONS[0],
    kind="Machine",
    plural="machines",
    namespaced=True,
    type=Machine,
)


def machine_templates(kind: str, version: str) -> Resource[MachineTemplate]:
    return _infrastructure(kind, version, MachineTemplate)


def infrastructure_machines(kind: str, version: str) -> Resource[Machine]:
    """The machines of one platform; each Machine names one of them."""
    return _infrastructure(kind, version, Machine)


def _infrastructure(kind: str, version: str, type_: type[T]) -> Resource[T]:
    """Cluster API names the resource of a kind by its plural, in lower case."""
    return Resource(
        group=TEMPLATE_GROUP,
        version=version,
        kind=kind,
        plural=f"{kind.lower()}s",
        namespaced=True,
        type=type_,
    )
