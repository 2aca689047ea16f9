"""Lading installed on a real API server from `deploy/`, with its processes beside the pods.

The pods of the manifests never run here; test_pods.py is where they do. Processes, which a test can
kill and start with other options, take their place: each has a token of its ServiceAccount, with
the rights of `deploy/` and no others.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from lading.api.rbac import Process
from tests.deploy import escapes
from tests.deploy.manifests import DEPLOY, NAMESPACE, SETTING
from tests.e2e import waiting
from tests.real.bed import api_server


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Where Lading was installed, and the identities that it has there."""

    server: api_server.ApiServer
    folder: Path
    controller_kubeconfig: Path
    agent_kubeconfig: Path


async def on_cluster(
    server: api_server.ApiServer, folder: Path, *arguments: str, registry_host: str
) -> Installation:
    """Where controllers run: the tokens are bound to the pods that they made, as in real life.

    The arguments are those of the controller's pods, where the policies look for them.
    """
    apply(server, *arguments, registry_host=registry_host)
    return Installation(
        server=server,
        folder=folder,
        controller_kubeconfig=await _pod_identity(server, folder, "controller"),
        agent_kubeconfig=await _pod_identity(server, folder, "agent"),
    )


def on_api_server(
    server: api_server.ApiServer, folder: Path, *, registry_host: str, node_name: str
) -> Installation:
    """Where nothing makes pods: the agent's token is bound to the node itself."""
    apply(server, registry_host=registry_host)
    bound = ("--bound-object-kind=Node", f"--bound-object-name={node_name}")
    return Installation(
        server=server,
        folder=folder,
        controller_kubeconfig=identity(server, folder, "controller"),
        agent_kubeconfig=identity(server, folder, "agent", *bound),
    )


def apply(server: api_server.ApiServer, *arguments: str, registry_host: str) -> None:
    """Everything of `deploy/`."""
    for file in (DEPLOY / "crds", SETTING):
        server.kubectl("apply", "--server-side", "-f", str(file))
    server.kubectl("wait", "--for=condition=Established", "--all", "crd", "--timeout=90s")
    server.kubectl(
        "apply", "--server-side", "-f", "-", stdin=_harmless(server, registry_host, arguments)
    )


def decide(server: api_server.ApiServer, *arguments: str) -> None:
    """A controller's pod with these arguments, where nothing makes the pods of the Deployment."""
    own = f"--namespace={NAMESPACE}"
    found = ("pod/" + escapes.CONTROLLER_POD, own, "--ignore-not-found")
    server.kubectl("delete", *found, "--grace-period=0", "--force")
    pod = escapes.controller_pod("registry.example.com/absent/lading:0", arguments)
    server.kubectl("create", "-f", "-", own, stdin=json.dumps(pod))


def _harmless(server: api_server.ApiServer, registry_host: str, arguments: tuple[str, ...]) -> str:
    """The manifests; their pods look for the image on this machine only and make no folders."""
    return (
        server.kubectl("kustomize", str(DEPLOY))
        .replace("image: lading:", f"image: {registry_host}/absent/lading:")
        .replace("type: DirectoryOrCreate", "type: Directory")
        .replace(
            "- --metrics-port=8080", "\n        - ".join(("- --metrics-port=8080", *arguments))
        )
    )


async def _pod_identity(server: api_server.ApiServer, folder: Path, component: str) -> Path:
    async def is_scheduled() -> bool:
        return bool(_scheduled_pods(server, component))

    await waiting.until(is_scheduled, f"a pod of the {component} is scheduled")
    pod = _scheduled_pods(server, component)[0]
    bound = ("--bound-object-kind=Pod", f"--bound-object-name={pod}")
    return identity(server, folder, component, *bound)


def _scheduled_pods(server: api_server.ApiServer, component: str) -> list[str]:
    selector = f"--selector=app.kubernetes.io/component={component}"
    where = f"--namespace={Process(component).namespace}"
    found = server.kubectl("get", "pods", where, selector, "--output=json")
    return [
        one["metadata"]["name"] for one in json.loads(found)["items"] if one["spec"].get("nodeName")
    ]


def identity(server: api_server.ApiServer, folder: Path, component: str, *bound: str) -> Path:
    where = f"--namespace={Process(component).namespace}"
    token = server.kubectl("create", "token", f"lading-{component}", where, *bound)
    return server.write_kubeconfig(folder / f"{component}.kubeconfig", token.strip())
