"""The scenarios of the controller of the ImagePruner on a real kube-apiserver.

The controller has the rights of `deploy/` and is under its admission policies. The garbage
collector is real, too; no other controller runs, so Jobs are played.
"""

import contextlib
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from lading.adapters.kube import connect
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.transport import NetworkTransport
from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.core import CONFIG_MAPS, LEASES
from lading.api.imageregistry import IMAGE_PRUNERS, IMAGE_REGISTRY_CONFIGS, PruneRunPhase
from lading.api.openshift_config import CLUSTER_VERSIONS
from lading.ports import kube
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.operator.run_report import RunReport
from lading.pruning.operator.types import DECISION_NAME, OBJECT_NAME, REPORT_NAME
from tests.deploy.manifests import DEPLOY, NAMESPACE
from tests.pruning.operator.controller_scenarios import ControllerScenarios, until_ready
from tests.pruning.operator.pruner_clusters import CLOCK, Line, PrunerCluster, running
from tests.pruning.operator.pruner_worlds import IMAGE
from tests.real import installed
from tests.real.bed import api_server, control_plane, sandbox
from tests.real.bed.api_server import ApiServer

pytestmark = pytest.mark.components("kube")
KIND = DEPLOY / "crds" / "imagepruners.imageregistry.operator.openshift.io.yaml"
ONLY = "garbage-collector-controller"
OF_OPENSHIFT = (IMAGE_REGISTRY_CONFIGS, CLUSTER_VERSIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    server: ApiServer
    controller_kubeconfig: Path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    with sandbox.sandbox() as opened:
        server = api_server.start(opened)
        installed.apply(server, registry_host="registry.example.com")
        installed.decide(server, f"--pruner-image={IMAGE}")
        control_plane.start_controllers(opened, server, only=ONLY)
        folder = tmp_path_factory.mktemp("installed")
        yield Installed(
            server=server,
            controller_kubeconfig=installed.identity(server, folder, "controller"),
        )


@pytest.fixture
async def cluster(place: Installed) -> AsyncIterator[PrunerCluster]:
    admin = connect.find({}, file=place.server.kubeconfig_path)
    own = connect.find({}, file=place.controller_kubeconfig)
    async with connect.connect(admin, CLOCK) as client, NetworkTransport(own, CLOCK) as network:
        made = PrunerCluster(kube=client, line=Line(network))
        yield made
        await clear(made)
        place.server.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(KIND))


async def clear(cluster: PrunerCluster) -> None:
    """As it was installed."""
    deleted = [
        (IMAGE_PRUNERS, "cluster", ""),
        (CONFIG_MAPS, DECISION_NAME, NAMESPACE),
        (CONFIG_MAPS, REPORT_NAME, NAMESPACE),
        (LEASES, "lading-controller", NAMESPACE),
        *((CUSTOM_RESOURCE_DEFINITIONS, f"{one.plural}.{one.group}", "") for one in OF_OPENSHIFT),
    ]
    for resource, name, namespace in deleted:
        with contextlib.suppress(kube.NotFound):
            await cluster.kube.delete(resource, name, namespace=namespace)

    async def is_cleared() -> bool:
        page = await cluster.kube.page(CUSTOM_RESOURCE_DEFINITIONS)
        names = {one.metadata.name for one in page.items}
        left = {f"{one.plural}.{one.group}" for one in OF_OPENSHIFT} & names
        return not left and await cluster.is_gone()

    await cluster.until(is_cleared, "nothing is left")


class TestKubernetes(ControllerScenarios):
    pass


@asynccontextmanager
async def account_of_the_job(server: ApiServer, folder: Path) -> AsyncIterator[KubeClient]:
    """With the rights that the controller gave it."""
    token = server.kubectl("create", "token", OBJECT_NAME, f"--namespace={NAMESPACE}").strip()
    file = server.write_kubeconfig(folder / "job.kubeconfig", token)
    async with connect.connect(connect.find({}, file=file), CLOCK) as client:
        yield client


def report(api: KubeClient, *, to_map: bool) -> RunReport:
    return RunReport(
        api=api,
        clock=CLOCK,
        progress=PruneProgress(),
        name="main",
        pod="first-abcde",
        namespace=NAMESPACE,
        to_map=to_map,
    )


async def test_the_job_reports_with_its_own_account_and_kubectl_shows_all(
    place: Installed, cluster: PrunerCluster, tmp_path: Path
) -> None:
    async with running(cluster):
        await until_ready(cluster)
        async with account_of_the_job(place.server, tmp_path) as api:
            await report(api, to_map=False).write(PruneRunPhase.SUCCEEDED)
            with pytest.raises(kube.Forbidden):
                await api.patch(IMAGE_PRUNERS, "cluster", {"spec": {"suspend": True}})
        await cluster.play_job("first")
        await cluster.until_condition("Failed", "False", "Succeeded")
        assert 'lading_pruning_candidates{registry="main"} 0.0' in cluster.metrics()
        head, row = place.server.kubectl("get", "imagepruner").splitlines()
        names = ("NAME", "SCHEDULE", "SUSPENDED", "NEXT RUN", "LAST SUCCESS", "FAILED", "AGE")
        assert head.split() == " ".join(names).split()
        shown = re.fullmatch(
            r"cluster +0 0 \* \* \* +false +(\S+T00:00:00Z) +\d+s +False +\d+s *", row
        )
        assert shown, row


async def test_where_the_status_is_dropped_the_account_may_report_to_the_config_map(
    place: Installed, cluster: PrunerCluster, tmp_path: Path
) -> None:
    await cluster.install_openshift("4.20.1")
    await cluster.give_the_kind_another_owner()
    async with running(cluster, take_over=True):
        await until_ready(cluster)
        async with account_of_the_job(place.server, tmp_path) as api:
            await report(api, to_map=True).write(PruneRunPhase.REFUSED, "a guard")
        await cluster.play_job("first", failed="exit code 3")
        found = await cluster.until_condition("Failed", "True", "RefusedByGuard")
        assert "main: a guard" in found.message
