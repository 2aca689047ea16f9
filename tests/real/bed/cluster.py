"""A whole real cluster of one node: API server, controllers, scheduler, kubelet, runtime."""

import contextlib
import dataclasses
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

from tests.real.bed import (
    api_server,
    containerd,
    control_plane,
    crio,
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

    @property
    def kubelet_port(self) -> int:
        return kubelet.port(self.runtime.sandbox_folder)


@contextlib.contextmanager
def cluster(
    runtime_kind: str = "containerd",
    *,
    containerd_version: str = "2.3",
    root: pathlib.Path | None = None,
    kubelet_settings: Mapping[str, Any] | None = None,
) -> Iterator[Cluster]:
    """A root elsewhere may be a small disk; settings are fields of KubeletConfiguration."""
    with sandbox.sandbox() as place:
        yield start(
            place,
            runtime_kind,
            containerd_version=containerd_version,
            root=root,
            kubelet_settings=kubelet_settings or {},
        )


def start(
    place: sandbox.Sandbox,
    runtime_kind: str,
    *,
    containerd_version: str = "2.3",
    root: pathlib.Path | None,
    kubelet_settings: Mapping[str, Any],
) -> Cluster:
    node = kubelet.identity(NODE_NAME)
    server = api_server.start(place, node)
    control_plane.start(place, server)
    images = registry.start(place, "3.1")
    if runtime_kind == "cri-o":
        engine = crio.start(place, registries=[images], root=root)
    else:
        engine = containerd.start(place, containerd_version, registries=[images], root=root)
    process = kubelet.start(
        place,
        server,
        engine,
        node_name=NODE_NAME,
        token=node.token,
        settings=kubelet_settings,
    )
    process.wait_until(lambda: _node_is_usable(server), what=f"node {NODE_NAME} was ready")
    return Cluster(api_server=server, runtime=engine, registry=images, node_name=NODE_NAME)


def _node_is_usable(server: api_server.ApiServer) -> bool:
    """Ready, and the default ServiceAccount that every pod needs is there."""
    ready = server.kubectl(
        "get", "node", NODE_NAME, "--ignore-not-found", f"--output={READY_CONDITION}"
    )
    account = server.kubectl("get", "serviceaccount", "default", "--ignore-not-found")
    return ready == "True" and bool(account)
