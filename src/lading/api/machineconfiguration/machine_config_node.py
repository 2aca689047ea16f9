"""MachineConfigNode: what one node holds of the sets that it should, as it reports itself."""

from typing import Annotated, ClassVar

from lading.api.definitions import AGE, Column, Definition
from lading.api.machineconfiguration import group
from lading.kernel.conditions import Condition
from lading.kernel.fields import Field, Rule
from lading.kernel.objects import Model, Object, Resource

UID_LENGTH_MAX = 64  # a UUID has 36 characters


class NameRef(Model, frozen=True, kw_only=True):
    """A reference by name."""

    name: Annotated[
        str,
        Field(
            "The name of the Node, or of the pool.",
            min_length=1,
            max_length=group.NAME_LENGTH_MAX,
            pattern=group.SUBDOMAIN,
        ),
    ]


class ConfigVersion(Model, frozen=True, kw_only=True):
    """The rendered machine configuration; not used by Lading."""

    desired: Annotated[str, Field("What the node should have.", max_length=253)] = ""
    current: Annotated[str, Field("What the node has.", max_length=253)] = ""


class MachineConfigNodeSpec(Model, frozen=True, kw_only=True):
    """Which node this is about and the pool it belongs to."""

    node: Annotated[NameRef, Field("The node; its name is also this object's name.")]
    pool: Annotated[NameRef, Field("The node's pool.")]
    config_version: Annotated[
        ConfigVersion, Field("The rendered machine configuration; not used by Lading.")
    ] = ConfigVersion()


class NodePinnedImageSet(Model, frozen=True, kw_only=True):
    """The progress of the node with one set."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="has(self.desiredGeneration) && has(self.currentGeneration) ? "
            "self.desiredGeneration >= self.currentGeneration : true",
            message="desired generation must be greater than or equal to the current generation",
        ),
        Rule(
            rule="has(self.lastFailedGeneration) && has(self.desiredGeneration) ? "
            "self.desiredGeneration >= self.lastFailedGeneration : true",
            message="desired generation must be greater than or equal to the last failed "
            "generation",
        ),
        Rule(
            rule="has(self.lastFailedGeneration) ? has(self.desiredGeneration): true",
            message="desired generation must be defined if last failed generation is defined",
        ),
    )

    name: Annotated[
        str,
        Field(
            "The set's name.",
            min_length=1,
            max_length=group.NAME_LENGTH_MAX,
            pattern=group.SUBDOMAIN,
        ),
    ]
    uid: Annotated[
        str,
        Field(
            "The set's UID. A set that is deleted and created again has another UID.",
            max_length=UID_LENGTH_MAX,
        ),
    ] = ""
    current_generation: Annotated[
        int, Field("The last generation with all images pinned.", format="int32")
    ] = 0
    desired_generation: Annotated[
        int, Field("The generation that the node should pin.", minimum=0, format="int32")
    ] = 0
    image_count: Annotated[
        int, Field("Images of the desired generation.", minimum=0, format="int32")
    ] = 0
    present_image_count: Annotated[
        int,
        Field("Images of the desired generation that are on the node.", minimum=0, format="int32"),
    ] = 0
    missing_bytes: Annotated[
        int, Field("Compressed bytes that are still to be pulled; absent while unknown.", minimum=0)
    ] = 0
    pulling_image_count: Annotated[
        int,
        Field(
            "Images of the desired generation that are being pulled now.", minimum=0, format="int32"
        ),
    ] = 0
    pull_attempt: Annotated[
        int,
        Field(
            "The number of the current pull attempt, or of the next; the highest of all images.",
            minimum=0,
            format="int32",
        ),
    ] = 0
    next_pull_time: Annotated[
        str, Field("When the next pull is tried; absent while one runs.", format="date-time")
    ] = ""
    last_failed_generation: Annotated[
        int, Field("The last generation that failed.", minimum=0, format="int32")
    ] = 0
    last_failed_generation_errors: Annotated[
        tuple[str, ...],
        Field(
            "The errors, each with the image and the cause.",
            max_items=group.ERRORS_PER_SET_MAX,
            list_type="atomic",
            items=Field("One error.", max_length=32768),
        ),
    ] = ()


class MachineConfigNodeStatus(Model, frozen=True, kw_only=True):
    """What the node has done, as it reports itself."""

    observed_generation: Annotated[
        int, Field("The generation that was last observed.", minimum=0)
    ] = 0
    pinned_image_sets: Annotated[
        tuple[NodePinnedImageSet, ...],
        Field(
            "The node's sets.",
            max_items=group.SETS_PER_NODE_MAX,
            list_type="map",
            list_map_keys=("name",),
        ),
    ] = ()
    config_version: Annotated[
        ConfigVersion, Field("The rendered machine configuration; not used by Lading.")
    ] = ConfigVersion()
    conditions: Annotated[
        tuple[Condition, ...],
        Field(
            "PinnedImageSetsProgressing, PinnedImageSetsDegraded, and conditions of other writers.",
            max_items=20,
            list_type="map",
            list_map_keys=("type",),
        ),
    ] = ()


class MachineConfigNode(Object, frozen=True, kw_only=True):
    """Which images of its sets one node holds."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="self.metadata.name == self.spec.node.name",
            message="spec.node.name should match metadata.name",
        ),
    )

    spec: Annotated[MachineConfigNodeSpec, Field("The node and its pool.")]
    status: Annotated[MachineConfigNodeStatus, Field("What the node reports.")] = (
        MachineConfigNodeStatus()
    )


MACHINE_CONFIG_NODE = Definition(
    group=group.NAME,
    versions=("v1alpha1", "v1"),
    kind="MachineConfigNode",
    plural="machineconfignodes",
    short_names=("mcn",),
    namespaced=False,
    type=MachineConfigNode,
    columns=(
        Column(
            name="Pool",
            type="string",
            json_path=".spec.pool.name",
            description="The node's pool.",
        ),
        Column(
            name="Progressing",
            type="string",
            json_path='.status.conditions[?(@.type=="PinnedImageSetsProgressing")].status',
            description="Whether images are being pulled or pinned.",
        ),
        Column(
            name="Degraded",
            type="string",
            json_path='.status.conditions[?(@.type=="PinnedImageSetsDegraded")].status',
            description="Whether a set has a problem.",
        ),
        Column(
            name="Message",
            type="string",
            json_path='.status.conditions[?(@.type=="PinnedImageSetsProgressing")].message',
            description="The progress of the node.",
            priority=1,
        ),
        AGE,
    ),
)
MACHINE_CONFIG_NODES: Resource[MachineConfigNode] = MACHINE_CONFIG_NODE.resource()
