"""The chart on a real cluster: over a kustomize install, upgraded, rolled back, and from docs/.

One test in four steps: each begins with what the one before left on the cluster.
"""

import json
import re
import shlex
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lading.api.machineconfiguration.boot_image_history import MACHINE_SET_BOOT_IMAGE_HISTORY
from tests import free_ports
from tests.deploy.manifests import NAMESPACE
from tests.e2e.waiting import until
from tests.real import helm as helm_program
from tests.real import how_to, own_overlay, prometheus
from tests.real.bed import cluster, waiting
from tests.real.helm import CHART, Helm
from tests.real.pods_under_test import IN_NAMESPACE, WITHIN, Pods
from tests.real.prometheus import Prometheus

pytestmark = pytest.mark.components("kube", "containerd", "helm", "image")
COMMANDS = re.compile(r"`make real` runs these commands:\n\n```console\n(.*?)```", re.DOTALL)
SET = re.compile(r"```yaml\n(# first.yaml\n.*?)```", re.DOTALL)
COMMANDS_MAX = 10
WAIT = ("--wait", "--timeout=4m")
RULES = CHART / "monitoring" / "lading-rules.yaml"
DASHBOARD = CHART / "monitoring" / "grafana-dashboard.json"
WITHOUT_DATA = (
    "lading_boot_images_",
    "lading_pruning_last_success_timestamp_seconds",
    "lading_pruning_failed",
    "lading_pruning_freed_bytes",
)
"""The cluster has no machine sets and no run of the pruner."""
FOREIGN = MACHINE_SET_BOOT_IMAGE_HISTORY


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    pods: Pods
    helm: Helm
    repository: str
    digest: str
    values: Path
    """Ports that are free on this machine, which has other clusters."""

    def deployment(self) -> Any:
        return json.loads(
            self.pods.kubectl("get", "deployment/lading-controller", IN_NAMESPACE, "--output=json")
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with cluster.cluster() as bed:
        folder = tmp_path_factory.mktemp("helm")
        overlay = tmp_path_factory.mktemp("overlay")
        metrics_port = free_ports.find()
        repository, digest = own_overlay.write(overlay, bed, metrics_port=metrics_port)
        helm = helm_program.on(bed.api_server, folder)
        agent = {"metricsPort": metrics_port, "kubeletPort": bed.kubelet_port}
        yield Installation(
            pods=Pods(bed=bed, overlay=overlay, metrics_port=metrics_port),
            helm=helm,
            repository=repository,
            digest=digest,
            values=helm.values("ports.yaml", {"agent": agent}),
        )


@pytest.mark.timeout(900)
async def test_the_chart_through_its_whole_life(installed: Installation, tmp_path: Path) -> None:
    _it_takes_over_a_kustomize_install_and_is_upgraded_and_rolled_back(installed)
    _the_commands_of_the_documentation_lead_to_the_first_pinned_image(installed)
    await _prometheus_sees_what_every_panel_shows_and_two_alerts_fire(installed, tmp_path)
    _an_uninstall_leaves_the_kinds_with_their_sets(installed)


def _it_takes_over_a_kustomize_install_and_is_upgraded_and_rolled_back(
    installed: Installation,
) -> None:
    pods, helm = installed.pods, installed.helm
    pods.install()
    image = pods.pin_new("before")
    chosen = f"--set=image.repository={installed.repository},image.digest={installed.digest}"
    release = ("lading", helm.chart("0.0.9"), IN_NAMESPACE, *WAIT)
    values = f"--values={installed.values}"
    helm.run("install", *release, "--take-ownership", values, chosen)
    assert pods.is_pinned(image)
    helm.run(
        *("upgrade", "lading", CHART, IN_NAMESPACE, *WAIT),
        *("--reset-then-reuse-values", "--set=controller.replicas=1"),
    )
    assert installed.deployment()["spec"]["replicas"] == 1
    helm.run("rollback", "lading", "1", IN_NAMESPACE, *WAIT)
    assert installed.deployment()["spec"]["replicas"] == 2
    history = json.loads(helm.run("history", "lading", IN_NAMESPACE, "--output=json"))
    charts = [one["chart"] for one in history]
    assert (charts[0], charts[1], charts[2]) == ("lading-0.0.9", f"lading-{_version()}", charts[0])
    assert pods.is_pinned(image)
    pods.pin_new("after")
    pods.kubectl("delete", "pinnedimagesets", "--all")
    waiting.until(lambda: not pods.is_pinned(image), f"{image} is no longer pinned")
    helm.run("uninstall", "lading", IN_NAMESPACE, "--wait")
    left = pods.kubectl("get", "daemonsets,deployments,clusterroles", "--all-namespaces")
    assert "lading" not in left
    assert "pinnedimagesets" in pods.kubectl("get", "crds", "--output=name")
    pods.kubectl("delete", "namespace/lading-system")


def _version() -> str:
    found = re.search(r"^version: (\S+)$", (CHART / "Chart.yaml").read_text(), re.MULTILINE)
    assert found
    return found[1]


def _the_commands_of_the_documentation_lead_to_the_first_pinned_image(
    installed: Installation,
) -> None:
    """In a restricted namespace, beside a kind of another owner, which stays as it is."""
    pods, helm = installed.pods, installed.helm
    owner = "app.kubernetes.io/managed-by=machine-config-operator"
    pods.kubectl("delete", "crd", "--selector=app.kubernetes.io/managed-by=lading")
    pods.kubectl("create", "-f", "-", stdin=json.dumps(FOREIGN.manifest()))
    pods.kubectl("label", "--overwrite", f"crd/{FOREIGN.name}", owner)
    page = own_overlay.INSTALL.read_text(encoding="utf-8")
    (block,), (first,) = COMMANDS.findall(page), SET.findall(page)
    image = pods.push("first")
    set_file = helm.folder / "first.yaml"
    set_file.write_text(first.replace("registry.example.com/app@sha256:...", image))
    commands = [line.removeprefix("$ ") for line in block.splitlines()]
    assert 0 < len(commands) <= COMMANDS_MAX
    printed = [_run(installed, command) for command in commands]
    assert "1/1" in printed[-1] or "Pinned" in printed[-1]
    assert pods.is_pinned(image)
    kept = pods.kubectl("get", f"crd/{FOREIGN.name}", "--show-labels")
    assert owner in kept
    labels = pods.kubectl("get", "namespaces", "--show-labels")
    assert re.search(r"lading-system .*enforce=restricted", labels)
    assert re.search(r"lading-agents .*enforce=privileged", labels)
    _user_has_rights(pods)


def _run(installed: Installation, command: str) -> str:
    words = shlex.split(
        command.replace("registry.example.com/lading", installed.repository)
        .replace("sha256:...", installed.digest)
        .replace("deploy/chart", str(CHART))
    )
    more = (f"--values={installed.values}",) if words[0] == "helm" else ()
    return installed.helm.command(*words, *more)


def _user_has_rights(pods: Pods) -> None:
    """Kubernetes has added our roles to its own."""
    pods.kubectl("create", "clusterrolebinding", "viewer", "--clusterrole=view", "--user=viewer")
    pods.kubectl("create", "clusterrolebinding", "editor", "--clusterrole=edit", "--user=editor")
    sets = ("pinnedimagesets.machineconfiguration.openshift.io",)
    assert pods.kubectl("auth", "can-i", "list", *sets, "--as=viewer").strip() == "yes"
    assert pods.kubectl("auth", "can-i", "create", *sets, "--as=editor").strip() == "yes"


async def _prometheus_sees_what_every_panel_shows_and_two_alerts_fire(
    installed: Installation, tmp_path: Path
) -> None:
    pods = installed.pods
    _hold_an_image(pods)
    absent = f"{pods.bed.registry.host}/absent@sha256:{'0' * 64}"
    pods.create_set("broken", absent)
    selector = "--selector=app.kubernetes.io/component=controller"
    controllers = pods.objects("pods", IN_NAMESPACE, selector)
    targets = [f"{one['status']['podIP']}:8080" for one in controllers]
    agent = f"127.0.0.1:{pods.metrics_port}"
    async with prometheus.scraping(*targets, agent, rules=RULES, folder=tmp_path) as running:

        async def is_firing() -> bool:
            return await running.firing() >= {"PinnedImageSetFailed", "MachineConfigPoolDegraded"}

        await until(is_firing, "Prometheus shows both alerts")
        for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]:
            for target in panel["targets"]:
                if any(metric in target["expr"] for metric in WITHOUT_DATA):
                    assert await running.query(target["expr"]) == []
                else:
                    await until(_has_data(running, target["expr"]), f"{panel['title']} has data")
        assert not await running.firing() & {
            "LadingControllerWithoutLeader",
            "LadingReconcileErrors",
        }
    pods.kubectl("delete", "pinnedimageset/broken")


