"""The gate of the feature, the input of its plan, and its actions. Frozen data only."""

from collections.abc import Hashable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import msgspec

from lading.api.core import CronJob, Job, Pod
from lading.api.imageregistry import (
    ImagePrunerStatus,
    LogLevel,
    PruneRun,
    StoredImagePruner,
)
from lading.api.pruned_registries import PrunedRegistry
from lading.api.rbac import ClusterRoleBinding, ServiceAccount
from lading.kernel.feature_gates import Gate
from lading.kernel.objects import Key
from lading.kernel.planning import LastWrite

IMAGE_PRUNER_GATE = Gate(
    name="ImagePruner",
    default=True,
    off="the CronJob stays and prunes as before; changes of the ImagePruner have no effect",
)

FIELD_MANAGER = "lading-image-pruner"
OBJECT_NAME = "lading-image-pruner"
"""Of the CronJob, the ServiceAccount, the ClusterRoles and their bindings."""
OPENSHIFT_ROLE = "lading-image-pruner-openshift"
"""What `system:image-pruner` lacks."""
SYSTEM_ROLE = "system:image-pruner"
DECISION_NAME = "lading-image-pruner-decision"
"""The ConfigMap with the decision about the first ImagePruner."""
REPORT_NAME = "lading-image-pruner-report"
"""The ConfigMap for the reports of Jobs, if the status of the ImagePruner drops them."""
IMAGE_STREAMS = "imagestreams"
"""The name of the run that prunes ImageStreams, not one of `spec.registries`."""
COMPONENT_LABEL, COMPONENT = "app.kubernetes.io/component", "image-pruner"
POD_LABELS = {"app.kubernetes.io/name": "lading", COMPONENT_LABEL: COMPONENT}
FOLDER = "/etc/lading"
"""Where ConfigMaps and Secrets are mounted."""
STORAGE_FOLDER = "/storage"
"""Claims are mounted in folders below it, so that none hides files of Lading's image."""
SWEEP_SUFFIX = ".blobs"
"""Added to the name of a registry for the sweep of its storage. Registry names have no dot."""


class PrunerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the controller."""

    image: str = ""
    """Lading's own image; empty means that of the controller's pod."""
    pod_name: str = ""
    take_over: bool = False
    """Whether Lading also manages the ImagePruner of OpenShift."""
    missed_grace: timedelta = timedelta(minutes=1)
    """A Job that did not start this long after its deadline is missed."""
    installation_age_max: timedelta = timedelta(hours=1)
    """A cluster is new until this long after the first start of Lading."""


class PrunerConditionType(StrEnum):
    AVAILABLE = "Available"
    """The CronJob is as the spec describes it."""
    SCHEDULED = "Scheduled"
    """The next Job is scheduled."""
    FAILED = "Failed"
    """The most recent Job failed."""
    AMBIGUOUS = "Ambiguous"
    """Two forms of one setting differ."""


class PrunerReason(StrEnum):
    """Reasons of the conditions and events of the ImagePruner."""

    READY = "Ready"
    """The CronJob is as the spec describes it."""
    ERROR = "Error"
    """The message names the field, the object or the answer of the API server."""
    SCHEDULED = "Scheduled"
    """The next Job is scheduled."""
    SUSPENDED = "Suspended"
    """`spec.suspend` is true."""
    SUCCEEDED = "Succeeded"
    """The most recent Job succeeded."""
    NOT_RUN = "NotRun"
    """No Job has ended yet."""
    JOB_FAILED = "JobFailed"
    """The most recent Job failed."""
    REFUSED = "RefusedByGuard"
    """A guard refused the run."""
    OUT_OF_MEMORY = "OutOfMemory"
    """A container needed more memory than its limit."""
    SETTINGS_AGREE = "SettingsAgree"
    """The two forms of each setting agree."""
    SETTINGS_DISAGREE = "SettingsDisagree"
    """The two forms of a setting differ."""


class DecisionReason(StrEnum):
    """Why the first ImagePruner was created as it was, or not created."""

    NEW_CLUSTER = "NewCluster"
    """Lading is new in this cluster: it created the ImagePruner."""
    UPGRADED = "UpgradedCluster"
    """Lading or OpenShift was here before the pruner: Lading created the ImagePruner suspended."""
    EXISTING = "ExistingImagePruner"
    """An ImagePruner already existed: Lading created none."""


class ClusterHistory(msgspec.Struct, frozen=True, kw_only=True):
    """Shows whether the cluster is new or older than its pruner."""

    first_start: datetime | None = None
    """When a controller of Lading first ran here."""
    other_kinds_since: datetime | None = None
    """When another kind of Lading was installed."""
    pruner_kind_since: datetime | None = None
    """When the kind ImagePruner was installed."""
    openshift_versions: int = 0
    """How many versions of OpenShift this cluster had; 0 where it is none."""


class EffectiveSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The spec with its defaults, in one form."""

    schedule: str
    suspend: bool
    keep_tag_revisions: int
    keep_younger_than: str
    starting_deadline_seconds: int
    successful_jobs_history_limit: int
    failed_jobs_history_limit: int
    resources: Mapping[str, Any] = {}
    affinity: Mapping[str, Any] = {}
    node_selector: Mapping[str, str] = {}
    tolerations: tuple[Mapping[str, Any], ...] = ()
    log_level: LogLevel = LogLevel.UNSET
    registries: tuple[PrunedRegistry, ...] = ()
    disagreements: tuple[str, ...] = ()
    """Settings that are given twice and differ, one sentence each."""


