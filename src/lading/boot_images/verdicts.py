"""The states and reasons of machine sets, and the conditions and events about them. Pure."""

from enum import StrEnum

import msgspec


class MachineSetState(StrEnum):
    """The state of one machine set."""

    CURRENT = "Current"
    """The machine set has the image of the release."""
    UPDATING = "Updating"
    """A patch is being written."""
    SKIPPED = "Skipped"
    """The machine set is not changed; see the reason."""
    MANUAL = "Manual"
    """The platform needs an administrator; the message names the image."""
    WAITING = "Waiting"
    """The cluster is not proven to run the release."""
    FAILED = "Failed"
    """An error; it sets `BootImageUpdateDegraded`."""
    NOT_ENROLLED = "NotEnrolled"
    """The machine set is not enrolled."""


class Why(StrEnum):
    """The reason of a state, for programs. Its message is for people."""

    AS_EXPECTED = "AsExpected"
    """Nothing is wrong."""
    UPDATING = "Updating"
    """A patch is being written."""
    NOT_ENROLLED = "NotEnrolled"
    """No MachineConfiguration enrols it."""
    OPT_IN_AMBIGUOUS = "OptInAmbiguous"
    """Two forms or two objects enrol machine sets, so none is enrolled."""
    OTHER_OPERATOR = "OtherOperatorManages"
    """OpenShift's operator manages boot images."""
    DELETING = "Deleting"
    """It is being deleted."""
    OWNED = "OwnedByAnother"
    """Another object than the Cluster owns it."""
    DEPLOYMENT = "OwnedByDeployment"
    """It belongs to a MachineDeployment."""
    CONTROL_PLANE = "ControlPlane"
    """It is for control plane machines."""
    PAUSED = "Paused"
    """Updates are paused, by annotation."""
    WINDOWS = "Windows"
    """It is for Windows."""
    MIRROR = "MirrorOfOtherAPI"
    """It is a copy: the other API (Machine API or Cluster API) manages the machine set."""
    PROVIDER_SPEC = "ProviderSpecInvalid"
    """Its provider specification cannot be read."""
    TEMPLATE_MISSING = "TemplateMissing"
    """Its infrastructure template does not exist."""
    PLATFORM_UNKNOWN = "PlatformUnknown"
    """Lading does not know the platform."""
    PLATFORM_MANUAL = "PlatformIsManual"
    """Lading does not update this platform."""
    ARCHITECTURE_UNKNOWN = "ArchitectureUnknown"
    """The architecture of its machines is not certain."""
    ARCHITECTURE_DIFFERS = "ArchitectureDiffers"
    """Its current image is not for the architecture of its machines."""
    GOLDEN_MISSING = "GoldenConfigMapMissing"
    """The ConfigMap `coreos-bootimages` does not exist."""
    GOLDEN_BROKEN = "GoldenConfigMapBroken"
    """The ConfigMap `coreos-bootimages` cannot be read."""
    NOT_PROVEN = "ReleaseNotProven"
    """The cluster is not proven to run the release."""
    STREAM_UNKNOWN = "StreamUnknown"
    """The ConfigMap does not have the stream of its label."""
    NO_IMAGE = "NoImageInStream"
    """The stream has no image for its platform, region or architecture."""
    IMAGE_UNREADABLE = "ImageUnreadable"
    """Its current image cannot be read."""
    NOT_OURS = "ImageNotOurs"
    """Its current image is not proven to be the cluster's own."""
    IMAGE_FAMILY = "ImageFamily"
    """It names an image family, not an image."""
    IMAGE_FILTERS = "ImageByFilters"
    """It selects an AMI by filter or ARN."""
    PURCHASE_PLAN = "PurchasePlan"
    """Its image belongs to another Marketplace product."""
    GENERATION_UNKNOWN = "GenerationUnknown"
    """Its image does not tell the generation of the virtual machine."""
    SECURITY_TYPE = "SecurityType"
    """It uses confidential VMs or trusted launch."""
    COMPETING_WRITER = "CompetingWriter"
    """Another writer restored its own value twice."""
    MANAGED_BY_OTHER = "FieldManagedByOther"
    """Another field manager applies the image."""
    STUB_MISSING = "StubMissing"
    """The Secret of its stub does not exist."""
    STUB_UNREADABLE = "StubUnreadable"
    """Its stub cannot be read or translated."""
    STUB_TOO_LARGE = "StubTooLarge"
    """The translated stub exceeds the platform's limit of user data."""
    STUB_NAME_TAKEN = "StubNameTaken"
    """A Secret of another owner has the name of the copy."""
    FORBIDDEN = "Forbidden"
    """The controller lacks a right."""
    PATCH_FAILED = "PatchFailed"
    """The API server refused the patch."""
    MACHINE_SETS_FAILED = "MachineSetsFailed"
    """Of `BootImageUpdateDegraded`: machine sets fail with different reasons."""

    @property
    def state(self) -> MachineSetState:
        return _STATES.get(self, MachineSetState.SKIPPED)


_STATES = {
    Why.AS_EXPECTED: MachineSetState.CURRENT,
    Why.UPDATING: MachineSetState.UPDATING,
    Why.NOT_ENROLLED: MachineSetState.NOT_ENROLLED,
    Why.NOT_PROVEN: MachineSetState.WAITING,
    Why.PLATFORM_MANUAL: MachineSetState.MANUAL,
    Why.STUB_MISSING: MachineSetState.FAILED,
    Why.STUB_UNREADABLE: MachineSetState.FAILED,
    Why.STUB_TOO_LARGE: MachineSetState.FAILED,
    Why.PATCH_FAILED: MachineSetState.FAILED,
}


class NotUpdated(msgspec.Struct, frozen=True):
    """Why a machine set keeps its image; the message is one sentence."""

    why: Why
    message: str


class BootImageConditionType(StrEnum):
    """Conditions about all machine sets together."""

    PROGRESSING = "BootImageUpdateProgressing"
    """Machine sets are being updated."""
    DEGRADED = "BootImageUpdateDegraded"
    """Machine sets fail; also on the worker pool."""


class BootImageEventReason(StrEnum):
    """Of events about a machine set; one that fails has the reason of its verdict."""

    UPDATED = "BootImageUpdated"
    """The machine set got the image of the release."""