def _has_data(running: Prometheus, expression: str) -> Callable[[], Awaitable[bool]]:
    """A rate needs two scrapes."""

    async def found() -> bool:
        return bool(await running.query(expression))

    return found


def _hold_an_image(pods: Pods) -> None:
    """In the restricted namespace."""
    body = {
        "apiVersion": "longhorn.io/v1beta2",
        "kind": "Image",
        "metadata": {"name": "held", "namespace": NAMESPACE},
        "spec": {"imageURL": pods.push("held")},
    }
    pods.kubectl("create", "-f", "-", stdin=json.dumps(body))
    state = "--for=jsonpath={.status.state}=deployed"
    pods.kubectl("wait", state, "images.longhorn.io/held", IN_NAMESPACE, WITHIN)


def _an_uninstall_leaves_the_kinds_with_their_sets(installed: Installation) -> None:
    """By the commands of the page, of which the last deletes the kinds that are ours."""
    pods = installed.pods
    uninstall, delete_kinds = how_to.commands(how_to.FOLDER / "uninstall.md")
    installed.helm.command(*shlex.split(uninstall.text), "--wait")
    assert "first" in {one["metadata"]["name"] for one in pods.objects("pinnedimagesets")}
    assert "lading" not in pods.kubectl("get", "clusterroles", "--output=name")
    installed.helm.command(*shlex.split(delete_kinds.text))
    left = pods.kubectl("get", "crds", "--output=name").split()
    assert left == [f"customresourcedefinition.apiextensions.k8s.io/{FOREIGN.name}"]
