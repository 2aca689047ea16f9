"""Compares the images of a node's runtime with the holder pods there."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from lading.api.core import PODS, Pod
from lading.kernel import conditions, manifests, platforms, references
from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.kernel.platforms import Platform
from lading.loop import pipeline
from lading.loop.controller import Controller
from lading.loop.informer import Informer, Informers
from lading.loop.reconciler import ReadYourWrites
from lading.ports.clock import Clock
from lading.ports.cri import Cri, ImageSpec, Inspection
from lading.ports.kube import Kube, PatchType, Selection
from lading.prepull import holder
from lading.prepull.node import plan
from lading.prepull.node.plan import ObservedHolders, WritePresence
from lading.prepull.types import FIELD_MANAGER, IMAGES_PRESENT, PrePullPeriods

KEY = Key("", "holder-pods")


def pods_of(informers: Informers, namespace: str, node_name: str) -> Informer[Pod]:
    return informers.of(
        PODS,
        Selection(
            namespace=namespace,
            label_selector=holder.HOLDER_SELECTOR,
            field_selector=f"spec.nodeName={node_name}",
        ),
    )


class PresenceReconciler:
    """Reconciles the holder pods of the node. Without such pods it does not call the runtime."""

    def __init__(
        self,
        *,
        pods: Informer[Pod],
        kube: Kube,
        cri: Cri,
        platform: Platform,
        clock: Clock,
        resync_period: timedelta,
    ) -> None:
        self._pods = ReadYourWrites(pods, clock)
        self._kube = kube
        self._cri = cri
        self._platform = platform
        self._clock = clock
        self._resync_period = resync_period

    async def reconcile(self, key: Key) -> datetime | None:
        return await pipeline.reconcile(self, key, self._clock)

    async def observe(self, key: Key) -> ObservedHolders:
        pods = tuple(self._pods)
        urls = {url for pod in pods for url in plan.ready_urls(pod).values()}
        found = {url: await self._cri.inspect(_as_asked(url)) for url in sorted(urls)}
        present = {url: one for url, one in found.items() if one is not None}
        foreign = {url for url, one in present.items() if self._is_foreign(one)}
        return ObservedHolders(pods=pods, present=frozenset(present), foreign=frozenset(foreign))

    def _is_foreign(self, found: Inspection) -> bool:
        """Runtimes pull a reference to a single manifest for any platform."""
        detail = msgspec.json.decode(found.info.get("info") or b"{}")
        config = msgspec.json.encode(detail.get("imageSpec") or {})
        return (
            platforms.refusal(self._platform, manifests.parse_config(config).platform) is not None
        )

    def plan(self, observed: ObservedHolders, now: datetime) -> Plan:
        if not observed.pods:
            return Plan()
        return plan.plan(observed, now, recheck_at=now + self._resync_period)

    async def apply(self, action: WritePresence) -> None:
        """The uid in the patch is a precondition."""
        condition = {
            "type": IMAGES_PRESENT,
            "status": action.status,
            "reason": action.reason,
            "message": action.message,
            "lastTransitionTime": conditions.timestamp(action.now),
        }
        body = {"metadata": {"uid": action.uid}, "status": {"conditions": [condition]}}
        with pipeline.precondition(type(action).__name__):
            written = await self._kube.patch(
                PODS,
                action.key.name,
                body,
                namespace=action.key.namespace,
                patch_type=PatchType.STRATEGIC,
                subresource="status",
                field_manager=FIELD_MANAGER,
            )
        self._pods.add(written)


def _as_asked(url: str) -> ImageSpec:
    """As the kubelet asks: the runtime resolves a short name."""
    return ImageSpec(image=str(references.parse(url).with_default_tag()))


def watch(controller: Controller, pods: Informer[Pod], periods: PrePullPeriods) -> None:
    def key(old: Pod | None, new: Pod | None) -> Iterable[Key]:
        return (KEY,)

    controller.watch(pods, key, debounce_seconds=periods.presence_debounce_seconds)
