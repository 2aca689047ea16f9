"""apiextensions.k8s.io: custom resource definitions, cut down to what installing needs to see."""

from lading.kernel.conditions import Truth
from lading.kernel.objects import Model, Object, Resource


class DefinitionVersion(Model, frozen=True, kw_only=True):
    name: str
    served: bool = False


class DefinitionSpec(Model, frozen=True, kw_only=True):
    versions: tuple[DefinitionVersion, ...] = ()


class DefinitionCondition(Model, frozen=True, kw_only=True):
    type: str
    status: Truth


class DefinitionStatus(Model, frozen=True, kw_only=True):
    conditions: tuple[DefinitionCondition, ...] | None = None
    """kube-apiserver sends null until it has looked at a new definition."""


class CustomResourceDefinition(Object, frozen=True, kw_only=True):
    spec: DefinitionSpec = DefinitionSpec()
    status: DefinitionStatus = DefinitionStatus()

    @property
    def is_established(self) -> bool:
        return any(
            one.type == "Established" and one.status is Truth.TRUE
            for one in self.status.conditions or ()
        )


CUSTOM_RESOURCE_DEFINITIONS = Resource(
    group="apiextensions.k8s.io",
    version="v1",
    kind="CustomResourceDefinition",
    plural="customresourcedefinitions",
    namespaced=False,
    type=CustomResourceDefinition,
)
