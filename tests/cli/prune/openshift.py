"""A cluster with ImageStreams that a command can reach, and its registry with real images."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer

from lading.adapters.clock import SystemClock
from lading.adapters.kube.cluster import KubeCluster
from lading.adapters.registry import client as registry_client
from lading.adapters.registry.administration import AdministrationClient
from lading.embedded.registry import server as registry_server
from lading.ports.http import HttpTransport
from lading.ports.http import Request as HttpRequest
from lading.ports.registry import Manifest
from tests import command
from tests.command import CommandResult
from tests.pruning import image_streams
from tests.pruning.image_streams import GROUP, IMAGES, STREAMS, Streams
from tests.pruning.worlds import Shelf

NO_GUARD = ("--ignore-guard", "no-references")


@dataclass
class OpenShift:
    streams: Streams
    shelf: Shelf
    kubeconfig: Path

    async def push(self, name: str, *layers: str) -> list[Manifest]:
        """The images of one tag, the last one current, with their stream and Image objects."""
        images = [
            await self.shelf.image(f"images/{name}:latest", layers=[layer.encode()])
            for layer in layers
        ]
        for image in images:
            await self.make_image(image)
        body: dict[str, Any] = {
            "apiVersion": f"{GROUP}/v1",
            "kind": "ImageStream",
            "metadata": {"name": name, "namespace": "images"},
        }
        made = await self.streams.kube.create(STREAMS, body, namespace="images")
        items = [
            {"image": str(one.digest), "created": f"2026-01-01T00:00:{number:02d}Z"}
            for number, one in enumerate(images)
        ]
        status = {
            "dockerImageRepository": f"{self.shelf.host}/images/{name}",
            "tags": [{"tag": "latest", "items": items[::-1]}],
        }
        cluster = KubeCluster(self.streams.kube, address="")
        await cluster.replace_status(STREAMS, {**made, "status": status})
        return images

    async def make_image(self, image: Manifest) -> None:
        body = {
            "apiVersion": f"{GROUP}/v1",
            "kind": "Image",
            "metadata": {"name": str(image.digest)},
        }
        await self.streams.kube.create(IMAGES, body)

    async def images(self) -> set[str]:
        page = await self.streams.kube.page(IMAGES)
        return {one["metadata"]["name"] for one in page.items}

    async def lading(self, *words: str) -> CommandResult:
        """The commands about the trash take no rules."""
        of_trash = words[0] in ("trash", "restore")
        rules = () if of_trash else ("--keep-younger-than", "0s", "--keep-tag-revisions", "1")
        return await command.lading("prune", *words, "--kubeconfig", str(self.kubeconfig), *rules)


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[OpenShift]:
    async with (
        image_streams.empty() as streams,
        reachable(streams.api) as server,
        registry_server.serve(folder / "registry") as url,
        registry_client.connect(SystemClock()) as client,
    ):
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(kubeconfig_of(server)))
        shelf = Shelf(AdministrationClient(client), url.partition("://")[2])
        yield OpenShift(streams, shelf, kubeconfig)


def kubeconfig_of(server: str, *, token: str = "t") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }


@asynccontextmanager
async def reachable(exchange: HttpTransport, *, host: str = "127.0.0.1") -> AsyncIterator[str]:
    """The API server of a test over HTTP."""

    async def answer(request: web.Request) -> web.StreamResponse:
        found = await exchange(
            HttpRequest(
                method=request.method,
                path=request.path,
                query=tuple(request.query.items()),
                headers={name.lower(): value for name, value in request.headers.items()},
                body=await request.read(),
            )
        )
        headers = {name: value for name, value in found.headers.items() if name != "content-length"}
        if isinstance(found.body, bytes):
            return web.Response(status=found.status, headers=headers, body=found.body)
        response = web.StreamResponse(status=found.status, headers=headers)
        await response.prepare(request)
        async for piece in found.body:
            await response.write(piece)
        return response

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(app, host=host) as served:
        yield str(served.make_url("")).rstrip("/")
