"""PinnedImageSet: images that every node of a pool holds, protected from garbage collection.

The fields are the design's; `nodeSelector`, `tags`, `runtimeClassNames` and the status are ours and
optional, so that objects written for OpenShift mean here what they mean there.
"""

from typing import Annotated

from lading.api.definitions import AGE, Column, Definition
from lading.api.machineconfiguration import group
from lading.kernel.conditions import Condition
from lading.kernel.fields import Field, Rule
from lading.kernel.objects import Model, Object, Resource
from lading.kernel.selectors import LabelSelector

IMAGES_PER_SET_MAX = 500

_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_PORT = ":[0-9]{1,5}"
_HOST = (
    rf"(?:{_LABEL}(?:\\.{_LABEL})+(?:{_PORT})?|localhost(?:{_PORT})?|{_LABEL}{_PORT}"
    rf"|\\[[0-9a-fA-F:.]+\\](?:{_PORT})?)"
)
_COMPONENT = r"[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*"

IMAGE_DIGEST_RULE = Rule(
    rule="self.split('@').size() == 2 && self.split('@')[1].matches('^sha256:[a-f0-9]{64}$')",
    message=(
        "the OCI Image reference must end with a valid '@sha256:<digest>' suffix, "
        "where '<digest>' is 64 characters long"
    ),
)
IMAGE_NAME_RULE = Rule(
    rule=f"self.split('@')[0].matches('^{_HOST}(?:/{_COMPONENT})+$')",
    message=(
        "the OCI Image name must be host[:port]/path, where the host is a domain, localhost or an "
        "IP address and every part of the path is lower case, without a tag"
    ),
)


TAG_PATTERN = "^[a-zA-Z0-9_][a-zA-Z0-9_.-]*$"


class PinnedImage(Model, frozen=True, kw_only=True):
    """An image to preload and pin."""

    name: Annotated[
        str,
        Field(
            "The image by digest: host[:port]/path@sha256:<64 hexadecimal characters>.",
            min_length=1,
            max_length=447,
            rules=(IMAGE_DIGEST_RULE, IMAGE_NAME_RULE),
        ),
    ]
    tags: Annotated[
        tuple[str, ...],
        Field(
            "The tags by which pods ask for the image, in its repository. On the nodes, each of "
            "them means exactly this image.",
            max_items=16,
            list_type="set",
            items=Field("A tag.", min_length=1, max_length=128, pattern=TAG_PATTERN),
        ),
    ] = ()
    runtime_class_names: Annotated[
        tuple[str, ...],
        Field(
            "The runtime classes that the image is pulled for, each for its guest platform. "
            "Empty: the node's default runtime.",
            max_items=16,
            list_type="set",
            items=Field(
                "The name of a RuntimeClass.", min_length=1, max_length=group.NAME_LENGTH_MAX
            ),
        ),
    ] = ()


class PinnedImageSetSpec(Model, frozen=True, kw_only=True):
    """The images that the nodes of a pool must hold."""

    pinned_images: Annotated[
        tuple[PinnedImage, ...],
        Field(
            "The images to preload and pin, each at most once.",
            min_items=1,
            max_items=IMAGES_PER_SET_MAX,
            list_type="map",
            list_map_keys=("name",),
        ),
    ]
    node_selector: Annotated[
        LabelSelector | None,
        Field("Restricts the set to nodes with these labels, within its pools."),
    ] = None


class NodeFailure(Model, frozen=True, kw_only=True):
    """Why a node does not hold the set."""

    node: Annotated[str, Field("The node's name.", max_length=group.NAME_LENGTH_MAX)]
    message: Annotated[str, Field("The error, with the image.", max_length=1024)]


class PinnedImageSetStatus(Model, frozen=True, kw_only=True):
    """How far the nodes are, summed up; each node says more in its MachineConfigNode."""

    observed_generation: Annotated[
        int, Field("The generation that the counts are about.", minimum=0)
    ] = 0
    node_count: Annotated[int, Field("Nodes that must hold the set.", minimum=0)] = 0
    ready_node_count: Annotated[
        int, Field("Nodes where all images of this generation are pinned.", minimum=0)
    ] = 0
    failed_node_count: Annotated[int, Field("Nodes that report an error.", minimum=0)] = 0
    failures: Annotated[
        tuple[NodeFailure, ...],
        Field(
            "The last error of each node; the first ten nodes.",
            max_items=group.ERRORS_PER_SET_MAX,
            list_type="map",
            list_map_keys=("node",),
        ),
    ] = ()
    conditions: Annotated[
        tuple[Condition, ...],
        Field("Ready and Degraded.", max_items=8, list_type="map", list_map_keys=("type",)),
    ] = ()


class PinnedImageSet(Object, frozen=True, kw_only=True):
    """A set of images that is on every node of its pools, protected from garbage collection."""

    spec: Annotated[PinnedImageSetSpec, Field("The images that the nodes of a pool must hold.")]
    status: Annotated[PinnedImageSetStatus, Field("The progress of all nodes together.")] = (
        PinnedImageSetStatus()
    )


PINNED_IMAGE_SET = Definition(
    group=group.NAME,
    versions=("v1alpha1", "v1"),
    kind="PinnedImageSet",
    plural="pinnedimagesets",
    short_names=("pis",),
    namespaced=False,
    type=PinnedImageSet,
    columns=(
        Column(
            name="Nodes",
            type="integer",
            json_path=".status.nodeCount",
            description="Nodes that must hold the set.",
        ),
        Column(
            name="Ready",
            type="integer",
            json_path=".status.readyNodeCount",
            description="Nodes where all images are pinned.",
        ),
        Column(
            name="Failed",
            type="integer",
            json_path=".status.failedNodeCount",
            description="Nodes that report an error.",
        ),
        AGE,
    ),
)
PINNED_IMAGE_SETS: Resource[PinnedImageSet] = PINNED_IMAGE_SET.resource()
