"""A whole real cluster of one node: API server, controllers, scheduler, kubelet on containerd."""

import contextlib
import dataclasses
import pathlib
from collections.abc import Iterator

from tests.real.bed import (
    api_server,
    containerd,
    control_plane,
    kubelet,
    registry,
    runtime,
    sandbox,
)

NODE_NAME = "lading-node"
READY_CONDITION = "jsonpath={.status.conditions[?(@.type=='Ready')].status}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    api_server: api_server.ApiServer
    runtime: runtime.Runtime
    registry: registry.Registry
    node_name: str

    @property
    def kubeconfig(self) -> pathlib.Path:
        return self.api_server.kubeconfig_path


@contextlib.contextmanager
def cluster() -> Iterator[Cluster]:
    with sandbox.sandbox() as place:
        yield start(place)


def start(place: sandbox.Sandbox) -> Cluster:
    node = kubelet.identity(NODE_NAME)
    server = api_server.start(place, node)
    control_plane.start(place, server)
    images = registry.start(place, "3.1")
    engine = containerd.start(place, "2.3", registries=[images])
    process = kubelet.start(place, server, engine, node_name=NODE_NAME, token=node.token)
    process.wait_until(lambda: _node_is_usable(server), what=f"node {NODE_NAME} was ready")
    return Cluster(api_server=server, runtime=engine, registry=images, node_name=NODE_NAME)


def _node_is_usable(server: api_server.ApiServer) -> bool:
    """Ready, and the default ServiceAccount that every pod needs is there."""
    ready = server.kubectl(
        "get", "node", NODE_NAME, "--ignore-not-found", f"--output={READY_CONDITION}"
    )
    account = server.kubectl("get", "serviceaccount", "default", "--ignore-not-found")
    return ready == "True" and bool(account)
