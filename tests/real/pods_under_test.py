"""Lading installed with its own pods: what a test may do to the cluster, and what it may ask."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import free_ports
from tests.deploy.manifests import AGENT_NAMESPACE, NAMESPACE
from tests.real import own_overlay
from tests.real.bed import cluster, images, sandbox

WITHIN = "--timeout=90s"
IN_NAMESPACE = f"--namespace={NAMESPACE}"
OF_AGENTS = f"--namespace={AGENT_NAMESPACE}"
WORKER = {"machineconfiguration.openshift.io/role": "worker"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pods:
    bed: cluster.Cluster
    overlay: Path
    """The kustomization that was applied."""
    metrics_port: int
    """Of the agent, on loopback."""

    @property
    def place(self) -> sandbox.Sandbox:
        """The node itself."""
        folder = self.bed.runtime.sandbox_folder
        (found,) = (each for each in sandbox.OPEN if each.folder == folder)
        return found

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        return self.bed.api_server.kubectl(*arguments, stdin=stdin)

    def objects(self, *what: str) -> list[Any]:
        items: list[Any] = json.loads(self.kubectl("get", *what, "--output=json"))["items"]
        return items

    def install(self) -> None:
        """Returns when every pod is Ready."""
        self.kubectl("apply", "--server-side", "-k", str(self.overlay))
        self.kubectl("rollout", "status", "deployment/lading-controller", IN_NAMESPACE, WITHIN)
        self.kubectl("rollout", "status", "daemonset/lading-agent", OF_AGENTS, WITHIN)

    def pin_new(self, name: str) -> str:
        """A set of an image that no node has yet; the image."""
        reference = self.push(name)
        self.pin(name, reference)
        return reference

    def push(self, name: str) -> str:
        """An image that no node has yet, by its digest."""
        image = images.busybox(extra_files={"content": os.urandom(64)})
        host = self.bed.registry.host
        images.push(image, host=host, repository=name, tag="1")
        return f"{host}/{name}@{image.digest}"

    def pin(self, name: str, image: str) -> None:
        """Returns when the set says that its node has pinned it."""
        self.create_set(name, image)
        self.kubectl("wait", "--for=condition=Ready", f"pinnedimageset/{name}", WITHIN)

    def create_set(self, name: str, image: str) -> None:
        body = {
            "apiVersion": "machineconfiguration.openshift.io/v1",
            "kind": "PinnedImageSet",
            "metadata": {"name": name, "labels": WORKER},
            "spec": {"pinnedImages": [{"name": image}]},
        }
        self.kubectl("create", "-f", "-", stdin=json.dumps(body))

    def present(self) -> dict[str, bool]:
        """What the runtime itself says: every image by digest, and whether it is pinned."""
        known = self.bed.runtime.crictl_json("images")["images"]
        return {name: one["pinned"] for one in known for name in one["repoDigests"]}

    def is_pinned(self, image: str) -> bool:
        return self.present().get(image, False)

    def leader(self) -> str:
        """The pod that holds the lease."""
        holder = "--output=jsonpath={.spec.holderIdentity}"
        return self.kubectl("get", "lease/lading-controller", IN_NAMESPACE, holder).split("_")[0]

    def progress(self) -> Any:
        """Through the API server, for which the component `live-progress` is needed."""
        (pod,) = self.objects("pods", OF_AGENTS, "-l=app.kubernetes.io/component=agent")
        pods = f"/api/v1/namespaces/{AGENT_NAMESPACE}/pods"
        path = f"{pods}/{pod['metadata']['name']}/proxy/pinned-images"
        return json.loads(self.kubectl("get", "--raw", path))

    def inside(self, component: str, program: str) -> str:
        """What a Python program prints in a container of this component."""
        engine = self.bed.runtime
        container = engine.crictl("ps", "--quiet", f"--name={component}").split()[0]
        return engine.crictl("exec", "--sync", container, "python3", "-c", program)


def prepare(bed: cluster.Cluster, folder: Path, *components: str) -> Pods:
    """Everything but the installation itself."""
    metrics_port = free_ports.find()
    own_overlay.write(folder, bed, metrics_port=metrics_port, components=components)
    return Pods(bed=bed, overlay=folder, metrics_port=metrics_port)
