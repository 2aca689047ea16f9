"""Observes for both reconcilers: from the caches, and by reading what no cache has."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Generic, TypeVar

import msgspec

from lading.api.core import DAEMON_SETS, EVENTS, NODES, PODS, DaemonSet, Node, Pod, Secret
from lading.api.longhorn import IMAGES, SETTING_NAME, SETTINGS, Image, Setting
from lading.kernel import texts
from lading.kernel.objects import Key
from lading.loop import own_facts
from lading.loop.feature import Context
from lading.loop.informer import Informer, OptionalInformer
from lading.loop.own_facts import ReadOnce, WriteLog
from lading.loop.reconciler import ReadYourWrites
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import Kube, Selection
from lading.prepull import faults, holder
from lading.prepull.fleet import HolderFleet
from lading.prepull.holder import BadHoldKey
from lading.prepull.image_lists import NodeImageLists
from lading.prepull.types import (
    KEY_WRITE,
    Fault,
    HoldKey,
    ImageReason,
    ObservedPrePull,
    PrePullSettings,
)

T = TypeVar("T")
_FAILED_CREATE = f"regarding.kind=DaemonSet,regarding.name={holder.NAME},reason=FailedCreate"
_MISSING_SECRET = "regarding.kind=Pod,reason=FailedToRetrieveImagePullSecret"
_SECRET_NAMES = re.compile(r"\((?P<names>[^)]*)\)")
_EVENTS_MAX = 20


class PrePullCaches(msgspec.Struct, frozen=True, kw_only=True):
    images: Informer[Image]
    settings: OptionalInformer[Setting]
    """Its kind is Longhorn's too, so a cluster may lack it."""
    daemon_sets: Informer[DaemonSet]
    pods: Informer[Pod]
    nodes: Informer[Node]

    @classmethod
    def of(cls, context: Context) -> "PrePullCaches":
        informers, namespace = context.informers, context.namespace

        def named(name: str) -> Selection:
            return Selection(namespace=namespace, field_selector=f"metadata.name={name}")

        return cls(
            images=informers.of(IMAGES, Selection(namespace=namespace)),
            settings=context.optional(SETTINGS, named(SETTING_NAME)),
            daemon_sets=informers.of(DAEMON_SETS, named(holder.NAME)),
            pods=informers.of(
                PODS, Selection(namespace=namespace, label_selector=holder.HOLDER_SELECTOR)
            ),
            nodes=informers.of(NODES),
        )


