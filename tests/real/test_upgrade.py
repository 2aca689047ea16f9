"""An installation with one namespace is upgraded in place: nothing pinned or held is lost.

The manifests and the DaemonSet that holds images are those of the last revision with one namespace.
The pods run the image of this tree; what changes are the objects of the cluster.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from lading.prepull import holder
from tests.deploy.manifests import AGENT_NAMESPACE, DEPLOY, NAMESPACE, SETTING
from tests.real import pods_under_test
from tests.real.bed import cluster, images, waiting
from tests.real.pods_under_test import IN_NAMESPACE, WITHIN, Pods

MANIFESTS = Path(__file__).parent / "one-namespace.yaml"
DAEMON_SET = Path(__file__).parents[1] / "golden" / "prepull" / "before-image-volumes.yaml"
LOOK_SECONDS = 0.2
HELD = ("first", "second")
FORMER_OPTIONS = {
    "DaemonSet": ("--log-format=json", "--expansion-factor=2"),
    "Deployment": ("--leader-elect-lease-duration=20s", "--prepull-toleration=team=red"),
}
"""Options that manifests may have since an earlier release."""

pytestmark = pytest.mark.components("kube", "containerd", "image")


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pods]:
    with cluster.cluster() as bed:
        yield pods_under_test.prepare(bed, tmp_path_factory.mktemp("overlay"))


def test_nothing_that_was_pinned_or_held_is_lost_by_an_upgrade(pods: Pods) -> None:
    install_as_recorded(pods)
    pinned = pods.pin_new("kept")
    stop_the_controller(pods)  # the DaemonSet is the recorded one
    held = {name: push(pods, name) for name in HELD}
    hold_as_recorded(pods, held)

    with watching(pods, pinned=pinned, held=tuple(held.values())) as watched:
        upgrade(pods)
        for name in HELD:
            volume = "--for=condition=HeldAsImageVolume"
            pods.kubectl("wait", volume, f"images.longhorn.io/{name}", IN_NAMESPACE, WITHIN)
        pods.kubectl("rollout", "status", f"daemonset/{holder.NAME}", IN_NAMESPACE, WITHIN)
        waiting.until(lambda: states(pods) == {"deployed"}, "both Images are deployed again")
        pods.pin_new("after")
    assert watched.count > 0
    assert watched.gaps == []

    (template,) = (
        one["spec"]["template"]["spec"] for one in named(pods, "daemonsets", holder.NAME)
    )
    references = {one["image"]["reference"] for one in template["volumes"]}
    assert references == set(held.values())
    assert named(pods, "daemonsets", "lading-agent") == []
    (agent,) = pods.objects("pods", f"--namespace={AGENT_NAMESPACE}")
    assert agent["status"]["phase"] == "Running"


def install_as_recorded(pods: Pods) -> None:
    for file in (DEPLOY / "crds", SETTING):
        pods.kubectl("apply", "--server-side", "-f", str(file))
    pods.kubectl("wait", "--for=condition=Established", "--all", "crd", WITHIN)
    body = yaml.safe_dump_all(recorded_manifests(pods))
    pods.kubectl("apply", "--server-side", "-f", "-", stdin=body)
    for what in ("deployment/lading-controller", "daemonset/lading-agent"):
        pods.kubectl("rollout", "status", what, IN_NAMESPACE, WITHIN)


def recorded_manifests(pods: Pods) -> list[dict[str, Any]]:
    """With the image and the ports of this cluster."""
    text = MANIFESTS.read_text(encoding="utf-8")
    text = text.replace("image: lading:0.1.0", f"image: {own_image(pods)}")
    documents = list(yaml.safe_load_all(text.replace("9581", str(pods.metrics_port))))
    containers = {
        one["kind"]: one["spec"]["template"]["spec"]["containers"][0]
        for one in documents
        if one["kind"] in ("DaemonSet", "Deployment")
    }
    containers["DaemonSet"]["args"].append(f"--kubelet-port={pods.bed.kubelet_port}")
    for kind, options in FORMER_OPTIONS.items():
        containers[kind]["args"] += options
    return documents


def own_image(pods: Pods) -> str:
    (image,) = yaml.safe_load((pods.overlay / "kustomization.yaml").read_text())["images"]
    return f"{image['newName']}@{image['digest']}"


def stop_the_controller(pods: Pods) -> None:
    pods.kubectl("scale", "deployment/lading-controller", "--replicas=0", IN_NAMESPACE)
    selector = "--selector=app.kubernetes.io/component=controller"
    pods.kubectl("wait", "--for=delete", "pods", selector, IN_NAMESPACE, WITHIN)


def push(pods: Pods, name: str) -> str:
    made = images.image(files={"cargo.txt": name.encode()})
    return images.push(made, host=pods.bed.registry.host, repository=name, tag="1")


def hold_as_recorded(pods: Pods, held: dict[str, str]) -> None:
    """As the controller would: Images, their DaemonSet, and each pod gets its turn."""
    owners = [create_image(pods, name, url) for name, url in held.items()]
    body = yaml.safe_load(DAEMON_SET.read_text(encoding="utf-8"))
    body["metadata"]["ownerReferences"] = owners
    template = body["spec"]["template"]["spec"]
    template["initContainers"][0]["image"] = own_image(pods)
    for container, url in zip(template["containers"], held.values(), strict=True):
        container |= {"name": holder.container_name(url), "image": url}
    pods.kubectl("create", "-f", "-", stdin=json.dumps(body))
    waiting.until(lambda: bool(holder_pods(pods)), "the DaemonSet has a pod")
    for one in holder_pods(pods):
        gate = '{"spec": {"schedulingGates": null}}'
        pods.kubectl("patch", f"pod/{one}", "--type=merge", f"--patch={gate}", IN_NAMESPACE)
        pods.kubectl("wait", "--for=condition=Ready", f"pod/{one}", IN_NAMESPACE, WITHIN)


def create_image(pods: Pods, name: str, url: str) -> dict[str, str]:
    body = {
        "apiVersion": "longhorn.io/v1beta2",
        "kind": "Image",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"imageURL": url},
    }
    made = json.loads(pods.kubectl("create", "-f", "-", "--output=json", stdin=json.dumps(body)))
    owner = {key: made[key] for key in ("apiVersion", "kind")}
    return {**owner, "name": name, "uid": made["metadata"]["uid"]}


def holder_pods(pods: Pods) -> list[str]:
    found = pods.objects("pods", IN_NAMESPACE, f"--selector={holder.HOLDER_SELECTOR}")
    return [one["metadata"]["name"] for one in found]


def upgrade(pods: Pods) -> None:
    """As docs/how-to/upgrade-lading.md says for kustomize."""
    pods.kubectl("apply", "--server-side", "-k", str(pods.overlay))
    pods.kubectl("delete", "daemonset,serviceaccount", "lading-agent", IN_NAMESPACE)
    policies = "validatingadmissionpolicy,validatingadmissionpolicybinding"
    pods.kubectl("delete", policies, "lading-controller-account")
    agents = f"--namespace={AGENT_NAMESPACE}"
    pods.kubectl("rollout", "status", "daemonset/lading-agent", agents, WITHIN)
    pods.kubectl("rollout", "status", "deployment/lading-controller", IN_NAMESPACE, WITHIN)


def states(pods: Pods) -> set[str]:
    return {one["status"]["state"] for one in pods.objects("images.longhorn.io", IN_NAMESPACE)}


def named(pods: Pods, kind: str, name: str) -> list[Any]:
    found = pods.objects(kind, IN_NAMESPACE)
    return [one for one in found if one["metadata"]["name"] == name]


@dataclass
class Watched:
    count: int = 0
    gaps: list[str] = field(default_factory=list)


@contextmanager
def watching(pods: Pods, *, pinned: str, held: tuple[str, ...]) -> Iterator[Watched]:
    """Looks at the runtime itself, all the time."""
    watched, ended = Watched(), threading.Event()

    def look() -> None:
        while not ended.is_set():
            watched.gaps += gaps(pods, pinned=pinned, held=held)
            watched.count += 1
            time.sleep(LOOK_SECONDS)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield watched
    finally:
        ended.set()
        thread.join()


def gaps(pods: Pods, *, pinned: str, held: tuple[str, ...]) -> Iterator[str]:
    if not pods.is_pinned(pinned):
        yield f"{pinned} is not pinned"
    known = pods.bed.runtime.crictl_json("images")["images"]
    tags = {tag for one in known for tag in one["repoTags"]}
    running = pods.bed.runtime.crictl_json("ps")["containers"]
    names = {one["metadata"]["name"] for one in running}
    for url in held:
        if url not in tags or holder.container_name(url) not in names:
            yield f"{url} is not held"