class ObservedPruner(msgspec.Struct, frozen=True, kw_only=True):
    """The input of the plan."""

    namespace: str
    pruner: StoredImagePruner | None = None
    decision: str | None = None
    """The recorded decision about the first ImagePruner; None if there is none."""
    history: ClusterHistory = ClusterHistory()
    is_openshift: bool = False
    drops_status: bool = False
    """Whether the kind has another owner: its schema may drop fields of the status."""
    management_state: str | None = None
    """Of Config `cluster`; None if it does not exist."""
    account: ServiceAccount | None = None
    bindings: Mapping[str, ClusterRoleBinding] = {}
    """By name."""
    cron_job: CronJob | None = None
    jobs: tuple[Job, ...] = ()
    pods: tuple[Pod, ...] = ()
    reports: tuple[PruneRun, ...] = ()
    """Of the Jobs."""
    has_report_map: bool = False
    own_image: str = ""
    writes: Mapping[str, LastWrite] = {}
    """The last write of this process to each object, by kind and name."""


class PrunerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The values of the metrics."""

    exists: bool = False
    is_scheduled: bool = False
    is_suspended: bool = False
    has_failed: bool | None = None
    """None before the first run."""
    scheduled_since: datetime | None = None
    active_since: datetime | None = None
    last_success: datetime | None = None
    period: timedelta | None = None
    last_duration: timedelta | None = None
    runs: tuple[PruneRun, ...] = ()


class CreateImagePruner(msgspec.Struct, frozen=True, kw_only=True):
    suspend: bool
    because: str
    lane: Hashable = "decision"


class RecordDecision(msgspec.Struct, frozen=True, kw_only=True):
    """Runs after CreateImagePruner. After a crash between the two, the ImagePruner exists."""

    namespace: str
    decision: DecisionReason
    because: str
    lane: Hashable = "decision"


class CreateObject(msgspec.Struct, frozen=True, kw_only=True):
    """The ServiceAccount, a ClusterRoleBinding, the CronJob or the ConfigMap of reports."""

    body: Mapping[str, Any]
    because: str
    lane: Hashable = "objects"


class UpdateObject(msgspec.Struct, frozen=True, kw_only=True):
    """Sets the owner, our labels and our annotations, and replaces the named fields."""

    body: Mapping[str, Any]
    found: ServiceAccount | ClusterRoleBinding | CronJob
    fields: tuple[str, ...] = ()
    because: str
    lane: Hashable = "objects"


class DeleteBinding(msgspec.Struct, frozen=True, kw_only=True):
    """The role of a binding cannot be changed."""

    name: str
    uid: str
    because: str
    lane: Hashable = "objects"


class WritePrunerStatus(msgspec.Struct, frozen=True, kw_only=True):
    key: Key
    resource_version: str
    status: ImagePrunerStatus
    because: str
    lane: Hashable = "status"


ObjectWrite = CreateObject | UpdateObject | DeleteBinding
PrunerAction = CreateImagePruner | RecordDecision | ObjectWrite | WritePrunerStatus


def written_name(action: ObjectWrite) -> str:
    """Kind and name of the object."""
    if isinstance(action, DeleteBinding):
        return f"ClusterRoleBinding {action.name}"
    return f"{action.body['kind']} {action.body['metadata']['name']}"


def written_body(action: ObjectWrite) -> Mapping[str, Any] | None:
    return None if isinstance(action, DeleteBinding) else action.body
