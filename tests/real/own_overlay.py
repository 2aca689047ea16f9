"""A kustomization of one's own over `deploy/`, as docs/install.md shows it.

Beside the image it changes only ports: other clusters of this machine have the usual ones, and the
agent shares the network of its host.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.manifests import DEPLOY, KUSTOMIZATION
from tests.real.bed import buildah, images
from tests.real.bed.cluster import Cluster
from tests.real.bed.registry import Registry

INSTALL = DEPLOY.parent / "docs" / "install.md"
EXAMPLE = re.compile(
    r"^```yaml\n(# my-cluster/kustomization.yaml\n.*?)^```$", re.DOTALL | re.MULTILINE
)
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
TAG = "mine"
AGENT = "/spec/template/spec/containers/0"


def write(
    folder: Path, bed: Cluster, *, metrics_port: int, components: Sequence[str] = ()
) -> tuple[str, str]:
    """Pushes the image and names it, by the repository and digest that are returned.

    The rest is as in the documentation, with these components of `deploy/`.
    """
    repository, digest = push(bed.registry)
    overlay = _documented()
    overlay["resources"] = [os.path.relpath(DEPLOY, folder)]
    overlay["components"] = [os.path.relpath(DEPLOY / one, folder) for one in components]
    overlay["images"] = [{**overlay["images"][0], "newName": repository, "digest": digest}]
    operations = [
        *(_added(f"--kubelet-port={bed.kubelet_port}"), _added(f"--metrics-port={metrics_port}")),
        _replaced(f"{AGENT}/ports/0/containerPort", metrics_port),
        *(_replaced(f"{AGENT}/{probe}/httpGet/port", metrics_port) for probe in PROBES),
    ]
    overlay["patches"] = [{"target": {"kind": "DaemonSet"}, "patch": yaml.safe_dump(operations)}]
    (folder / KUSTOMIZATION).write_text(yaml.safe_dump(overlay))
    return repository, digest


def push(registry: Registry) -> tuple[str, str]:
    """The repository and the digest of Lading's own image."""
    image = buildah.image()
    pushed = images.push(image, host=registry.host, repository="team/lading", tag=TAG)
    return pushed.rsplit(":", maxsplit=1)[0], image.digest


def _documented() -> dict[str, Any]:
    example = EXAMPLE.search(INSTALL.read_text(encoding="utf-8"))
    assert example, f"{INSTALL} shows no kustomization of one's own"
    overlay: dict[str, Any] = yaml.safe_load(example[1])
    return overlay


def _added(argument: str) -> dict[str, str]:
    return {"op": "add", "path": f"{AGENT}/args/-", "value": argument}


def _replaced(path: str, value: int) -> dict[str, str | int]:
    return {"op": "replace", "path": path, "value": value}
