"""Lading installed on a real cluster from `deploy/`, with its processes beside the pods.

No container image is built here, so the pods of the manifests never run. The processes take their
place: each has a token of its ServiceAccount that is bound to the pod, with the rights of
`deploy/` and no others.
"""

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from lading.adapters.clock import SystemClock
from lading.adapters.kube import connect
from lading.adapters.registry import client as registry_client
from lading.wiring.runtimes import open_runtime
from tests.deploy.manifests import DEPLOY, NAMESPACE
from tests.e2e import door, programs, waiting
from tests.e2e.cluster import ClusterUnderTest, NodeUnderTest
from tests.e2e.programs import Program
from tests.real.bed import api_server, cluster, runtime

ROUND = "--round=1s"
PODS_SECONDS_MAX = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Where Lading was installed, and the identities that it has there."""

    server: api_server.ApiServer
    controller_kubeconfig: Path
    agent_kubeconfig: Path


async def install(bed: cluster.Cluster, folder: Path) -> Installation:
    server = bed.api_server
    server.kubectl("apply", "--server-side", "-f", str(DEPLOY / "crds"))
    server.kubectl("wait", "--for=condition=Established", "--all", "crd", "--timeout=30s")
    server.kubectl("apply", "--server-side", "-f", "-", stdin=_harmless(bed))
    return Installation(
        server=server,
        controller_kubeconfig=await _kubeconfig(server, folder, "controller"),
        agent_kubeconfig=await _kubeconfig(server, folder, "agent"),
    )


def _harmless(bed: cluster.Cluster) -> str:
    """The manifests; their pods look for the image on this machine only and make no folders."""
    return (
        bed.api_server.kubectl("kustomize", str(DEPLOY))
        .replace("image: lading:", f"image: {bed.registry.host}/absent/lading:")
        .replace("type: DirectoryOrCreate", "type: Directory")
    )


async def _kubeconfig(server: api_server.ApiServer, folder: Path, component: str) -> Path:
    """For the holder of a token that belongs to a pod of this component."""

    async def is_scheduled() -> bool:
        return bool(_scheduled_pods(server, component))

    await waiting.until(
        is_scheduled, f"a pod of the {component} is scheduled", seconds_max=PODS_SECONDS_MAX
    )
    token = server.kubectl(
        *("create", "token", f"lading-{component}", f"--namespace={NAMESPACE}"),
        *(
            "--bound-object-kind=Pod",
            f"--bound-object-name={_scheduled_pods(server, component)[0]}",
        ),
    )
    return server.write_kubeconfig(folder / f"{component}.kubeconfig", token.strip())


def _scheduled_pods(server: api_server.ApiServer, component: str) -> list[str]:
    selector = f"--selector=app.kubernetes.io/component={component}"
    found = server.kubectl("get", "pods", f"--namespace={NAMESPACE}", selector, "--output=json")
    return [
        one["metadata"]["name"] for one in json.loads(found)["items"] if one["spec"].get("nodeName")
    ]


def controller_program(installation: Installation, folder: Path) -> Program:
    return Program(
        name="controller",
        arguments=(
            "controller",
            f"--kubeconfig={installation.controller_kubeconfig}",
            f"--namespace={NAMESPACE}",
        ),
        log=folder / "controller.log",
    )


@contextlib.asynccontextmanager
async def node_under_test(
    installation: Installation,
    engine: runtime.Runtime,
    folder: Path,
    *,
    name: str,
    kubelet_port: int,
) -> AsyncIterator[NodeUnderTest]:
    """Its agent is not running yet."""
    host_root, state = make_host_root(engine, folder / "host"), folder / "state"
    place = (
        f"--node-name={name}",
        f"--runtime-endpoint={engine.endpoint}",
        f"--host-root={host_root}",
        f"--state-folder={state}",
    )
    async with open_runtime(
        engine.endpoint, SystemClock(), state_folder=state, host_root=host_root
    ) as opened:
        yield NodeUnderTest(
            name=name,
            cri=opened.cri,
            pins=opened.pins,
            agent=Program(
                name=f"agent of {name}",
                arguments=(
                    "agent",
                    *place,
                    ROUND,
                    f"--kubelet-port={kubelet_port}",
                    f"--kubeconfig={installation.agent_kubeconfig}",
                ),
                log=folder / "agent.log",
            ),
            cleanup=("agent", *place, "--cleanup"),
        )


def make_host_root(engine: runtime.Runtime, folder: Path) -> Path:
    """The host as the DaemonSet mounts it: the runtime's configuration in its usual places."""
    links = {
        "containerd": {"etc/containerd/certs.d": engine.conf_dir},
        "cri-o": {
            "etc/crio/crio.conf": engine.conf_dir.parent / "crio.conf",
            "etc/crio/crio.conf.d": engine.conf_dir,
        },
    }[engine.kind]
    top = Path(*engine.root.parts[:2])  # such as /tmp, where the images are
    for place, target in {**links, str(top.relative_to("/")): top}.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).symlink_to(target)
    return folder


def kubelet_port(bed: cluster.Cluster) -> int:
    config = json.loads((bed.runtime.sandbox_folder / "kubelet" / "config.json").read_text())
    port: int = config["port"]
    return port


@contextlib.asynccontextmanager
async def opened(bed: cluster.Cluster, folder: Path) -> AsyncIterator[ClusterUnderTest]:
    """The cluster under test on a real one, with everything running."""
    clock, installation = SystemClock(), await install(bed, folder)
    controller = controller_program(installation, folder)
    async with (
        connect.connect(connect.find({}, file=bed.kubeconfig), clock) as kube,
        door.before(bed.registry.host) as front,
        registry_client.connect(clock) as registry,
        node_under_test(
            installation,
            bed.runtime,
            folder,
            name=bed.node_name,
            kubelet_port=kubelet_port(bed),
        ) as node,
        programs.running(controller, node.agent),
    ):
        yield ClusterUnderTest(
            kube=kube, nodes=(node,), registry=registry, door=front, controller=controller
        )
