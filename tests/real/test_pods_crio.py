"""The pods of `deploy/cri-o`, as pods, on a node of CRI-O."""

from collections.abc import Iterator

import pytest

from tests.real import pods_under_test
from tests.real.bed import cluster, waiting
from tests.real.pods_under_test import Pods

pytestmark = pytest.mark.components("kube", "cri-o")


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pods]:
    with cluster.cluster("cri-o") as bed:
        prepared = pods_under_test.prepare(bed, tmp_path_factory.mktemp("overlay"))
        prepared.install()
        yield prepared


def test_a_set_is_pinned_and_unpinned_by_the_agents_pod(pods: Pods) -> None:
    image = pods.pin_new("pinned")
    assert pods.is_pinned(image)
    pods.kubectl("delete", "pinnedimageset/pinned")
    waiting.until(lambda: not pods.is_pinned(image), f"{image} is no longer pinned")


def test_an_image_that_the_kubelet_pulled_by_its_tag_is_pinned_by_its_digest(pods: Pods) -> None:
    (image,) = (name for name in pods.present() if "/team/lading@" in name)
    pods.pin("own", image)
    assert pods.is_pinned(image)
