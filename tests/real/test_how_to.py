"""The commands of how-to pages that are marked for Kubernetes, on a real one with Lading in it.

Names of a page stand for what the test has: its registry, its storage, images of that registry.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.docs import pages
from tests.real import how_to, pods_under_test
from tests.real.bed import cluster
from tests.real.pods_under_test import WORKER, Pods

pytestmark = pytest.mark.components("kube", "containerd", "image")

PAGES = sorted(how_to.FOLDER.glob("*.md"))
POLICY = """\
policies:
- repositories: ["team/**"]
  keepTags:
  - patterns: ["release.*"]
"""
DATABASES = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: databases.example.com
spec:
  group: example.com
  scope: Cluster
  names: {plural: databases, singular: database, kind: Database, listKind: DatabaseList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""
"""The custom resources of a page."""


ELSEWHERE = {
    "container-runtimes.md": "test_pods_crio",
    "private-images.md": "test_how_to_plans",
    "slow-line.md": "test_how_to_plans",
    "uninstall.md": "test_helm",
    "upgrade-window.md": "test_how_to_plans",
}
"""Pages that another module runs."""
RUN = [page for page in PAGES if how_to.blocks(page) and page.name not in ELSEWHERE]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    pods: Pods
    folder: Path

    def prepare(self, name: str) -> None:
        """The files that a page assumes, with an image that no node has."""
        image = self.pods.push(name)
        (self.folder / "set.yaml").write_text(yaml.safe_dump(_set(name, image)))
        (self.folder / "policy.yaml").write_text(POLICY)
        (self.folder / "databases.yaml").write_text(DATABASES)
        self.run("kubectl apply -f databases.yaml")
        self.run("kubectl wait --for condition=Established crd/databases.example.com")

    def run(self, command: str) -> str:
        registry = self.pods.bed.registry
        placed = how_to.REGISTRIES.sub(registry.host, command)
        placed = placed.replace("s3://registry-bucket", f"file://{registry.root}")
        kubeconfig = str(self.pods.bed.api_server.kubeconfig_path)
        return how_to.run(placed, self.folder, {"KUBECONFIG": kubeconfig})


def _set(name: str, image: str) -> dict[str, object]:
    return {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "PinnedImageSet",
        "metadata": {"name": name, "labels": WORKER},
        "spec": {"pinnedImages": [{"name": image}]},
    }


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pods]:
    with cluster.cluster() as bed:
        prepared = pods_under_test.prepare(bed, tmp_path_factory.mktemp("overlay"))
        prepared.install()
        prepared.pin_new("in-use")
        yield prepared


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_the_commands_of_a_page_work_on_a_cluster(page: Path, pods: Pods, tmp_path: Path) -> None:
    site = Site(pods=pods, folder=tmp_path)
    site.prepare(page.stem)
    for step in how_to.commands(page):
        printed = site.run(step.text)
        if step.expected:
            assert pages.matches(step.expected, printed), f"$ {step.text}\n{printed}"


def test_a_node_of_containerd_is_checked_by_the_commands_of_its_page(
    pods: Pods, tmp_path: Path
) -> None:
    site = Site(pods=pods, folder=tmp_path)
    for step in how_to.commands(how_to.FOLDER / "container-runtimes.md", title="containerd"):
        socket = "unix:///run/containerd/containerd.sock"
        assert socket in step.text
        printed = site.run(step.text.replace(socket, pods.bed.runtime.endpoint))
        assert "image ls" not in step.text or "/in-use" in printed


def test_another_module_runs_each_of_the_other_pages() -> None:
    for page, module in ELSEWHERE.items():
        source = Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
        assert f'"{page}"' in source
