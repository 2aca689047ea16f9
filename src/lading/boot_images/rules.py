"""Which machine sets may be updated: scope, enrolment and the skip rules, in order. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from lading.api.cluster_api import Cluster
from lading.api.machine import MachineSet
from lading.api.openshift_config import Infrastructure
from lading.api.operator import (
    MachineConfiguration,
    MachineManager,
    ManagedBootImageConfig,
    Mode,
    SelectionMode,
)
from lading.boot_images import templates
from lading.boot_images.machine_specs import whole
from lading.boot_images.platforms.types import Api, Path, value_at
from lading.boot_images.types import (
    FIELD_MANAGER,
    NOT_PAUSED,
    PAUSE_ANNOTATION,
    PAUSED,
    BootImageSettings,
    ObservedMachineSets,
)
from lading.boot_images.verdicts import NotUpdated, Why
from lading.kernel.errors import Malformed
from lading.kernel.objects import ManagedFields
from lading.kernel.selectors import LabelSelector, Selector

NAMES = ("default", "cluster")
ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64", "ppc64le": "ppc64le", "s390x": "s390x"}
ARCHITECTURE_ANNOTATION = "capacity.cluster-autoscaler.kubernetes.io/labels"
ARCHITECTURE_LABEL = "kubernetes.io/arch="
CONTROL_PLANE_LABELS = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
OS_LABEL = "machine.openshift.io/os-id"
DEPLOYMENT_LABEL = "cluster.x-k8s.io/deployment-name"
CLUSTER_PAUSE_ANNOTATION = "cluster.x-k8s.io/paused"


class Enrolment(msgspec.Struct, frozen=True, kw_only=True):
    """Which machine sets the administrator enrolled; `problem` says why there are none."""

    mode: Mode = Mode.DISABLED
    selectors: Mapping[Api, Selector] = {}
    source: str = ""
    problem: str = ""
    why: Why = Why.NOT_ENROLLED
    is_reporting_only: bool = False

    def includes(self, api: Api, machine_set: MachineSet) -> bool:
        selector = self.selectors.get(api)
        return selector is not None and selector.matches(machine_set.metadata.labels)

    def reason_to_skip(self, api: Api, machine_set: MachineSet) -> NotUpdated | None:
        if self.includes(api, machine_set) and not self.is_reporting_only:
            return None
        message = self.problem or f"{self.source} does not select this machine set"
        return NotUpdated(self.why, message)


EVERY_MACHINE_SET = Enrolment(mode=Mode.ENABLED, selectors=dict.fromkeys(Api, Selector()))


def enrolment(configurations: Iterable[MachineConfiguration]) -> Enrolment:
    """Two opt-ins enrol no machine set, because Lading cannot know which one counts."""
    known = sorted(
        (one for one in configurations if one.metadata.name in NAMES),
        key=lambda one: NAMES.index(one.metadata.name),
    )
    found = [opt_in for one in known for opt_in in _opt_ins(one)]
    if len(found) > 1:
        sources = " and ".join(one.source for one in found)
        message = f"{sources} both decide about boot images; keep one of them"
        return Enrolment(problem=message, why=Why.OPT_IN_AMBIGUOUS)
    chosen = found[0] if found else Enrolment(problem="no MachineConfiguration enrols machine sets")
    if any(one.status.managed_boot_images_status.get("machineManagers") for one in known):
        return Enrolment(
            mode=chosen.mode,
            source=chosen.source,
            problem="OpenShift's operator manages the boot images of this cluster",
            why=Why.OTHER_OPERATOR,
            is_reporting_only=True,
        )
    return chosen


def _opt_ins(configuration: MachineConfiguration) -> Iterable[Enrolment]:
    spec, name = configuration.spec, configuration.metadata.name
    for key, form in (
        ("managedBootImageConfig", spec.managed_boot_image_config),
        ("managedBootImages", spec.managed_boot_images),
    ):
        if form is None:
            continue
        source = f"spec.{key} of MachineConfiguration {name}"
        try:
            selectors = (
                _of_config(form)
                if isinstance(form, ManagedBootImageConfig)
                else _of_managers(form.machine_managers)
            )
        except Malformed as error:
            yield Enrolment(problem=f"{source}: {error.reason}", source=source)
            continue
        everything = all(not one.requirements for one in selectors.values())
        mode = Mode.ENABLED if everything else Mode.MATCH_SELECTOR
        yield Enrolment(
            mode=mode if selectors else Mode.DISABLED,
            selectors=selectors,
            source=source,
            problem="" if selectors else f"{source} enrols no machine set",
        )


def _of_config(config: ManagedBootImageConfig) -> dict[Api, Selector]:
    match config.mode:
        case Mode.ENABLED:
            return dict.fromkeys(Api, Selector())
        case Mode.MATCH_SELECTOR:
            return dict.fromkeys(Api, _selector(config.match_selector))
        case Mode.DISABLED:
            return {}


def _of_managers(managers: Iterable[MachineManager]) -> dict[Api, Selector]:
    found = {}
    for one in managers:
        if one.resource != "machinesets" or one.api_group not in list(Api):
            continue
        if one.selection.mode is SelectionMode.ALL:
            found[Api(one.api_group)] = Selector()
        elif one.selection.mode is SelectionMode.PARTIAL:
            partial = one.selection.partial
            selector = partial.machine_resource_selector if partial else None
            found[Api(one.api_group)] = _selector(selector)
    return found


def _selector(selector: LabelSelector | None) -> Selector:
    """An empty selector is refused: it would enrol every machine set, as mode Enabled does."""
    found = Selector.of(selector or LabelSelector())
    if not found.requirements:
        raise Malformed(what="label selector", text="", reason="the selector is empty")
    return found


def cluster_name(observed: ObservedMachineSets, settings: BootImageSettings) -> str:
    return settings.cluster_name or infrastructure_name(observed)


def infrastructure_name(observed: ObservedMachineSets) -> str:
    return name_of(observed.infrastructure)


def name_of(infrastructure: Infrastructure | None) -> str:
    status = infrastructure.status if infrastructure is not None else None
    return status.infrastructure_name if status is not None else ""


def region(observed: ObservedMachineSets) -> str:
    """The region of the cluster, on platforms that have regions."""
    infrastructure = observed.infrastructure
    status = infrastructure.status if infrastructure is not None else None
    platform = status.platform_status if status is not None else None
    if platform is None:
        return ""
    if platform.aws is not None:
        return platform.aws.region
    return platform.powervs.region if platform.powervs is not None else ""


def is_in_scope(
    machine_set: MachineSet, observed: ObservedMachineSets, settings: BootImageSettings
) -> bool:
    """A management cluster also has machine sets of other clusters."""
    if machine_set.metadata.namespace not in settings.namespaces(observed.api):
        return False
    if observed.api is Api.MACHINE:
        return True
    name = cluster_name(observed, settings)
    return bool(name) and value_at(whole(machine_set), ("spec", "clusterName")) == name


def reason_to_skip(
    machine_set: MachineSet, observed: ObservedMachineSets, settings: BootImageSettings
) -> NotUpdated | None:
    """The first rule that forbids an update."""
    metadata, api = machine_set.metadata, observed.api
    if metadata.deletion_timestamp:
        return NotUpdated(Why.DELETING, "the machine set is being deleted")
    deployment = metadata.labels.get(DEPLOYMENT_LABEL)
    if api is Api.CLUSTER and deployment is not None:
        _, _, template = templates.reference_of(machine_set)
        return NotUpdated(
            Why.DEPLOYMENT,
            f"MachineDeployment {deployment} rolls its machines out; to update them, point it to "
            f"a copy of template {template} with the new image",
        )
    for owner in metadata.owner_references:
        group, name = owner.api_version.partition("/")[0], cluster_name(observed, settings)
        is_cluster = (group, owner.kind, owner.name) == (Api.CLUSTER, "Cluster", name)
        if api is Api.MACHINE or not is_cluster:
            return NotUpdated(Why.OWNED, f"{owner.kind} {owner.name} owns the machine set")
    if observed.cluster_pause is not None:
        return observed.cluster_pause
    pause = metadata.annotations.get(PAUSE_ANNOTATION, NOT_PAUSED[0])
    if pause not in NOT_PAUSED:
        note = "" if pause == PAUSED else f"; any value of {PAUSE_ANNOTATION} but active pauses"
        message = f"boot image updates are paused; see `lading bootimage resume`{note}"
        return NotUpdated(Why.PAUSED, message)
    if CLUSTER_PAUSE_ANNOTATION in metadata.annotations:
        return NotUpdated(
            Why.PAUSED, f"annotation {CLUSTER_PAUSE_ANNOTATION} pauses the machine set"
        )
    labels = value_at(whole(machine_set), ("spec", "template", "metadata", "labels"))
    if isinstance(labels, dict) and labels.get(OS_LABEL) == "Windows":
        return NotUpdated(Why.WINDOWS, "Windows machines do not boot this image")
    authority, own = authority_of(machine_set), "MachineAPI"
    if api is Api.CLUSTER:
        authority, own = observed.other_machine_sets.get(metadata.name, ""), "ClusterAPI"
    if authority not in ("", own):
        message = f"the authoritative API of this machine set is {authority}"
        return NotUpdated(Why.MIRROR, message)
    return None


def is_paused(cluster: Cluster) -> bool:
    is_annotated = CLUSTER_PAUSE_ANNOTATION in cluster.metadata.annotations
    return is_annotated or value_at(cluster.spec, ("paused",)) is True


def authority_of(machine_set: MachineSet) -> str:
    """If a set exists in both APIs, the authority is the original and the other is a mirror."""
    for part in ("status", "spec"):
        found = value_at(whole(machine_set), (part, "authoritativeAPI"))
        if isinstance(found, str) and found:
            return found
    return ""


def architecture(
    machine_set: MachineSet, of_cluster: str, template_status: Any = None
) -> str | NotUpdated:
    """The name that RPM uses, if it is certain."""
    annotation = machine_set.metadata.annotations.get(ARCHITECTURE_ANNOTATION)
    if annotation is not None:
        labels = (item.strip() for item in annotation.split(","))
        named = next((one for one in labels if one.startswith(ARCHITECTURE_LABEL)), None)
        if named is None:
            message = f"annotation {ARCHITECTURE_ANNOTATION} names no kubernetes.io/arch"
            return NotUpdated(Why.ARCHITECTURE_UNKNOWN, message)
        return _rpm_name(named.removeprefix(ARCHITECTURE_LABEL))
    reported = value_at(template_status, ("nodeInfo", "architecture"))
    if isinstance(reported, str) and reported:
        return _rpm_name(reported)
    if not of_cluster:
        message = (
            "the architecture of the machines is not known; "
            f"name it in annotation {ARCHITECTURE_ANNOTATION}"
        )
        return NotUpdated(Why.ARCHITECTURE_UNKNOWN, message)
    return _rpm_name(of_cluster)


def _rpm_name(name: str) -> str | NotUpdated:
    if name not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        message = f"the machine set names an unknown architecture; expected one of {known}"
        return NotUpdated(Why.ARCHITECTURE_UNKNOWN, message)
    return ARCHITECTURES[name]


def cluster_architecture(observed: ObservedMachineSets) -> str:
    """The architecture of the control plane, in Kubernetes' words; empty if it is not certain."""
    version = observed.cluster_version
    desired = version.status.desired if version is not None and version.status else None
    if desired is not None and desired.architecture == "Multi":
        return ""
    planes = {
        node.status.node_info.architecture
        for node in observed.nodes
        if any(label in node.metadata.labels for label in CONTROL_PLANE_LABELS)
    }
    everywhere = planes or {node.status.node_info.architecture for node in observed.nodes}
    return everywhere.pop() if len(everywhere) == 1 else ""


def appliers(machine_set: MachineSet, path: Path) -> dict[int, str]:
    """The other managers that server-side apply this field, by the index of their entry."""
    return {
        index: entry.manager
        for index, entry in enumerate(machine_set.metadata.managed_fields)
        if entry.operation == "Apply" and entry.manager != FIELD_MANAGER and _owns(entry, path)
    }


def _owns(entry: ManagedFields, path: Path) -> bool:
    """Lists and untyped values have one owner: their entry ends above the field."""
    fields: Any = entry.fields_v1
    for depth, step in enumerate(path):
        if isinstance(step, int) or (depth and fields == {}):
            return True
        fields = fields.get(f"f:{step}") if isinstance(fields, dict) else None
        if fields is None:
            return False
    return True


def other_owner(machine_set: MachineSet, path: Path) -> str:
    """The other manager that wrote this field, as far as the managed fields tell."""
    owners = [
        one.manager
        for one in machine_set.metadata.managed_fields
        if not one.subresource and one.manager != FIELD_MANAGER and _owns(one, path)
    ]
    return next((one for one in reversed(owners) if one), "another writer")
