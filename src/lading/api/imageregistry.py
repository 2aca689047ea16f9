"""imageregistry.operator.openshift.io: ImagePruner, and what Lading reads of Config.

Names and fields are the design's. The flat limits, `keepYoungerThanDuration`, nanoseconds,
`ignoreInvalidImageReferences` and `logLevel` are the form that OpenShift ships; `registries` and
the status beside its conditions are ours.
"""

from enum import StrEnum
from typing import Annotated, Any, ClassVar

from lading.api.definitions import AGE, Column, Definition
from lading.api.pruned_registries import DURATION, DURATION_RULE, PrunedRegistry
from lading.kernel.conditions import Condition
from lading.kernel.fields import Field, Rule
from lading.kernel.objects import Model, Object, Resource
from lading.kernel.values import replace

GROUP = "imageregistry.operator.openshift.io"
VERSION = "v1"
NAME = "cluster"
"""The one ImagePruner, and the one Config."""
SCHEDULE_DEFAULT = "0 0 * * *"
KEEP_TAG_REVISIONS_DEFAULT = 3
KEEP_YOUNGER_THAN_DEFAULT = "60m"
HISTORY_DEFAULT = 3
STARTING_DEADLINE_SECONDS_DEFAULT = 3600
STARTING_DEADLINE_SECONDS_MIN = 10
"""The CronJob controller looks every 10 seconds: with less than that a start may be missed."""
REGISTRIES_MAX = 8
OBJECTS_MAX = 10
REASONS_MAX = 32

_CRON_FIELD = "[0-9A-Za-z*?/,+-]+"
_SCHEDULE_RULE = Rule(
    rule=(
        "self.matches('^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|@every .+|"
        f"\\\\s*{_CRON_FIELD}(\\\\s+{_CRON_FIELD}){{4}}\\\\s*)$')"
    ),
    message="must be five fields of a cron schedule in UTC, or a word such as @daily",
)
_KEEP_YOUNGER_THAN_RULE = Rule(
    rule=f"type(self) == int ? self >= 0 : self.matches('{DURATION}')",
    message="must be a duration that is not negative, such as 60m, or a number of nanoseconds",
)


class LogLevel(StrEnum):
    """The levels of OpenShift's operators."""

    UNSET = ""
    NORMAL = "Normal"
    DEBUG = "Debug"
    TRACE = "Trace"
    TRACE_ALL = "TraceAll"


class PrunerHistory(Model, frozen=True, kw_only=True):
    """How many finished Jobs are kept."""

    successful_jobs_history_limit: Annotated[
        int | None, Field("Successful Jobs to keep; default 3.", minimum=1, maximum=1000)
    ] = None
    failed_jobs_history_limit: Annotated[
        int | None, Field("Failed Jobs to keep; default 3.", minimum=1, maximum=1000)
    ] = None


