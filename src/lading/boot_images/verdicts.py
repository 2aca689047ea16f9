"""What becomes of one machine set, and why. Pure."""

from enum import StrEnum


class MachineSetState(StrEnum):
    """Of one machine set."""

    CURRENT = "Current"
    UPDATING = "Updating"
    SKIPPED = "Skipped"
    MANUAL = "Manual"
    WAITING = "Waiting"
    FAILED = "Failed"
    NOT_ENROLLED = "NotEnrolled"


class Why(StrEnum):
    """The reasons; each is a word for programs, and its message names the fact."""

    AS_EXPECTED = "AsExpected"
    UPDATING = "Updating"
    NOT_ENROLLED = "NotEnrolled"
    OPT_IN_AMBIGUOUS = "OptInAmbiguous"
    OTHER_OPERATOR = "OtherOperatorManages"
    DELETING = "Deleting"
    OWNED = "OwnedByAnother"
    DEPLOYMENT = "OwnedByDeployment"
    CONTROL_PLANE = "ControlPlane"
    PAUSED = "Paused"
    WINDOWS = "Windows"
    MIRROR = "MirrorOfOtherAPI"
    PROVIDER_SPEC = "ProviderSpecInvalid"
    TEMPLATE_MISSING = "TemplateMissing"
    PLATFORM_UNKNOWN = "PlatformUnknown"
    PLATFORM_MANUAL = "PlatformIsManual"
    ARCHITECTURE_UNKNOWN = "ArchitectureUnknown"
    ARCHITECTURE_DIFFERS = "ArchitectureDiffers"
    GOLDEN_MISSING = "GoldenConfigMapMissing"
    GOLDEN_BROKEN = "GoldenConfigMapBroken"
    NOT_PROVEN = "ReleaseNotProven"
    STREAM_UNKNOWN = "StreamUnknown"
    NO_IMAGE = "NoImageInStream"
    IMAGE_UNREADABLE = "ImageUnreadable"
    NOT_OURS = "ImageNotOurs"
    IMAGE_FAMILY = "ImageFamily"
    IMAGE_FILTERS = "ImageByFilters"
    PURCHASE_PLAN = "PurchasePlan"
    SECURITY_TYPE = "SecurityType"
    COMPETING_WRITER = "CompetingWriter"
    MANAGED_BY_OTHER = "FieldManagedByOther"
    STUB_MISSING = "StubMissing"
    STUB_UNREADABLE = "StubUnreadable"
    STUB_TOO_LARGE = "StubTooLarge"
    STUB_NAME_TAKEN = "StubNameTaken"
    FORBIDDEN = "Forbidden"
    PATCH_FAILED = "PatchFailed"
    MACHINE_SETS_FAILED = "MachineSetsFailed"
    """Of all machine sets together: several fail, with different reasons."""


class Skipped(Exception):
    """The machine set is not patched; the message is one sentence for people."""

    def __init__(self, why: Why, message: str) -> None:
        self.why = why
        super().__init__(message)


class Manual(Skipped):
    """Only a person can update the machine set; the message names the target."""

    def __init__(self, message: str) -> None:
        super().__init__(Why.PLATFORM_MANUAL, message)


class Failed(Skipped):
    """The stub cannot be read or translated, or a patch failed: this degrades."""
