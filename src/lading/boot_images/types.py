"""The settings, the observed facts and the actions of boot images. Frozen data only."""

from collections.abc import Hashable, Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from lading.api.cluster_api import MachineTemplate, TemplateKey
from lading.api.core import ConfigMap, Node, Secret
from lading.api.machine import MachineSet
from lading.api.machineconfiguration.boot_image_history import (
    MachineSetBootImageHistory,
    MachineSetBootImageHistorySpec,
    MachineSetBootImageHistoryStatus,
)
from lading.api.openshift_config import ClusterVersion, Infrastructure
from lading.api.operator import MachineConfiguration
from lading.boot_images.platforms.types import AmiFacts, Api, BootImage
from lading.boot_images.verdicts import MachineSetState, NotUpdated, Why
from lading.kernel.backoff import Backoff
from lading.kernel.feature_gates import Gate
from lading.kernel.objects import Key
from lading.ports.ec2 import Ec2

MANAGED_BOOT_IMAGES = Gate(
    name="ManagedBootImages",
    default=False,
    off="no machine set changes; earlier changes stay",
)
FIELD_MANAGER = "lading-boot-images"
PAUSE_ANNOTATION = "lading.dev/boot-image-updates"
PAUSED = "paused"
NOT_PAUSED = ("active", "enabled")
"""The values of the annotation that do not pause updates; any other value does."""
PROOF_ANNOTATION = "lading.dev/boot-images-proven"
OS_RELEASE_LABEL = "lading.dev/os-release"
STUB_SUFFIX = "-spec-3-managed"
"""The name of a managed copy of a stub ends with it."""
CLONED_KINDS = ("GCPMachineTemplate", "AWSMachineTemplate", "AzureMachineTemplate")
"""The templates of all platforms that are not manual. No other template is cloned."""
_RETRY = Backoff(seconds_min=5, seconds_max=60)


class BootImageSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What an administrator decides for the whole cluster."""

    machine_namespaces: tuple[str, ...] = ("openshift-machine-api",)
    cluster_api_namespaces: tuple[str, ...] = ("openshift-cluster-api",)
    cluster_name: str = ""
    """The Cluster that owns the managed machine sets; empty means the infrastructure name."""
    golden_namespace: str = "openshift-machine-config-operator"
    trusted_boot_images: tuple[str, ...] = ()
    """Boot images that may be replaced without proof; a `*` at the end matches any text."""
    changes_debounce_seconds: float = 0.3
    """An upgrade changes many objects close together."""
    secrets_interval: timedelta = timedelta(minutes=1)
    """How often Secrets are read. A watch would keep all Secrets of the namespace in memory."""
    templates_interval: timedelta = timedelta(minutes=10)
    """How often all machines are listed, to find out whether they need an old template."""
    after_stub_delay: timedelta = timedelta(seconds=1)
    """How soon a written stub is read back. No watch reports it."""
    retry: Backoff = _RETRY
    """For a failed write; a refused write is retried after the longest delay."""
    history_retention: timedelta = timedelta(days=30)
    """How long a history outlives its machine set."""
    unused_templates_retention: timedelta = timedelta(days=1)
    """How long a clone of a template stays after nothing needs it."""

    def namespaces(self, api: Api) -> tuple[str, ...]:
        return self.machine_namespaces if api is Api.MACHINE else self.cluster_api_namespaces


class CloudAccess(msgspec.Struct, frozen=True, kw_only=True):
    """The clouds that an administrator lets Lading ask."""

    ec2: Ec2 | None = None


class FailedWrite(msgspec.Struct, frozen=True, kw_only=True):
    """The failed attempts to write one object."""

    message: str
    refused: bool
    """A retry cannot help until something changes."""
    attempts: int
    failed_at: datetime


class UnreadSecret(msgspec.Struct, frozen=True, kw_only=True):
    """A Secret that could not be read, and why."""

    message: str
    is_missing: bool = False


class ObservedMachineSets(msgspec.Struct, frozen=True, kw_only=True):
    """All facts about the machine sets of one API."""

    api: Api
    machine_sets: tuple[MachineSet, ...] = ()
    other_machine_sets: Mapping[str, str] = {}
    """The authoritative API of each machine set of the other API, by name."""
    templates: Mapping[TemplateKey, MachineTemplate] = {}
    cluster_pause: NotUpdated | None = None
    """Why nothing of the Cluster may change now, as for `clusterctl move`."""
    templates_in_use: frozenset[TemplateKey] | None = None
    """Templates that a machine set, a deployment or a machine needs; None if unknown."""
    histories: tuple[MachineSetBootImageHistory, ...] = ()
    configurations: tuple[MachineConfiguration, ...] = ()
    golden: ConfigMap | None = None
    authority: ConfigMap | None = None
    """The certificate authority of the machine config server."""
    cluster_version: ClusterVersion | None = None
    infrastructure: Infrastructure | None = None
    nodes: tuple[Node, ...] = ()
    machine_images: Mapping[str, str] = {}
    """The boot image of the machine of a node, by the name of the node."""
    secrets: Mapping[Key, Secret | UnreadSecret] = {}
    """The Secrets that `stubs.wanted` names."""
    amis: Mapping[str, AmiFacts] = {}
    """What EC2 answered about the AMIs of machine sets, by id."""
    failures: Mapping[Hashable, FailedWrite] = {}
    """Failed writes by lane. The lane of a machine set has the target in it."""
    unapplied: frozenset[Hashable] = frozenset()
    """The lanes of patches that the API server did not apply, for any reason."""


class MachineSetVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome for one machine set."""

    machine_set: MachineSet
    state: MachineSetState
    why: Why
    message: str
    present: BootImage | None = None
    secret: str = ""
    target: str = ""


