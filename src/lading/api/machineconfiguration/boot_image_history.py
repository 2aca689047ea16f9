"""MachineSetBootImageHistory: which boot images and stubs a machine set had, and its state."""

from enum import StrEnum
from typing import Annotated, Any

from lading.api.definitions import AGE, Column, Definition
from lading.api.machineconfiguration import group
from lading.kernel.fields import Field
from lading.kernel.objects import Model, Object, Resource

DETAILS_MAX = 21  # the first, which the installer made, and the last 20


class SetBy(StrEnum):
    """Why a boot image is known to be the cluster's own, if it is."""

    LADING = "Lading"
    LADING_MARKETPLACE = "LadingMarketplace"
    STREAM = "Stream"
    OTHER = "Other"


class BootImageHistoryDetail(Model, frozen=True, kw_only=True):
    """A boot image that new machines started from."""

    index: Annotated[int, Field("The number of the entry. It is never used again.", minimum=0)]
    updated_time: Annotated[str, Field("When the image was first observed.", format="date-time")]
    boot_image_ref: Annotated[str, Field("The boot image in one line.", max_length=1024)]
    stub_secret_ref: Annotated[
        str, Field("The Secret that holds the ignition stub; may be empty.", max_length=253)
    ] = ""
    boot_image: Annotated[
        dict[str, Any], Field("The image field with its exact value, for a restore.")
    ] = {}
    set_by: Annotated[
        SetBy,
        Field(
            "Lading: Lading set the image. LadingMarketplace: Lading set it to an image of the "
            "same Marketplace product. Stream: another writer set it to the image of the stream. "
            "Other: another writer set another image."
        ),
    ] = SetBy.OTHER


class IntendedBootImage(Model, frozen=True, kw_only=True):
    """What a patch that is under way makes of the machine set."""

    boot_image_ref: Annotated[str, Field("The boot image in one line.", max_length=1024)]
    stub_secret_ref: Annotated[str, Field("The Secret that holds the stub.", max_length=253)] = ""
    boot_image: Annotated[dict[str, Any], Field("The image field with its exact value.")] = {}
    set_by: Annotated[SetBy, Field("The value of setBy when the patch is observed.")] = SetBy.LADING


class PatchCount(Model, frozen=True, kw_only=True):
    """How often Lading patched the machine set to one value. It is written before each patch."""

    boot_image: Annotated[dict[str, Any], Field("The image field with its exact value.")] = {}
    stub_secret_ref: Annotated[str, Field("The Secret that holds the stub.", max_length=253)] = ""
    times: Annotated[int, Field("The number of patches, with the one under way.", minimum=0)] = 0
    generation: Annotated[
        int, Field("The generation of the machine set before the last patch.", minimum=0)
    ] = 0
    resumed_time: Annotated[
        str, Field("The value of resumedTime when the count began.", max_length=64)
    ] = ""


class MachineSetBootImageHistorySpec(Model, frozen=True, kw_only=True):
    """The history of one machine set."""

    machine_set_name: Annotated[str, Field("The machine set.", max_length=253)]
    machine_set_namespace: Annotated[
        str, Field("The namespace of the machine set.", max_length=63)
    ] = ""
    machine_set_api_group: Annotated[
        str, Field("The API group of the machine set.", max_length=253)
    ] = ""
    details: Annotated[
        tuple[BootImageHistoryDetail, ...],
        Field(
            "The first boot image and the last 20, the oldest first.",
            max_items=DETAILS_MAX,
            list_type="atomic",
        ),
    ] = ()
    intended: Annotated[
        IntendedBootImage | None,
        Field("The boot image that Lading is about to write; removed when the write is observed."),
    ] = None
    patched: Annotated[
        PatchCount | None, Field("The last value that Lading patched, and how often.")
    ] = None
    resumed_time: Annotated[
        str,
        Field(
            "Set by `lading bootimage resume`. Lading reads the stub again and counts its patches "
            "from the beginning.",
            max_length=64,
        ),
    ] = ""
    removed_time: Annotated[
        str, Field("When the machine set was first found missing.", max_length=64)
    ] = ""


class MachineSetBootImageHistoryStatus(Model, frozen=True, kw_only=True):
    """What is decided about the machine set."""

    state: Annotated[
        str,
        Field("Current, Updating, Skipped, Manual, Waiting, Failed or NotEnrolled.", max_length=64),
    ] = ""
    reason: Annotated[
        str, Field("Why the machine set has its state, as one word.", max_length=64)
    ] = ""
    message: Annotated[str, Field("The reason as a sentence.", max_length=4096)] = ""
    boot_image_ref: Annotated[str, Field("The current boot image.", max_length=1024)] = ""
    target: Annotated[str, Field("The boot image of the release.", max_length=1024)] = ""


class MachineSetBootImageHistory(Object, frozen=True, kw_only=True):
    """The boot images of one machine set, as they were observed."""

    spec: Annotated[MachineSetBootImageHistorySpec, Field("The history of one machine set.")]
    status: Annotated[
        MachineSetBootImageHistoryStatus, Field("What is decided about the machine set.")
    ] = MachineSetBootImageHistoryStatus()


MACHINE_SET_BOOT_IMAGE_HISTORY = Definition(
    group=group.NAME,
    versions=("v1alpha1",),
    kind="MachineSetBootImageHistory",
    plural="machinesetbootimagehistories",
    short_names=("msbih",),
    namespaced=True,
    type=MachineSetBootImageHistory,
    columns=(
        Column(
            name="MachineSet",
            type="string",
            json_path=".spec.machineSetName",
            description="The machine set.",
        ),
        Column(
            name="State",
            type="string",
            json_path=".status.state",
            description="Whether new machines boot the image of the release.",
        ),
        Column(
            name="Reason",
            type="string",
            json_path=".status.reason",
            description="Why the machine set has its state.",
        ),
        Column(
            name="Target",
            type="string",
            json_path=".status.target",
            description="The boot image of the release.",
            priority=1,
        ),
        Column(
            name="Message",
            type="string",
            json_path=".status.message",
            description="The reason as a sentence.",
            priority=1,
        ),
        AGE,
    ),
)
MACHINE_SET_BOOT_IMAGE_HISTORIES: Resource[MachineSetBootImageHistory] = (
    MACHINE_SET_BOOT_IMAGE_HISTORY.resource()
)
