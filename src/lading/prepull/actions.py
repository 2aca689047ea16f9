"""The actions of both plans. Frozen data only."""

from collections.abc import Hashable, Mapping
from typing import Any

import msgspec

from lading.api.core import DaemonSet
from lading.api.longhorn import ImageStatus
from lading.kernel.objects import Key
from lading.prepull.types import DefaultImage


class CreateImage(msgspec.Struct, frozen=True, kw_only=True):
    namespace: str
    name: str
    listed: DefaultImage
    because: str

    @property
    def lane(self) -> Hashable:
        return ("image", self.name)


class DeleteImage(msgspec.Struct, frozen=True, kw_only=True):
    key: Key
    uid: str
    because: str

    @property
    def lane(self) -> Hashable:
        return ("image", self.key.name)


class CreateSetting(msgspec.Struct, frozen=True, kw_only=True):
    namespace: str
    value: str
    because: str
    lane: Hashable = "setting"


class EnsureHoldKey(msgspec.Struct, frozen=True, kw_only=True):
    """Reads the Secret with the key, or creates it with random bytes."""

    namespace: str
    because: str
    lane: Hashable = "hold key"


class CreateDaemonSet(msgspec.Struct, frozen=True, kw_only=True):
    body: Mapping[str, Any]
    because: str
    lane: Hashable = "daemon set"


class ReplaceDaemonSet(msgspec.Struct, frozen=True, kw_only=True):
    """Labels and annotations of other writers stay."""

    body: Mapping[str, Any]
    found: DaemonSet
    because: str
    lane: Hashable = "daemon set"


class DeleteDaemonSet(msgspec.Struct, frozen=True, kw_only=True):
    key: Key
    uid: str
    because: str
    lane: Hashable = "daemon set"


class WatchImageLists(msgspec.Struct, frozen=True, kw_only=True):
    """Watches the image lists of kubelets from now on."""

    because: str
    lane: Hashable = "image lists"


class _PodAction(msgspec.Struct, frozen=True, kw_only=True):
    """Each pod has its own lane."""

    key: Key
    uid: str
    node: str
    because: str

    @property
    def lane(self) -> Hashable:
        return ("pod", self.key.name)


class RemoveGate(_PodAction, frozen=True, kw_only=True):
    """The pod may be scheduled, and its node pulls."""


class DeletePod(_PodAction, frozen=True, kw_only=True):
    """The next pod of the node pulls what was lost."""

    containers: tuple[str, ...]


class WriteImageStatus(msgspec.Struct, frozen=True, kw_only=True):
    key: Key
    resource_version: str
    status: ImageStatus
    because: str
    lane: Hashable = "status"


Action = (
    CreateImage
    | DeleteImage
    | CreateSetting
    | EnsureHoldKey
    | CreateDaemonSet
    | ReplaceDaemonSet
    | DeleteDaemonSet
    | RemoveGate
    | DeletePod
    | WatchImageLists
)
