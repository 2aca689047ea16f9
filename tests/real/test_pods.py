"""The pods of `deploy/`, as pods: installed, seen at work and removed as docs/how-to/ says."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lading.web.details import Details
from lading.wiring.live_progress import LiveProgress
from tests.deploy.manifests import NAMESPACE
from tests.e2e.waiting import until
from tests.real import accounts, pods_under_test
from tests.real.bed import cluster, images, waiting
from tests.real.pods_under_test import IN_NAMESPACE, OF_AGENTS, WITHIN, Pods
from tests.real.setup import binaries
from tests.web import clusters

IMAGE_GC_PERCENT = 83
"""Not the kubelet's default, so that only an answer of the kubelet has it."""
READ = (
    *("nodes", "pods", "pinnedimagesets", "machineconfigpools", "machineconfignodes"),
    *("daemonsets", "clusterrolebindings"),  # to find the agents
)
STATUS = "print(open('/proc/1/status').read())"
WRITING = """
import errno, json
def outcome(path):
    try:
        open(path, "x").close()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "written"
print(json.dumps({path: outcome(path) for path in PATHS}))
"""

pytestmark = pytest.mark.components("kube", "containerd", "image")


@pytest.fixture(scope="module")
def bed() -> Iterator[cluster.Cluster]:
    settings = {"imageGCHighThresholdPercent": IMAGE_GC_PERCENT}
    with cluster.cluster(kubelet_settings=settings) as running:
        yield running


@pytest.fixture(scope="module")
def prepared(bed: cluster.Cluster, tmp_path_factory: pytest.TempPathFactory) -> Pods:
    return pods_under_test.prepare(bed, tmp_path_factory.mktemp("overlay"), "live-progress")


@pytest.fixture
def pods(prepared: Pods) -> Pods:
    """Installed and ready, whatever the test before took away."""
    prepared.install()
    return prepared


def test_a_set_is_pinned_by_the_agents_pod_and_everybody_says_so(pods: Pods) -> None:
    image = pods.pin_new("everybody")
    assert pods.is_pinned(image)
    (node,) = pods.objects("machineconfignodes")
    sets = {one["metadata"]["name"]: one for one in pods.objects("pinnedimagesets")}
    reported = {one["name"]: one for one in node["status"]["pinnedImageSets"]}
    assert reported["everybody"] == {
        "name": "everybody",
        "uid": sets["everybody"]["metadata"]["uid"],
        "currentGeneration": 1,
        "desiredGeneration": 1,
        "imageCount": 1,
        "presentImageCount": 1,
    }
    conditions = {one["type"]: one["status"] for one in node["status"]["conditions"]}
    assert conditions["PinnedImageSetsDegraded"] == "False"
    assert conditions["PinnedImageSetsProgressing"] == "False"


def test_the_agents_pod_knows_the_limits_of_its_kubelet(pods: Pods) -> None:
    pods.pin_new("limits")
    reserve_reason = pods.progress()["storage"]["reserveReason"]
    assert f"starts at {IMAGE_GC_PERCENT}% disk usage" in reserve_reason


async def test_the_dashboard_asks_the_agents_pod_with_the_rights_of_its_user(
    pods: Pods, tmp_path: Path
) -> None:
    image = pods.pin_new("seen")
    pods.create_set("not-there", image.replace("sha256:", "sha256:0")[:-1])
    node = {"name": pods.bed.node_name}
    cell = {"node": pods.bed.node_name, "set": "not-there"}
    server = pods.bed.api_server
    kubeconfig = accounts.few_rights(server, tmp_path, *READ)
    async with (
        accounts.client_of(kubeconfig) as client,
        clusters.following(client) as dashboard,
    ):
        await clusters.until(
            dashboard, lambda one: one["nodes"][node["name"]]["cells"]["not-there"][0] == "Failed"
        )
        details = Details(dashboard, agents=LiveProgress(client))
        assert await details.collection(node) == {"isKnown": False}
        assert not (await details.cell(cell))["isLive"]
        accounts.few_rights(server, tmp_path, *READ, "pods/proxy")

        async def is_known() -> bool:
            return bool((await details.collection(node))["isKnown"])

        await until(is_known, "the agent answers about garbage collection")
        judged = await details.collection(node)
        live = await details.cell(cell)
    pods.kubectl("delete", "pinnedimagesets", "--all")
    recovered = "--for=condition=PinnedImageSetsDegraded=False"
    pods.kubectl("wait", recovered, f"machineconfignode/{node['name']}", WITHIN)
    assert judged["highPercent"] == IMAGE_GC_PERCENT
    verdicts = {
        name: one for group in judged["groups"] for one in group["images"] for name in one["names"]
    }
    assert (verdicts[image]["reason"], verdicts[image]["sets"]) == ("Pinned", ["seen"])
    assert live["isLive"]
    assert live["nextTry"]