class PrePullFacts:
    """The facts of the DaemonSet and of all statuses."""

    def __init__(
        self,
        *,
        kube: Kube,
        clock: Clock,
        caches: PrePullCaches,
        fleet: HolderFleet,
        image_lists: NodeImageLists,
        settings: PrePullSettings,
        namespace: str,
        gate_is_on: bool,
        writes: WriteLog,
    ) -> None:
        self.images = ReadYourWrites(caches.images, clock)
        self.daemon_sets = ReadYourWrites(caches.daemon_sets, clock)
        self._setting = caches.settings
        self._clock = clock
        self._fleet = fleet
        self._image_lists = image_lists
        self._settings = settings
        self._namespace = namespace
        self._gate_is_on = gate_is_on
        self._writes = writes
        self._changed_since: datetime | None = None
        self._changed_at: datetime | None = None
        self._hold_image = ReadOnce(
            lambda: own_facts.own_image(
                kube,
                option=settings.hold_image,
                pod_name=settings.pod_name,
                namespace=namespace,
            )
        )
        interval = settings.periods.missing_pods_interval
        self._failure = _ReadRarely(lambda: creation_failure(kube, namespace), clock, interval)
        self._secrets = _ReadRarely(
            lambda: missing_pull_secrets(kube, settings.pull_secrets, namespace), clock, interval
        )
        caches.images.add_handler(self._image_changed)

    async def observe(self) -> ObservedPrePull:
        await self._fleet.recount()
        writes = self._writes.all()
        read = writes.get(KEY_WRITE)
        key, problem = _key(read.answer if read else None)
        return ObservedPrePull(
            namespace=self._namespace,
            images=tuple(self.images),
            setting=await self._setting.get(SETTING_NAME, namespace=self._namespace),
            daemon_set=self.daemon_sets.get(Key(self._namespace, holder.NAME)),
            changed_since=self._changed_since,
            changed_at=self._changed_at,
            hold_image=await self._hold_image.get() or "",
            gate_is_on=self._gate_is_on,
            key=key,
            key_problem=(read.refusal if read else "") or problem,
            roll_out=self._fleet.roll_out(),
            reads_image_lists=self._image_lists.is_wanted,
            writes=writes,
        )

    async def creation_failure(self) -> Fault | None:
        """Why a node has no pod. The events are read only while a node lacks one for too long."""
        since = self._fleet.roll_out().without_pod_since
        grace = self._settings.periods.pod_creation_grace
        if since is None or self._clock.now() - since < grace:
            return None
        return await self._failure.get()

    async def missing_secrets(self) -> tuple[str, ...]:
        """The pull secrets that a kubelet did not find."""
        if not self._settings.pull_secrets or not self._fleet.roll_out().is_unauthorized:
            return ()
        return await self._secrets.get() or ()

    def _image_changed(self, old: Image | None, new: Image | None) -> None:
        if old is not None and new is not None and old.spec == new.spec:
            return
        now = self._clock.now()
        if self._changed_at is None or now - self._changed_at > self._settings.quiet_max:
            self._changed_since = now
        self._changed_at = now


class _ReadRarely(Generic[T]):
    """Reads at most once in an interval."""

    def __init__(
        self, read: Callable[[], Awaitable[T | None]], clock: Clock, interval: timedelta
    ) -> None:
        self._read = read
        self._clock = clock
        self._interval = interval
        self._found: T | None = None
        self._read_at: datetime | None = None
        self._reading = asyncio.Lock()

    async def get(self) -> T | None:
        async with self._reading:
            now = self._clock.now()
            if self._read_at is None or now - self._read_at >= self._interval:
                self._found = await self._read()
                self._read_at = now
            return self._found


def _key(secret: object) -> tuple[HoldKey | None, str]:
    if not isinstance(secret, Secret):
        return None, ""
    try:
        return holder.key_of(secret), ""
    except BadHoldKey as error:
        return None, str(error)


async def creation_failure(api: Kube, namespace: str) -> Fault | None:
    """The error of the DaemonSet controller about pods that it could not create."""
    selection = Selection(namespace=namespace, field_selector=_FAILED_CREATE)
    try:
        page = await api.page(EVENTS, selection, limit=_EVENTS_MAX)
    except (kube.Forbidden, kube.Invalid):
        return None
    if not page.items:
        return None
    note = max(page.items, key=lambda one: int(one.metadata.resource_version or 0)).note
    why = ImageReason.QUOTA if "exceeded quota" in note else ImageReason.CANNOT_START
    return Fault(why=why, message=texts.bounded_text(note, bytes_max=faults.MESSAGE_BYTES_MAX))


async def missing_pull_secrets(
    api: Kube, secrets: Sequence[str], namespace: str
) -> tuple[str, ...]:
    """The secrets that a kubelet did not find for a holder pod, from its events.

    The controller has no right to read the Secrets themselves.
    """
    selection = Selection(namespace=namespace, field_selector=_MISSING_SECRET)
    try:
        page = await api.page(EVENTS, selection, limit=_EVENTS_MAX)
    except (kube.Forbidden, kube.Invalid):
        return ()
    missing: set[str] = set()
    for one in page.items:
        found = _SECRET_NAMES.search(one.note)
        if found is not None and one.regarding.name.startswith(f"{holder.NAME}-"):
            missing.update(found["names"].split(", "))
    return tuple(name for name in secrets if name in missing)
