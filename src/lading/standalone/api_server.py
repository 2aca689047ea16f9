"""The embedded API server on its data folder: certificates, one administrator, a kubeconfig."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import yaml

from lading.kernel.values import Redacted, replace
from lading.ports.clock import Clock
from lading.ports.http import Exchange, Request, Response
from lading.servers.kube.node_proxy import NO_KUBELETS, Kubelets
from lading.standalone import data_folder
from lading.wiring import embedded


class ApiServer(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    kubeconfig: Path
    exchange: Exchange
    """For a client in this process, as administrator."""


class Authorized(Redacted, frozen=True):
    """Sends a token with every request."""

    exchange: Exchange
    token: str

    async def __call__(self, request: Request) -> Response:
        headers = {**request.headers, "authorization": f"Bearer {self.token}"}
        return await self.exchange(replace(request, headers=headers))


@contextlib.asynccontextmanager
async def serve(
    data: Path, clock: Clock, *, port: int, kubelets: Kubelets = NO_KUBELETS
) -> AsyncIterator[ApiServer]:
    data_folder.prepare(data)
    token = data_folder.secret(data / "admin-token")
    async with embedded.open_api(
        data, clock, admin_token=token, port=port, kubelets=kubelets
    ) as api:
        kubeconfig = data / "kubeconfig"
        data_folder.write_private(kubeconfig, _kubeconfig(api.url, api.authority, token))
        exchange = Authorized(api.exchange, token)
        yield ApiServer(url=api.url, kubeconfig=kubeconfig, exchange=exchange)


def _kubeconfig(url: str, ca_file: Path, token: str) -> str:
    name = "lading"
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": name, "cluster": {"server": url, "certificate-authority": str(ca_file)}}
            ],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        },
        sort_keys=False,
    )