class ImagePrunerSpec(Model, frozen=True, kw_only=True):
    """When and how images are pruned."""

    schedule: Annotated[
        str,
        Field(
            "When a Job starts, in UTC; default: daily at midnight.",
            max_length=256,
            default=SCHEDULE_DEFAULT,
            rules=(_SCHEDULE_RULE,),
        ),
    ] = ""
    suspend: Annotated[
        bool, Field("Whether pruning is suspended: no Job starts.", default=False)
    ] = False
    keep_tag_revisions: Annotated[
        int | None,
        Field("Revisions of each tag to keep.", minimum=0, default=KEEP_TAG_REVISIONS_DEFAULT),
    ] = None
    keep_younger_than: Annotated[
        int | str | None,
        Field(
            "Images younger than this are kept: a duration (default 60m) or nanoseconds.",
            max_length=64,
            rules=(_KEEP_YOUNGER_THAN_RULE,),
        ),
    ] = None
    keep_younger_than_duration: Annotated[
        str,
        Field(
            "The same as keepYoungerThan, in OpenShift's form. The longer of the two is used.",
            max_length=64,
            rules=(DURATION_RULE,),
        ),
    ] = ""
    resources: Annotated[dict[str, Any], Field("Requests and limits of each container.")] = {}
    affinity: Annotated[dict[str, Any], Field("The affinity of the pods.")] = {}
    node_selector: Annotated[
        dict[str, str], Field("The labels of the nodes that run the pods.", map_type="atomic")
    ] = {}
    tolerations: Annotated[
        tuple[dict[str, Any], ...],
        Field("Taints that the pods tolerate.", max_items=64, list_type="atomic"),
    ] = ()
    starting_deadline_seconds: Annotated[
        int | None,
        Field(
            "How much later than scheduled a Job may start.",
            minimum=STARTING_DEADLINE_SECONDS_MIN,
            default=STARTING_DEADLINE_SECONDS_DEFAULT,
        ),
    ] = None
    history: Annotated[PrunerHistory | None, Field("How many finished Jobs are kept.")] = None
    successful_jobs_history_limit: Annotated[
        int | None,
        Field(
            "The same as history.successfulJobsHistoryLimit, in OpenShift's form. The larger of "
            "the two is used.",
            minimum=1,
            maximum=1000,
        ),
    ] = None
    failed_jobs_history_limit: Annotated[
        int | None,
        Field(
            "The same as history.failedJobsHistoryLimit, in OpenShift's form. The larger of the "
            "two is used.",
            minimum=1,
            maximum=1000,
        ),
    ] = None
    ignore_invalid_image_references: Annotated[
        bool,
        Field(
            "Accepted, but has no effect: what a reference may name is always kept, even if the "
            "reference cannot be read."
        ),
    ] = False
    log_level: Annotated[LogLevel, Field("How much the Job logs.")] = LogLevel.UNSET
    registries: Annotated[
        tuple[PrunedRegistry, ...],
        Field(
            "Plain registries (without ImageStreams) to prune. Their Secrets and ConfigMaps are in "
            "the namespace of Lading.",
            max_items=REGISTRIES_MAX,
            list_type="map",
            list_map_keys=("name",),
        ),
    ] = ()


class PruneRunPhase(StrEnum):
    """How far a run is, or how it ended."""

    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    REFUSED = "Refused"


class PruneRun(Model, frozen=True, kw_only=True):
    """What a container of the Job reports about its run."""

    name: Annotated[
        str,
        Field(
            "imagestreams, or the name of the registry; NAME.blobs for the sweep of its storage.",
            max_length=64,
        ),
    ]
    job: Annotated[str, Field("The name of the Job.", max_length=253)] = ""
    phase: Annotated[
        str, Field("Running, Succeeded, Failed or Refused (by a guard).", max_length=32)
    ] = ""
    message: Annotated[str, Field("What happened.", max_length=2048)] = ""
    start_time: Annotated[str, Field("When the run began.", format="date-time")] = ""
    update_time: Annotated[str, Field("When this entry was written.", format="date-time")] = ""
    duration_seconds: Annotated[int, Field("How long the run has taken.", minimum=0)] = 0
    candidates: Annotated[int, Field("Deletions that are planned.", minimum=0)] = 0
    deleted: Annotated[int, Field("Deletions that are done.", minimum=0)] = 0
    released_bytes: Annotated[
        int, Field("Bytes that nothing in the registry needs any more.", minimum=0)
    ] = 0
    freed_bytes: Annotated[int, Field("Bytes that were deleted.", minimum=0)] = 0
    kept: Annotated[
        dict[str, int],
        Field("What is kept, by reason.", max_properties=REASONS_MAX, map_type="atomic"),
    ] = {}
    unknown_references: Annotated[
        int, Field("References that cannot be read. What they may name is kept.", minimum=0)
    ] = 0
    unknown_reference_objects: Annotated[
        tuple[str, ...],
        Field(
            "The first objects with a reference that cannot be read.",
            max_items=OBJECTS_MAX,
            list_type="atomic",
            items=Field("An object and a field.", max_length=1024),
        ),
    ] = ()


