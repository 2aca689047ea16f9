"""A user with few rights, and a client for a kubeconfig."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.wiring import clusters as connections
from tests.real.bed.api_server import ApiServer

ACCOUNT = "dashboard-reader"


def few_rights(server: ApiServer, folder: Path, *resources: str) -> Path:
    """The kubeconfig of an account that may only read these."""
    for words in (
        ("create", "serviceaccount", ACCOUNT, "-n", "default"),
        ("create", "clusterrole", ACCOUNT, "--verb=get,list,watch",
         *(f"--resource={one}" for one in resources)),
        ("create", "clusterrolebinding", ACCOUNT, f"--clusterrole={ACCOUNT}",
         f"--serviceaccount=default:{ACCOUNT}"),
    ):  # fmt: skip
        manifest = server.kubectl(*words, "--dry-run=client", "-o", "yaml")
        server.kubectl("apply", "-f", "-", stdin=manifest)
    token = server.kubectl("create", "token", ACCOUNT, "-n", "default").strip()
    return server.write_kubeconfig(folder / "kubeconfig", token)


@asynccontextmanager
async def client_of(kubeconfig: Path) -> AsyncIterator[KubeClient]:
    connection = connections.find({}, file=kubeconfig)
    async with connections.open_client(connection, SystemClock()) as client:
        yield client