@pytest.mark.parametrize(("component", "user"), [("agent", "0"), ("controller", "65532")])
def test_a_pod_has_no_rights_beyond_its_user(pods: Pods, component: str, user: str) -> None:
    lines = (line.partition(":") for line in pods.inside(component, STATUS).splitlines())
    status = {name: value.split() for name, _, value in lines}
    assert status["Uid"] == status["Gid"] == [user] * 4
    capabilities = [status[name] for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb", "CapInh")]
    assert capabilities == [["0" * 16]] * 5
    assert status["NoNewPrivs"] == ["1"]
    assert status["Seccomp"] == ["2"]  # by filter


def test_the_agents_pod_writes_to_its_own_folder_only(pods: Pods) -> None:
    refused = ["/file", "/host/run/containerd/file", "/host/etc/containerd/file"]
    refused.append("/host/var/lib/containerd/file")
    program = f"PATHS = {[*refused, '/var/lib/lading/file']}{WRITING}"
    outcomes = json.loads(pods.inside("agent", program))
    assert outcomes.pop("/var/lib/lading/file") == "written"
    assert outcomes == dict.fromkeys(refused, "EROFS")
    (pods.place.host_root / "var/lib/lading/file").unlink()


def test_an_image_is_held_with_the_program_of_the_controllers_own_image(pods: Pods) -> None:
    host = pods.bed.registry.host
    image = images.image(files={"cargo.txt": b"no shell"})
    url = images.push(image, host=host, repository="held", tag="1")
    body = {
        "apiVersion": "longhorn.io/v1beta2",
        "kind": "Image",
        "metadata": {"name": "held", "namespace": NAMESPACE},
        "spec": {"imageURL": url},
    }
    pods.kubectl("create", "-f", "-", stdin=json.dumps(body))
    state = "--for=jsonpath={.status.state}=deployed"
    pods.kubectl("wait", state, "images.longhorn.io/held", IN_NAMESPACE, WITHIN)
    (found,) = pods.objects("images.longhorn.io", IN_NAMESPACE)
    assert found["status"]["ownerID"] == pods.bed.node_name
    pods.kubectl("delete", "images.longhorn.io/held", IN_NAMESPACE)


def test_another_controllers_pod_takes_over(pods: Pods) -> None:
    first = pods.leader()
    pods.kubectl("delete", f"pod/{first}", IN_NAMESPACE)
    waiting.until(lambda: pods.leader() not in ("", first), "another pod holds the lease")
    pods.pin_new("takeover")


def test_what_was_pinned_is_unpinned_before_everything_is_removed(pods: Pods) -> None:
    image = pods.pin_new("removed")
    pods.kubectl("delete", "pinnedimagesets", "--all")
    waiting.until(lambda: not pods.is_pinned(image), f"{image} is no longer pinned")
    pods.kubectl("delete", "-k", str(pods.overlay))
    assert not pods.kubectl("get", "namespaces,crds,clusterroles", "--output=name").count("lading")


def test_a_node_that_lost_its_cluster_is_cleaned_up_by_the_image_alone(pods: Pods) -> None:
    image = pods.pin_new("cleanup")
    pods.kubectl("delete", "daemonset/lading-agent", OF_AGENTS)
    (container,) = pods.objects("deployment", IN_NAMESPACE)[0]["spec"]["template"]["spec"][
        "containers"
    ]
    output = pods.place.run(
        binaries.built("containerd", "ctr"),
        "--namespace=k8s.io",
        "run",
        "--rm",
        "--user=0",
        f"--runc-binary={binaries.unpacked('runc', 'usr/sbin/runc')}",
        "--mount=type=bind,src=/run/containerd,dst=/run/containerd,options=rbind:ro",
        container["image"],
        "lading-cleanup",
        *("lading", "agent", "--cleanup", f"--node={pods.bed.node_name}"),
    )
    assert "unpinned" in output
    assert not pods.is_pinned(image)
