"""operator.openshift.io: MachineConfiguration, by which an administrator enrols machine sets."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar

from lading.api.definitions import AGE, Column, Definition
from lading.kernel.conditions import Condition
from lading.kernel.fields import Field, Rule
from lading.kernel.objects import Model, Object, Resource
from lading.kernel.selectors import LabelSelector

GROUP = "operator.openshift.io"


def _selects(selector: str) -> str:
    """A rule that holds when the selector at this path asks for something."""
    return (
        f"(has({selector}.matchLabels) && size({selector}.matchLabels) > 0) || "
        f"(has({selector}.matchExpressions) && size({selector}.matchExpressions) > 0)"
    )


class Mode(StrEnum):
    """Which machine sets are enrolled."""

    ENABLED = "Enabled"
    MATCH_SELECTOR = "MatchSelector"
    DISABLED = "Disabled"


class ManagedBootImageConfig(Model, frozen=True, kw_only=True):
    """Which machine sets are kept at the boot image of the release."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="self.mode == 'MatchSelector' ? has(self.matchSelector) : "
            "!has(self.matchSelector)",
            message="matchSelector is required with mode MatchSelector and not allowed with other "
            "modes",
        ),
        Rule(
            rule=f"!has(self.matchSelector) || {_selects('self.matchSelector')}",
            message="matchSelector must not be empty; use mode Enabled for all machine sets",
        ),
    )

    mode: Annotated[
        Mode, Field("Enabled: all machine sets. MatchSelector: those selected. Disabled: none.")
    ]
    match_selector: Annotated[
        LabelSelector | None, Field("The labels of the machine sets, with mode MatchSelector.")
    ] = None


class SelectionMode(StrEnum):
    ALL = "All"
    PARTIAL = "Partial"
    NONE = "None"


class PartialSelector(Model, frozen=True, kw_only=True):
    """Some machine sets."""

    machine_resource_selector: Annotated[
        LabelSelector | None, Field("The labels of the machine sets.")
    ] = None


class MachineManagerSelector(Model, frozen=True, kw_only=True):
    """Which objects of a resource are enrolled."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="self.mode == 'Partial' ? has(self.partial) : !has(self.partial)",
            message="partial is required with mode Partial and not allowed with other modes",
        ),
    )

    mode: Annotated[SelectionMode, Field("All, Partial or None: which objects are enrolled.")]
    partial: Annotated[PartialSelector | None, Field("The objects, with mode Partial.")] = None


class MachineManager(Model, frozen=True, kw_only=True):
    """The enrolment of one resource."""

    resource: Annotated[str, Field("The resource, for example machinesets.", max_length=253)]
    api_group: Annotated[str, Field("The API group of the resource.", max_length=253)]
    selection: Annotated[MachineManagerSelector, Field("Which objects are enrolled.")]


class ManagedBootImages(Model, frozen=True, kw_only=True):
    """The form of the opt-in that OpenShift ships."""

    machine_managers: Annotated[
        tuple[MachineManager, ...],
        Field(
            "Which objects are enrolled, for each resource.",
            max_items=5,
            list_type="map",
            list_map_keys=("resource", "apiGroup"),
        ),
    ] = ()


class MachineConfigurationSpec(Model, frozen=True, kw_only=True):
    """What the administrator wants. Only one of the two forms may be used."""

    managed_boot_image_config: Annotated[
        ManagedBootImageConfig | None, Field("Which machine sets are kept up to date.")
    ] = None
    managed_boot_images: Annotated[
        ManagedBootImages | None,
        Field("The same as managedBootImageConfig, in OpenShift's form. Use only one of the two."),
    ] = None


class BootImageUpdates(Model, frozen=True, kw_only=True):
    """The enrolment that is in effect."""

    mode: Annotated[str, Field("Enabled, MatchSelector or Disabled.", max_length=64)] = ""
    selector: Annotated[str, Field("The labels, with mode MatchSelector.", max_length=16384)] = ""
    source: Annotated[str, Field("The field that enrols machine sets.", max_length=1024)] = ""


class MachineConfigurationStatus(Model, frozen=True, kw_only=True):
    """What is in force and how far it is."""

    observed_generation: Annotated[
        int, Field("The generation that was last reconciled.", minimum=0)
    ] = 0
    boot_image_updates: Annotated[
        BootImageUpdates | None, Field("The enrolment that is in effect.")
    ] = None
    managed_boot_images_status: Annotated[
        dict[str, Any], Field("Written by OpenShift's operator; read by Lading.")
    ] = {}
    conditions: Annotated[
        tuple[Condition, ...],
        Field(
            "BootImageUpdateProgressing, BootImageUpdateDegraded.",
            max_items=20,
            list_type="map",
            list_map_keys=("type",),
        ),
    ] = ()


class MachineConfiguration(Object, frozen=True, kw_only=True):
    """Which machine sets are kept at the boot image of the release."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="self.metadata.name in ['default', 'cluster']",
            message="the object must be named default or cluster",
        ),
    )

    spec: Annotated[MachineConfigurationSpec, Field("The settings.")] = MachineConfigurationSpec()
    status: Annotated[MachineConfigurationStatus, Field("The settings in effect.")] = (
        MachineConfigurationStatus()
    )


MACHINE_CONFIGURATION = Definition(
    group=GROUP,
    versions=("v1",),
    kind="MachineConfiguration",
    plural="machineconfigurations",
    short_names=(),
    namespaced=False,
    type=MachineConfiguration,
    columns=(
        Column(
            name="Mode",
            type="string",
            json_path=".status.bootImageUpdates.mode",
            description="Which machine sets are enrolled.",
        ),
        Column(
            name="Progress",
            type="string",
            json_path='.status.conditions[?(@.type=="BootImageUpdateProgressing")].message',
            description="How many machine sets boot the image of the release.",
        ),
        Column(
            name="Degraded",
            type="string",
            json_path='.status.conditions[?(@.type=="BootImageUpdateDegraded")].status',
            description="Whether a machine set cannot be updated.",
        ),
        AGE,
    ),
)
MACHINE_CONFIGURATIONS: Resource[MachineConfiguration] = MACHINE_CONFIGURATION.resource()