class ImagePrunerStatus(Model, frozen=True, kw_only=True):
    """Whether the pruner is there, scheduled, and how its last run ended."""

    observed_generation: Annotated[
        int, Field("The generation that the status is about.", minimum=0)
    ] = 0
    conditions: Annotated[
        tuple[Condition, ...],
        Field(
            "Available, Scheduled, Failed and Ambiguous.",
            max_items=20,
            list_type="map",
            list_map_keys=("type",),
        ),
    ] = ()
    schedule: Annotated[str, Field("The schedule that is in force.", max_length=256)] = ""
    scheduled_since: Annotated[
        str, Field("When the schedule came into effect.", format="date-time")
    ] = ""
    next_schedule_time: Annotated[str, Field("When the next Job is due.", format="date-time")] = ""
    last_success_time: Annotated[str, Field("When a Job last succeeded.", format="date-time")] = ""
    last_job: Annotated[str, Field("The most recent Job that has ended.", max_length=253)] = ""
    last_job_end_time: Annotated[str, Field("When lastJob ended.", format="date-time")] = ""
    last_job_duration_seconds: Annotated[int, Field("How long lastJob ran.", minimum=0)] = 0
    last_run: Annotated[
        tuple[PruneRun, ...],
        Field(
            "What the Job reports, one entry for each registry.",
            max_items=2 * REGISTRIES_MAX + 1,
            list_type="map",
            list_map_keys=("name",),
        ),
    ] = ()


class ImagePruner(Object, frozen=True, kw_only=True):
    """Prunes images on a schedule."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule=f"self.metadata.name == '{NAME}'",
            message=f"the name must be {NAME}: a cluster has one ImagePruner",
        ),
    )
    spec: Annotated[ImagePrunerSpec, Field("When and how images are pruned.")] = ImagePrunerSpec()
    status: Annotated[ImagePrunerStatus, Field("The current state.")] = ImagePrunerStatus()


class StoredImagePruner(Object, frozen=True, kw_only=True):
    """An ImagePruner as the API server has it, whatever the schema of its owner allows."""

    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}


class ImageRegistryConfigSpec(Model, frozen=True, kw_only=True):
    management_state: str = ""


class ImageRegistryConfig(Object, frozen=True, kw_only=True):
    """Config, of OpenShift's registry operator."""

    spec: ImageRegistryConfigSpec = ImageRegistryConfigSpec()


IMAGE_PRUNER = Definition(
    group=GROUP,
    versions=(VERSION,),
    kind="ImagePruner",
    plural="imagepruners",
    short_names=(),
    namespaced=False,
    type=ImagePruner,
    columns=(
        Column(
            name="Schedule",
            type="string",
            json_path=".spec.schedule",
            description="When a Job starts, in UTC.",
        ),
        Column(
            name="Suspended",
            type="boolean",
            json_path=".spec.suspend",
            description="Whether pruning is suspended: no Job starts.",
        ),
        Column(
            name="Next run",
            type="string",
            json_path=".status.nextScheduleTime",
            description="When the next Job is due.",
        ),
        Column(
            name="Last success",
            type="date",
            json_path=".status.lastSuccessTime",
            description="Time since a Job last succeeded.",
        ),
        Column(
            name="Failed",
            type="string",
            json_path='.status.conditions[?(@.type=="Failed")].status',
            description="Whether the most recent Job failed.",
        ),
        Column(
            name="Available",
            type="string",
            json_path='.status.conditions[?(@.type=="Available")].status',
            description="Whether the CronJob is as the spec describes it.",
            priority=1,
        ),
        AGE,
    ),
)
IMAGE_PRUNERS: Resource[StoredImagePruner] = replace(
    IMAGE_PRUNER.resource(), type=StoredImagePruner
)
IMAGE_REGISTRY_CONFIGS: Resource[ImageRegistryConfig] = Resource(
    group=GROUP,
    version=VERSION,
    kind="Config",
    plural="configs",
    namespaced=False,
    type=ImageRegistryConfig,
)
