"""longhorn.io: Image, which is held on every worker node, and the Setting that turns it off.

Names and fields are the design's. `imageURL`, the counts, the conditions and the failures are ours.
"""

from enum import StrEnum
from typing import Annotated, ClassVar

import msgspec

from lading.api.definitions import AGE, Column, Definition
from lading.kernel.conditions import Condition
from lading.kernel.fields import Field, Rule
from lading.kernel.objects import Model, Object, Resource

GROUP = "longhorn.io"
VERSION = "v1beta2"
SETTING_NAME = "start-pre-pull-manager-images"
FAILURES_MAX = 100
FAILURE_CHARACTERS_MAX = 512
URL_CHARACTERS_MAX = 1024

_LABEL = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = rf"(?:{_LABEL}(?:\\.{_LABEL})*|\\[[0-9a-fA-F:.]+\\])(?::[0-9]{{1,5}})?"
_COMPONENT = r"[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*"
_TAG = "(?::[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?"
_DIGEST = "(?:@(?:sha256:[a-f0-9]{64}|sha512:[a-f0-9]{128}))?"
_URL_RULE = Rule(
    rule=f"self.matches('^(?:{_HOST}/)?{_COMPONENT}(?:/{_COMPONENT})*{_TAG}{_DIGEST}$')",
    message=(
        "must be an image reference, for example registry.example.com/team/app:1.0 or "
        "registry.example.com/team/app@sha256:<64 hexadecimal characters>"
    ),
)


class ImageState(StrEnum):
    """Whether the worker nodes hold the image."""

    DEPLOYING = "deploying"
    DEPLOYED = "deployed"
    ERROR = "error"
    UNKNOWN = "unknown"


class ImageSpec(Model, frozen=True, kw_only=True):
    """The image to hold. Exactly one of the two fields is set."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="has(self.imageURL) != has(self.instanceManagerImage)",
            message="exactly one of imageURL and instanceManagerImage must be set",
        ),
    )
    image_url: Annotated[
        str,
        Field(
            "The image, as in a container: any reference that a kubelet accepts.",
            min_length=1,
            max_length=URL_CHARACTERS_MAX,
            rules=(_URL_RULE,),
        ),
    ] = msgspec.field(name="imageURL", default="")
    instance_manager_image: Annotated[
        str,
        Field(
            "Another name for imageURL, from the design of Longhorn.",
            min_length=1,
            max_length=URL_CHARACTERS_MAX,
            rules=(_URL_RULE,),
        ),
    ] = ""

    @property
    def url(self) -> str:
        return self.image_url or self.instance_manager_image


class ImageFailure(Model, frozen=True, kw_only=True):
    """Why a node does not hold the image."""

    node: Annotated[str, Field("The node's name.", max_length=253)]
    reason: Annotated[str, Field("The cause, as one word.", max_length=64)]
    message: Annotated[str, Field("What the node reports.", max_length=FAILURE_CHARACTERS_MAX)] = ""


class ImageStatus(Model, frozen=True, kw_only=True):
    """Where the image is held."""

    owner_id: Annotated[
        str, Field("The node of the controller that handles the image.", max_length=253)
    ] = msgspec.field(name="ownerID", default="")
    state: Annotated[str, Field("deploying, deployed, error or unknown.", max_length=64)] = ""
    node_deployment_map: Annotated[
        dict[str, bool],
        Field("Whether each worker node holds the image.", map_type="atomic"),
    ] = {}
    observed_generation: Annotated[
        int, Field("The generation that the status is about.", minimum=0)
    ] = 0
    node_count: Annotated[int, Field("Worker nodes.", minimum=0)] = 0
    deployed_node_count: Annotated[int, Field("Worker nodes that hold the image.", minimum=0)] = 0
    failed_node_count: Annotated[int, Field("Worker nodes with an error.", minimum=0)] = 0
    failures: Annotated[
        tuple[ImageFailure, ...],
        Field(
            f"The errors by node; the first {FAILURES_MAX}.",
            max_items=FAILURES_MAX,
            list_type="atomic",
        ),
    ] = ()
    conditions: Annotated[
        tuple[Condition, ...],
        Field(
            "Deployed, PrePullEnabled and HeldAsImageVolume.",
            max_items=20,
            list_type="map",
            list_map_keys=("type",),
        ),
    ] = ()


class Image(Object, frozen=True, kw_only=True):
    """An image that every worker node pulls and holds."""

    spec: Annotated[ImageSpec, Field("The image to hold.")] = ImageSpec()
    status: Annotated[ImageStatus, Field("Where the image is held.")] = ImageStatus()


class Setting(Object, frozen=True, kw_only=True):
    """Whether images are pre-pulled; other Settings are those of Longhorn."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule=f"self.metadata.name != '{SETTING_NAME}' || self.value in ['true', 'false']",
            message="value must be the string 'true' or 'false'",
        ),
    )
    value: Annotated[str, Field(f"Of {SETTING_NAME}: the string 'true' or 'false'.")] = ""


IMAGE = Definition(
    group=GROUP,
    versions=(VERSION,),
    kind="Image",
    plural="images",
    short_names=("lhimg",),
    namespaced=True,
    type=Image,
    columns=(
        Column(
            name="State",
            type="string",
            json_path=".status.state",
            description="Whether all worker nodes hold the image.",
        ),
        Column(
            name="Held",
            type="integer",
            json_path=".status.deployedNodeCount",
            description="Worker nodes that hold the image.",
        ),
        Column(
            name="Nodes",
            type="integer",
            json_path=".status.nodeCount",
            description="Worker nodes.",
        ),
        Column(
            name="Failed",
            type="integer",
            json_path=".status.failedNodeCount",
            description="Worker nodes with an error.",
        ),
        Column(
            name="Reason",
            type="string",
            json_path='.status.conditions[?(@.type=="Deployed")].reason',
            description="Why the image has its state.",
        ),
        Column(
            name="URL",
            type="string",
            json_path=".spec.imageURL",
            description="The image.",
            priority=1,
        ),
        AGE,
    ),
)
SETTING = Definition(
    group=GROUP,
    versions=(VERSION,),
    kind="Setting",
    plural="settings",
    short_names=("lhs",),
    namespaced=True,
    type=Setting,
    columns=(
        Column(name="Value", type="string", json_path=".value", description="The value."),
        AGE,
    ),
    shared_with="Longhorn",
)
IMAGES: Resource[Image] = IMAGE.resource()
SETTINGS: Resource[Setting] = SETTING.resource()
