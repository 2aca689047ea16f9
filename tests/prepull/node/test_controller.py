"""The condition that an agent sets on the holder pods of its node."""

from datetime import timedelta
from typing import Any

import pytest

from lading.adapters.clock import SystemClock
from lading.api.core import PODS
from lading.kernel.conditions import Truth
from lading.kernel.objects import Key
from lading.kernel.platforms import Platform
from lading.loop.informer import Informer
from lading.ports import kube
from lading.prepull.node.controller import PresenceReconciler
from lading.prepull.node.plan import WritePresence
from lading.prepull.types import IMAGES_PRESENT, PresenceReason
from tests.prepull.clusters import PrePullCluster, opened
from tests.prepull.worlds import NAMESPACE, NOW, A


class NoRuntime:
    """Nothing is asked of it."""


def write(uid: str) -> WritePresence:
    return WritePresence(
        key=Key(NAMESPACE, "pod"),
        uid=uid,
        status=Truth.FALSE,
        reason=PresenceReason.MISSING,
        message="missing: image-1",
        now=NOW,
        because="",
    )


def reconciler(cluster: PrePullCluster) -> PresenceReconciler:
    runtime: Any = NoRuntime()
    return PresenceReconciler(
        pods=Informer(PODS),
        kube=cluster.kube,
        cri=runtime,
        platform=Platform(os="linux", architecture="amd64"),
        clock=SystemClock(),
        resync_period=timedelta(hours=1),
    )


async def conditions(cluster: PrePullCluster) -> dict[str, str]:
    found = await cluster.kube.get(PODS, "pod", namespace=NAMESPACE)
    return {one.type: one.status for one in found.status.conditions}


async def test_a_pod_of_the_same_name_that_was_not_compared_gets_no_condition() -> None:
    async with opened() as cluster:
        spec = {"containers": [{"name": "c", "image": A}]}
        made = await cluster.create(PODS, "pod", spec=spec)
        with pytest.raises(kube.Invalid, match="of-another"):
            await reconciler(cluster).apply(write("of-another"))
        assert IMAGES_PRESENT not in await conditions(cluster)
        ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        await cluster.kube.patch(PODS, "pod", ready, namespace=NAMESPACE, subresource="status")
        await reconciler(cluster).apply(write(made.metadata.uid))
        assert await conditions(cluster) == {"Ready": "True", IMAGES_PRESENT: "False"}
