"""What no cache has: reports wherever they could be written, and the age of the cluster."""

from collections.abc import AsyncIterator
from typing import Any, cast

import msgspec
import pytest

from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.core import CONFIG_MAPS, LEASES, ConfigMap
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SET
from lading.api.openshift_config import ClusterVersion
from lading.installation import apply as installation
from lading.ports import kube
from lading.ports.kube import Kube
from lading.pruning.operator import observe
from lading.pruning.operator.types import DECISION_NAME
from tests.pruning.operator.pruner_clusters import CLOCK, PrunerCluster, opened
from tests.pruning.operator.pruner_worlds import NAMESPACE, pruner


@pytest.fixture
async def cluster() -> AsyncIterator[PrunerCluster]:
    async with opened() as one:
        yield one


def test_reports_come_from_the_status_and_the_config_map_as_far_as_they_can_be_read() -> None:
    status = {"lastRun": [{"name": "b", "job": "old"}, {"job": "without a name"}, 7]}
    data = {"b": '{"name": "b", "job": "new"}', "a": '{"name": "a"}', "x": "{", "y": "[]"}
    found = observe.reports(pruner(status=status), msgspec.convert({"data": data}, ConfigMap))
    assert [(one.name, one.job) for one in found] == [("a", ""), ("b", "new")]
    assert observe.reports(pruner(status={"lastRun": "none"}), None) == ()
    assert observe.reports(None, None) == ()


async def test_a_kind_without_our_label_is_of_another_owner(cluster: PrunerCluster) -> None:
    assert not await observe.kind_is_foreign(cluster.kube)
    await cluster.give_the_kind_another_owner()
    assert await observe.kind_is_foreign(cluster.kube)


async def test_a_decision_that_was_emptied_is_a_decision(cluster: PrunerCluster) -> None:
    assert await observe.decision(cluster.kube, NAMESPACE) is None
    await cluster.create(CONFIG_MAPS, DECISION_NAME, data={})
    assert await observe.decision(cluster.kube, NAMESPACE) == ""


async def test_the_age_of_the_cluster_is_read_from_its_kinds_and_its_lease(
    cluster: PrunerCluster,
) -> None:
    past = [{"version": one} for one in ("4.20.1", "4.20.1", "4.19.9")]
    version = msgspec.convert({"status": {"history": past}}, ClusterVersion)
    first = await observe.history(cluster.kube, NAMESPACE, version)
    assert first.openshift_versions == 2
    assert (first.first_start, first.other_kinds_since) == (None, None)
    assert first.pruner_kind_since is not None
    await installation.install(cluster.kube, CLOCK, (PINNED_IMAGE_SET,))
    await cluster.create(LEASES, "lading-controller", spec={})
    later = await observe.history(cluster.kube, NAMESPACE, None)
    assert later.openshift_versions == 0
    assert later.first_start is not None
    assert later.other_kinds_since is not None
    theirs = {"metadata": {"labels": {"app.kubernetes.io/managed-by": None}}}
    await cluster.kube.patch(CUSTOM_RESOURCE_DEFINITIONS, PINNED_IMAGE_SET.name, theirs)
    found = await observe.history(cluster.kube, NAMESPACE, None)
    assert found.other_kinds_since is None, "OpenShift installs the same kind"


class Forbidding:
    async def get(self, *_: Any, **__: Any) -> None:
        raise kube.Forbidden("no")


async def test_what_may_not_be_read_is_not_known() -> None:
    api = cast(Kube, Forbidding())
    assert not await observe.kind_is_foreign(api)
