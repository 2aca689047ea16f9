"""The commands of how-to pages that are marked for Kubernetes, on a real one with Lading in it.

Names of a page stand for what the test has: its registry, its storage, images of that registry.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.docs import pages
from tests.docs.pages import Block
from tests.real import pods_under_test
from tests.real.bed import cluster
from tests.real.pods_under_test import WORKER, Pods
from tests.real.setup import binaries

pytestmark = pytest.mark.components("kube", "containerd")

COMMAND_SECONDS_MAX = 180
PAGES = sorted((pages.DOCS / "how-to").glob("*.md"))
REGISTRIES = re.compile(r"\b(registry|mirror)\.example\.com(:5000)?")
POLICY = """\
policies:
- repositories: ["team/**"]
  keepTags:
  - patterns: ["release.*"]
"""


def blocks(page: Path) -> list[Block]:
    return [
        one
        for one in pages.blocks(page)
        if one.language == "console" and one.title == pages.KUBERNETES
    ]


PARSED_ONLY = {
    # The API server of the bed does not reach its node by name, so `lading pin plan` ends with 1.
    *("private-images", "slow-line", "upgrade-window"),
    # They change a release of Helm: `test_helm` upgrades and removes one.
    *("container-runtimes", "uninstall"),
}
RUN = [page for page in PAGES if blocks(page) and page.stem not in PARSED_ONLY]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    pods: Pods
    folder: Path

    def prepare(self, name: str) -> None:
        """The files that a page assumes, with an image that no node has."""
        image = self.pods.push(name)
        (self.folder / "set.yaml").write_text(yaml.safe_dump(_set(name, image)))
        (self.folder / "policy.yaml").write_text(POLICY)

    def run(self, command: str) -> str:
        answer = subprocess.run(
            ["bash", "-o", "pipefail", "-c", self._placed(command)],
            env=self._environment(),
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=COMMAND_SECONDS_MAX,
        )
        assert answer.returncode == 0, f"$ {command}\n{answer.stdout}"
        return answer.stdout

    def _placed(self, command: str) -> str:
        registry = self.pods.bed.registry
        placed = REGISTRIES.sub(registry.host, command)
        return placed.replace("s3://registry-bucket", f"file://{registry.root}")

    def _environment(self) -> dict[str, str]:
        programs = (
            binaries.built("kubernetes", "kubectl").parent,
            Path(sys.executable).parent,
        )
        return os.environ | {
            "PATH": os.pathsep.join((*map(str, programs), os.environ["PATH"])),
            "HOME": str(self.folder),
            "KUBECONFIG": str(self.pods.bed.api_server.kubeconfig_path),
        }


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
    for block in blocks(page):
        for step in pages.commands(block):
            printed = site.run(step.text)
            if step.expected:
                assert pages.matches(step.expected, printed), f"$ {step.text}\n{printed}"
