"""MachineConfigPool: nodes that are configured alike, and the sets of images that they hold."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar

from lading.api.definitions import AGE, Column, Definition
from lading.api.machineconfiguration import group
from lading.kernel.conditions import Condition
from lading.kernel.fields import Field, Rule
from lading.kernel.objects import Model, Object, OwnedMeta, Resource
from lading.kernel.selectors import LabelSelector


class PinnedImageSetRef(Model, frozen=True, kw_only=True):
    """A reference to a PinnedImageSet."""

    name: Annotated[
        str,
        Field(
            "The set's name.",
            min_length=1,
            max_length=group.NAME_LENGTH_MAX,
            pattern=group.SUBDOMAIN,
        ),
    ]


class MachineConfigPoolSpec(Model, frozen=True, kw_only=True):
    """Which nodes are in the pool and which sets they hold."""

    machine_config_selector: Annotated[
        LabelSelector | None, Field("The labels of the sets that belong to the pool.")
    ] = None
    node_selector: Annotated[LabelSelector | None, Field("The labels of the pool's nodes.")] = None
    pinned_image_sets: Annotated[
        tuple[PinnedImageSetRef, ...],
        Field(
            "The sets that the pool's nodes hold. Lading adds the sets that match "
            "machineConfigSelector; you can add others.",
            max_items=group.SETS_PER_POOL_MAX,
            list_type="map",
            list_map_keys=("name",),
        ),
    ] = ()
    max_unavailable: Annotated[
        int | str | None,
        Field("How many nodes may be unavailable during an update; not used by Lading."),
    ] = None
    paused: Annotated[bool, Field("Whether updates are paused; not used by Lading.")] = False
    configuration: Annotated[
        dict[str, Any], Field("The machine configuration; not used by Lading.")
    ] = {}


class PoolSynchronizerType(StrEnum):
    PINNED_IMAGE_SETS = "PinnedImageSets"


_COUNTS_AT_MOST_ALL = tuple(
    Rule(
        rule=f"self.machineCount >= self.{part}MachineCount",
        message=f"machineCount must be greater than or equal to {part}MachineCount",
    )
    for part in ("updated", "available", "unavailable", "ready")
)


class PoolSynchronizerStatus(Model, frozen=True, kw_only=True):
    """The progress of one synchronizer on the pool's machines."""

    rules: ClassVar[tuple[Rule, ...]] = (
        *_COUNTS_AT_MOST_ALL,
        Rule(
            rule="self.availableMachineCount >= self.readyMachineCount",
            message="availableMachineCount must be greater than or equal to readyMachineCount",
        ),
    )

    pool_synchronizer_type: Annotated[
        PoolSynchronizerType, Field("What is synchronized.", max_length=256)
    ]
    machine_count: Annotated[int, Field("Machines in the pool.", minimum=0)]
    updated_machine_count: Annotated[
        int, Field("Machines that have pinned all images of their sets.", minimum=0)
    ]
    ready_machine_count: Annotated[
        int, Field("Updated machines with a node that is ready.", minimum=0)
    ]
    available_machine_count: Annotated[int, Field("Machines with a node that is ready.", minimum=0)]
    unavailable_machine_count: Annotated[
        int, Field("Machines with a node that is not ready.", minimum=0)
    ]
    observed_generation: Annotated[
        int,
        Field(
            "The last generation of the pool that all its machines have.",
            minimum=0,
            rules=(
                Rule(
                    rule="self >= oldSelf || (self == 0 && oldSelf > 0)",
                    message="observedGeneration must not move backwards except to zero",
                ),
            ),
        ),
    ] = 0


class MachineConfigPoolStatus(Model, frozen=True, kw_only=True):
    """The progress of the pool's machines."""

    observed_generation: Annotated[
        int, Field("The generation that was last observed.", minimum=0)
    ] = 0
    machine_count: Annotated[int, Field("Machines in the pool.", minimum=0)] = 0
    ready_machine_count: Annotated[int, Field("Machines that are ready.", minimum=0)] = 0
    pool_synchronizers_status: Annotated[
        tuple[PoolSynchronizerStatus, ...],
        Field(
            "The progress of each type of content; only PinnedImageSets so far.",
            max_items=16,
            list_type="map",
            list_map_keys=("poolSynchronizerType",),
        ),
    ] = ()
    conditions: Annotated[
        tuple[Condition, ...],
        Field(
            "Degraded, and conditions of other writers.",
            max_items=20,
            list_type="map",
            list_map_keys=("type",),
        ),
    ] = ()


class MachineConfigPool(Object, frozen=True, kw_only=True):
    """A group of nodes with the same configuration and the same sets of images."""

    metadata: OwnedMeta = OwnedMeta()
    spec: Annotated[
        MachineConfigPoolSpec, Field("Which nodes are in the pool and which sets they hold.")
    ]
    status: Annotated[MachineConfigPoolStatus, Field("The progress of the pool's machines.")] = (
        MachineConfigPoolStatus()
    )

    @property
    def is_configured_by_another_operator(self) -> bool:
        """Only OpenShift's operator renders a configuration, and it reports on the pool itself."""
        return bool(self.spec.configuration)


MACHINE_CONFIG_POOL = Definition(
    group=group.NAME,
    versions=("v1",),
    kind="MachineConfigPool",
    plural="machineconfigpools",
    short_names=("mcp",),
    namespaced=False,
    type=MachineConfigPool,
    columns=(
        Column(
            name="Machines",
            type="integer",
            json_path=".status.poolSynchronizersStatus[0].machineCount",
            description="Machines in the pool.",
        ),
        Column(
            name="Updated",
            type="integer",
            json_path=".status.poolSynchronizersStatus[0].updatedMachineCount",
            description="Machines that have pinned all images of their sets.",
        ),
        Column(
            name="Degraded",
            type="string",
            json_path='.status.conditions[?(@.type=="Degraded")].status',
            description="Whether a feature reports an error about the pool.",
        ),
        AGE,
    ),
)
MACHINE_CONFIG_POOLS: Resource[MachineConfigPool] = MACHINE_CONFIG_POOL.resource()
