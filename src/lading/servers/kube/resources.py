"""What is served: one `Resource` per kind and version, built in or declared by a CRD.

The registry finds them by path, by kind and by storage name, and is the only thing that changes
when a CustomResourceDefinition does. It knows nothing of the objects themselves.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from lading.servers.kube import builtins, event_forms
from lading.servers.kube.builtins.columns import Column

Document = dict[str, Any]

STANDARD_VERBS = (
    "delete", "deletecollection", "get", "list", "patch", "create", "update", "watch",
)  # fmt: skip
_WITH_GENERATION = frozenset(
    {
        "pods",
        "daemonsets.apps",
        "deployments.apps",
        "jobs.batch",
        "cronjobs.batch",
        "customresourcedefinitions.apiextensions.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    }
)
"""The built-in kinds with a generation that counts the changes of their spec, as in kube-apiserver;
every custom resource has one."""
_POD_FIELDS = (
    "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork "
    "status.phase status.podIP status.nominatedNodeName"
)
_EVENT_FIELDS = (
    "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid "
    "involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath "
    "reason reportingComponent source source.component type"
)
_NEW_EVENT_FIELDS = (
    "regarding.kind regarding.namespace regarding.name regarding.uid regarding.apiVersion "
    "regarding.resourceVersion regarding.fieldPath reason reportingController type"
)
_SELECTABLE_FIELDS = {
    "pods": _POD_FIELDS,
    "events": _EVENT_FIELDS,
    "events.events.k8s.io": _NEW_EVENT_FIELDS,
    "services": "spec.clusterIP spec.type",
    "nodes": "spec.unschedulable",
    "secrets": "type",
    "namespaces": "status.phase",
    "jobs.batch": "status.successful",
}


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    group: str
    version: str
    kind: str
    plural: str
    singular: str
    list_kind: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    namespaced: bool
    subresources: tuple[str, ...] = ()
    """Only `status` is served; others are a 404 rather than half of the truth."""
    verbs: tuple[str, ...] = STANDARD_VERBS
    schema: Document
    columns: tuple[Column, ...]
    definition: str
    """The name of the schema in OpenAPI documents."""
    custom: bool = False
    has_generation: bool = False
    selectable_fields: tuple[str, ...] = ()
    """Beside metadata.name and metadata.namespace."""
    since_revision: int = 0
    """When the CRD last changed: older objects are read through its schema again."""
    deprecation: str = ""
    """What to warn about whenever this version is used."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def storage_name(self) -> str:
        """Where the objects of every version of it are: `daemonsets.apps`."""
        if self.group == event_forms.GROUP:
            return event_forms.STORAGE_NAME
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def is_review(self) -> bool:
        """A question that is answered, and never stored."""
        return self.verbs == ("create",)

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources


def builtin(kind: builtins.Kind) -> Resource:
    name = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    return Resource(
        group=kind.group,
        version=kind.version,
        kind=kind.kind,
        plural=kind.plural,
        singular=kind.singular,
        list_kind=f"{kind.kind}List",
        short_names=kind.short_names,
        categories=kind.categories,
        namespaced=kind.namespaced,
        subresources=tuple(each for each in kind.subresources if each == "status"),
        verbs=kind.verbs,
        schema=kind.schema,
        columns=kind.columns,
        definition=kind.definition,
        has_generation=name in _WITH_GENERATION,
        selectable_fields=tuple(_SELECTABLE_FIELDS.get(name, "").split()),
    )


class Registry:
    """The resources by the names that requests use."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._by_path: dict[tuple[str, str, str], Resource] = {}
        self._custom: dict[str, tuple[Resource, ...]] = {}
        self.epoch = 0
        """Grows with every change, so that documents made from the registry can be kept."""
        for resource in resources:
            self._add(resource)

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._by_path.values())

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._by_path.get((group, version, plural))

    def group_exists(self, group: str, version: str = "") -> bool:
        return any(each.group == group and version in ("", each.version) for each in self)

    def of_kind(self, api_version: str, kind: str) -> Resource | None:
        """The resource of an owner reference; any served version of the group will do."""
        group = api_version.rpartition("/")[0]
        found = [each for each in self if each.group == group and each.kind == kind]
        exact = [each for each in found if each.api_version == api_version]
        return next(iter(exact or found), None)

    def of_storage(self, storage_name: str) -> Resource | None:
        return next((each for each in self if each.storage_name == storage_name), None)

    def replace_custom(self, storage_name: str, resources: tuple[Resource, ...]) -> None:
        """Serves exactly these versions of one custom resource, and none when there are none."""
        for old in self._custom.pop(storage_name, ()):
            del self._by_path[old.group, old.version, old.plural]
        for resource in resources:
            self._add(resource)
        if resources:
            self._custom[storage_name] = resources
        self.epoch += 1

    def _add(self, resource: Resource) -> None:
        self._by_path[resource.group, resource.version, resource.plural] = resource
