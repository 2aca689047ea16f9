"""Every HTTP client of Lading gives an answer up that has no end: in its headers and its body."""

import contextlib
import os
import ssl
import tracemalloc
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path

import aiohttp
import pytest

from lading.adapters.clock import SystemClock, VirtualClock
from lading.adapters.kube import agent_proxy, transport
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.connection import Connection, User
from lading.adapters.kube.credentials import Credentials
from lading.adapters.kube.transport import NetworkTransport
from lading.adapters.kubelet import LoopbackKubelet
from lading.adapters.kubelet_identity import KubeletTrust
from lading.adapters.registry import client as registry
from lading.embedded.kube import certificates
from lading.kernel import references
from lading.kernel.objects import Key
from lading.ports.http import Request
from lading.ports.kube import KubeError
from lading.ports.node import KubeletLimits
from lading.ports.registry import RegistryError
from tests.adapters import endless
from tests.adapters.endless import MEBIBYTE
from tests.adapters.registry import hostile

Ask = Callable[[int, Path], Awaitable[None]]

SENT_BYTES_MAX = 96 * MEBIBYTE
"""The largest limit on a body, the sockets' buffers, and every retry."""
TAKEN_BYTES_MAX = 64 * MEBIBYTE


async def api_server(port: int, folder: Path) -> None:
    async with NetworkTransport(
        Connection(server=f"http://127.0.0.1:{port}"), SystemClock()
    ) as exchange:
        request = Request(method="GET", path="/api/v1/nodes", answer_bytes_max=8 * MEBIBYTE)
        with pytest.raises(KubeError):
            await KubeClient(exchange).send(request)


async def agent(port: int, folder: Path) -> None:
    async with NetworkTransport(
        Connection(server=f"http://127.0.0.1:{port}"), SystemClock()
    ) as exchange:
        pod = Key(namespace="lading-agents", name="lading-agent-x")
        with pytest.raises(KubeError):
            await agent_proxy.page(KubeClient(exchange), "node-1", pod, "/progress")


async def registry_manifest(port: int, folder: Path) -> None:
    async with registry.connect(SystemClock(), limits=hostile.SMALL) as client:
        with pytest.raises(RegistryError):
            await client.manifest(references.parse(f"127.0.0.1:{port}/app:1"))


async def kubelet(port: int, folder: Path) -> None:
    async with aiohttp.ClientSession() as session:
        clock = VirtualClock()
        asked = LoopbackKubelet(
            session,
            clock,
            port=port,
            credentials=Credentials(User(token="x"), clock),
            trust=KubeletTrust(node_name="node-1", uid=os.geteuid()),
        )
        assert await asked.limits() == KubeletLimits()


@contextlib.contextmanager
def little_memory() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < TAKEN_BYTES_MAX


@pytest.mark.parametrize("answer", endless.ANSWERS)
@pytest.mark.parametrize("ask", [api_server, agent, registry_manifest])
async def test_an_answer_without_end_is_given_up(
    ask: Ask, answer: Callable[[], Iterable[bytes]], tmp_path: Path
) -> None:
    async with endless.answering(answer) as server:
        with little_memory():
            await ask(server.port, tmp_path)
        assert 0 < server.sent_bytes < SENT_BYTES_MAX


@pytest.mark.parametrize("answer", endless.ANSWERS)
async def test_a_kubelets_answer_without_end_means_its_defaults(
    answer: Callable[[], Iterable[bytes]], tmp_path: Path
) -> None:
    pki = certificates.ensure(tmp_path, hosts=())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki.certificate, pki.key)
    async with endless.answering(answer, tls=context) as server:
        with little_memory():
            await kubelet(server.port, tmp_path)
        assert 0 < server.sent_bytes < SENT_BYTES_MAX


@pytest.mark.parametrize("answer", [endless.interim_answers, endless.chunk_extension])
async def test_what_aiohttp_skips_without_end_costs_the_time_of_a_request_only(
    answer: Callable[[], Iterable[bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "REQUEST_SECONDS_MAX", 1.0)
    async with endless.answering(answer) as server:
        with little_memory():
            await api_server(server.port, tmp_path)