class StampGolden(msgspec.Struct, frozen=True, kw_only=True):
    """Writes the proof that a node runs the release to the golden ConfigMap."""

    key: Key
    resource_version: str
    proof: str
    because: str
    lane: Hashable = "golden"


class WriteStub(msgspec.Struct, frozen=True, kw_only=True):
    """Creates or updates the managed copy of a stub."""

    key: Key
    source: Key
    data: Mapping[str, str]
    """As on the wire: base64. Never shown."""
    type: str
    resource_version: str
    """Of the existing copy; empty if there is none."""
    because: str

    @property
    def lane(self) -> Hashable:
        return "stub", self.key

    def __repr__(self) -> str:
        return f"WriteStub(key={self.key}, because={self.because!r})"


class SaveHistory(msgspec.Struct, frozen=True, kw_only=True):
    key: Key
    spec: MachineSetBootImageHistorySpec
    lane: Hashable
    because: str


class CloneTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """Creates a template that differs from its source only in the image."""

    body: Mapping[str, Any]
    lane: Hashable
    because: str


class TemplateVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A template as it was observed. A write applies only to this version."""

    api_version: str
    kind: str
    key: Key
    uid: str
    resource_version: str

    @classmethod
    def of(cls, template: MachineTemplate) -> "TemplateVersion":
        return cls(
            api_version=template.api_version,
            kind=template.kind,
            key=template.key,
            uid=template.metadata.uid,
            resource_version=template.metadata.resource_version,
        )

    @property
    def lane(self) -> Hashable:
        return "template", self.kind, self.key


class MarkTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """Writes to a clone since when nothing needs it."""

    template: TemplateVersion
    unused_since: str
    """Empty if something needs it again."""
    because: str

    @property
    def lane(self) -> Hashable:
        return self.template.lane


class DeleteTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """Removes a clone that nothing has needed for a while."""

    template: TemplateVersion
    because: str

    @property
    def lane(self) -> Hashable:
        return self.template.lane


class PatchMachineSet(msgspec.Struct, frozen=True, kw_only=True):
    """A JSON patch that applies only to the observed version of the machine set."""

    key: Key
    operations: tuple[Mapping[str, Any], ...]
    lane: Hashable
    because: str


class ReportMachineSet(msgspec.Struct, frozen=True, kw_only=True):
    """The status of the machine set's history."""

    key: Key
    status: MachineSetBootImageHistoryStatus
    lane: Hashable
    because: str


class DeleteHistory(msgspec.Struct, frozen=True, kw_only=True):
    key: Key
    uid: str
    because: str

    @property
    def lane(self) -> Hashable:
        return "history", self.key


class ReportConfiguration(msgspec.Struct, frozen=True, kw_only=True):
    """The status of a MachineConfiguration."""

    name: str
    status: Mapping[str, Any]
    because: str
    lane: Hashable = "configuration"


Action = (
    StampGolden
    | WriteStub
    | SaveHistory
    | CloneTemplate
    | MarkTemplate
    | DeleteTemplate
    | PatchMachineSet
    | ReportMachineSet
    | DeleteHistory
    | ReportConfiguration
)
