"""The kubelet of a real cluster: one node with its runtime in the same sandbox."""

import json
import pathlib
from collections.abc import Mapping
from typing import Any

from tests import free_ports
from tests.real.bed import addresses, api_server, cgroups, processes, runtime, sandbox
from tests.real.setup import binaries

FOLDER_NAME = "kubelet"
CONFIG_NAME = "config.json"


def identity(node_name: str) -> api_server.Identity:
    return api_server.Identity(user=f"system:node:{node_name}", group="system:nodes")


def start(
    place: sandbox.Sandbox,
    server: api_server.ApiServer,
    container_runtime: runtime.Runtime,
    *,
    node_name: str,
    token: str,
    settings: Mapping[str, Any],
) -> processes.Process:
    """The settings are fields of KubeletConfiguration, over those of the bed."""
    folder = place.make_folder(FOLDER_NAME)
    config_file = folder / CONFIG_NAME
    config = _config(place, container_runtime, folder) | dict(settings)
    config_file.write_text(json.dumps(config))
    kubeconfig = server.write_kubeconfig(folder / "kubeconfig", token)
    return place.start(
        "kubelet",
        [
            binaries.built("kubernetes", "kubelet"),
            f"--config={config_file}",
            f"--kubeconfig={kubeconfig}",
            f"--root-dir={folder / 'root'}",
            f"--cert-dir={folder / 'certificates'}",
            f"--hostname-override={node_name}",
            # A node's address may not be 127.x.
            f"--node-ip={addresses.add(place.folder, addresses.NODE)}",
        ],
    )


def port(sandbox_folder: pathlib.Path) -> int:
    """Where the kubelet of a sandbox is asked, on loopback."""
    config = json.loads((sandbox_folder / FOLDER_NAME / CONFIG_NAME).read_text())
    number: int = config["port"]
    return number


def _config(
    place: sandbox.Sandbox, container_runtime: runtime.Runtime, folder: pathlib.Path
) -> dict[str, Any]:
    (folder / "resolv.conf").touch()
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": "127.0.0.1",
        "port": free_ports.find(),
        "healthzPort": 0,
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True}},
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": container_runtime.endpoint_inside,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroups.create(place.folder),
        "enforceNodeAllocatable": [],
        "evictionHard": {"memory.available": "10Mi"},
        "failCgroupV1": False,
        "failSwapOn": False,
        "makeIPTablesUtilChains": False,
        "maxOpenFiles": 20_000,
        "nodeStatusReportFrequency": "5s",
        "nodeStatusUpdateFrequency": "1s",
        # Lower scores need CAP_SYS_RESOURCE.
        "oomScoreAdj": 0,
        "resolvConf": str(folder / "resolv.conf"),
        "serializeImagePulls": False,
    }
