"""The kubelet's limits: our token goes to the kubelet only, and its defaults count otherwise."""

import asyncio
import contextlib
import os
import ssl
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from structlog.testing import capture_logs

from lading.adapters.clock import VirtualClock
from lading.adapters.kube.connection import User
from lading.adapters.kube.credentials import Credentials
from lading.adapters.kubelet import ANSWER_BYTES_MAX, KEPT_SECONDS, LoopbackKubelet
from lading.adapters.kubelet_identity import KubeletTrust, owners_in
from lading.embedded.kube import certificates
from lading.ports.node import KubeletLimits

LIMITS = {
    "imageGCHighThresholdPercent": 70,
    "imageGCLowThresholdPercent": 60,
    "imageMinimumGCAge": "5m0s",
    "imageMaximumGCAge": "168h0m0s",
    "evictionHard": {"imagefs.available": "20%"},
}
FOUND = KubeletLimits(
    image_gc_high_threshold_percent=70,
    image_gc_low_threshold_percent=60,
    image_minimum_gc_age=timedelta(minutes=5),
    image_maximum_gc_age=timedelta(days=7),
    eviction_hard={"imagefs.available": "20%"},
)
TOKEN = "the-agents-own"
NODE = "node-1"
OURS = os.geteuid()
ANOTHER = OURS + 1
BY_OWNER = KubeletTrust(node_name=NODE, uid=OURS)


@dataclass
class Listener:
    """What answers on the kubelet's port, and the tokens that it was shown."""

    port: int
    authority_pem: str
    shown: list[str] = field(default_factory=list)


@contextlib.asynccontextmanager
async def listener(
    folder: Path, body: Any = None, *, hosts: tuple[str, ...] = ()
) -> AsyncIterator[Listener]:
    """Answers over TLS any client that has the token."""
    pki = certificates.ensure(folder, hosts=hosts)
    made = Listener(port=0, authority_pem=pki.authority.read_text())

    async def configz(request: web.Request) -> web.Response:
        authorization = request.headers.get("authorization", "")
        made.shown.append(authorization)
        if authorization != f"Bearer {TOKEN}":
            return web.Response(status=401)
        return web.json_response({"kubeletconfig": LIMITS} if body is None else body)

    app = web.Application()
    app.router.add_get("/configz", configz)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki.certificate, pki.key)
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    made.port = runner.addresses[0][1]
    try:
        yield made
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def asking(
    port: int, trust: KubeletTrust = BY_OWNER, clock: VirtualClock | None = None
) -> AsyncIterator[LoopbackKubelet]:
    clock = clock or VirtualClock()
    async with aiohttp.ClientSession() as session:
        credentials = Credentials(User(token=TOKEN), clock)
        yield LoopbackKubelet(session, clock, port=port, credentials=credentials, trust=trust)


async def test_its_configuration_is_what_counts(tmp_path: Path) -> None:
    async with listener(tmp_path) as kubelet, asking(kubelet.port) as asked:
        assert await asked.limits() == FOUND
        assert kubelet.shown == [f"Bearer {TOKEN}"]


async def test_it_is_asked_again_after_a_while(tmp_path: Path) -> None:
    clock, body = VirtualClock(), {"kubeletconfig": dict(LIMITS)}
    async with listener(tmp_path, body) as kubelet, asking(kubelet.port, clock=clock) as asked:
        await asked.limits()
        body["kubeletconfig"]["imageGCHighThresholdPercent"] = 60
        assert (await asked.limits()).image_gc_high_threshold_percent == 70
        await clock.advance(KEPT_SECONDS + 1)
        assert (await asked.limits()).image_gc_high_threshold_percent == 60


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("no configuration at all", id="strange"),
        pytest.param({"kubeletconfig": {"filler": "x" * ANSWER_BYTES_MAX}}, id="too large"),
    ],
)
async def test_its_defaults_are_assumed_when_the_answer_is_useless(
    body: Any, tmp_path: Path
) -> None:
    async with listener(tmp_path, body) as kubelet, asking(kubelet.port) as asked:
        assert await asked.limits() == KubeletLimits()


async def test_its_defaults_are_assumed_when_nothing_listens() -> None:
    async with asking(1) as asked:
        assert await asked.limits() == KubeletLimits()


async def test_its_defaults_are_assumed_when_it_speaks_no_tls() -> None:
    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        writer.close()

    async with (
        await asyncio.start_server(answer, "127.0.0.1", 0) as server,
        asking(server.sockets[0].getsockname()[1]) as asked,
    ):
        assert await asked.limits() == KubeletLimits()


async def test_a_process_of_another_user_gets_no_token_and_that_is_logged_once(
    tmp_path: Path,
) -> None:
    clock, trust = VirtualClock(), KubeletTrust(node_name=NODE, uid=ANOTHER)
    async with listener(tmp_path) as other, asking(other.port, trust, clock) as asked:
        with capture_logs() as logged:
            for _ in range(3):
                assert await asked.limits() == KubeletLimits()
                await clock.advance(KEPT_SECONDS + 1)
        assert other.shown == []
        (line,) = logged
        assert f"served by the user with the ID {OURS}, expected {ANOTHER}" in line["error"]


@pytest.mark.skipif(OURS != 0, reason="only root can start a process of another user")
async def test_the_owner_is_that_of_the_process_that_listens(tmp_path: Path) -> None:
    tls = certificates.ensure(tmp_path)
    pem = f"{tls.certificate.read_text()}{tls.key.read_text()}"
    program = """
import os, socket, ssl, sys, tempfile
os.setuid(65534)
listening = socket.create_server(("127.0.0.1", 0))
with tempfile.NamedTemporaryFile("w") as file:
    file.write(sys.stdin.read()); file.flush()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); context.load_cert_chain(file.name)
print(listening.getsockname()[1], flush=True)
connection, _ = listening.accept()
with context.wrap_socket(connection, server_side=True) as secure:
    print("received", secure.recv(1000), flush=True)
"""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(pem.encode())
    process.stdin.close()
    port = int(await process.stdout.readline())
    async with asking(port, KubeletTrust(node_name=NODE)) as asked:
        assert await asked.limits() == KubeletLimits()
    printed = await process.stdout.read()
    await process.wait()
    assert b"received" not in printed or b"received b''" in printed


async def test_a_certificate_of_the_authority_for_this_node_is_proof_enough(
    tmp_path: Path,
) -> None:
    async with listener(tmp_path, hosts=(NODE,)) as kubelet:
        trust = KubeletTrust(node_name=NODE, uid=ANOTHER, authority_pem=kubelet.authority_pem)
        async with asking(kubelet.port, trust) as asked:
            assert await asked.limits() == FOUND


@pytest.mark.parametrize(
    ("hosts", "authority_of_its_own"),
    [
        pytest.param(("node-2",), True, id="for another node"),
        pytest.param((NODE,), False, id="of another authority"),
    ],
)
async def test_any_other_certificate_is_none(
    tmp_path: Path, hosts: tuple[str, ...], authority_of_its_own: bool
) -> None:
    cluster = certificates.ensure(tmp_path / "cluster").authority.read_text()
    async with listener(tmp_path / "listener", hosts=hosts) as other:
        authority = other.authority_pem if authority_of_its_own else cluster
        trust = KubeletTrust(node_name=NODE, uid=ANOTHER, authority_pem=authority)
        async with asking(other.port, trust) as asked:
            assert await asked.limits() == KubeletLimits()
        assert other.shown == []


async def test_a_process_that_takes_the_port_after_the_proof_gets_no_token(
    tmp_path: Path,
) -> None:
    """The first connection goes to the kubelet, the next one to another process."""
    async with (
        listener(tmp_path / "kubelet", hosts=(NODE,)) as kubelet,
        listener(tmp_path / "other", hosts=(NODE,)) as other,
    ):
        ports = [kubelet.port]

        async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            port = ports.pop() if ports else other.port
            inner, outer = await asyncio.open_connection("127.0.0.1", port)
            with contextlib.suppress(OSError):
                await asyncio.gather(_copy(reader, outer), _copy(inner, writer))

        async with await asyncio.start_server(relay, "127.0.0.1", 0) as front:
            trust = KubeletTrust(node_name=NODE, uid=ANOTHER, authority_pem=kubelet.authority_pem)
            async with asking(front.sockets[0].getsockname()[1], trust) as asked:
                assert await asked.limits() == KubeletLimits()
        assert ports == []
        assert other.shown == kubelet.shown == []


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while piece := await source.read(65536):
            target.write(piece)
            await target.drain()
    finally:
        target.close()


LITTLE_ENDIAN_ROWS = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:280A 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1
   1: 0100007F:280A 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 2 1
   2: 0100007F:C350 0100007F:280A 01 00000000:00000000 00:00000000 00000000  4242        0 3 1
   3: 0500000A:280A 0900000A:C350 01 00000000:00000000 00:00000000 00000000  1001        0 4 1
   4: 0100007F:280A 0100007F:C351 01 00000000:00000000 00:00000000 00000000  1002        0 5 1
   5: 0100007F:280A 0100007F:C350 06 00000000:00000000 00:00000000 00000000  1003        0 6 1
""".splitlines()
MAPPED_ROW = (
    "   0: 0000000000000000FFFF00000100007F:280A 0000000000000000FFFF00000100007F:C350 01"
    " 00000000:00000000 00:00000000 00000000     7        0 2 1"
)


@pytest.mark.skipif(sys.byteorder != "little", reason="the rows are of such a machine")
@pytest.mark.parametrize(
    ("rows", "owners"),
    [
        pytest.param(LITTLE_ENDIAN_ROWS, {0}, id="only the other end of this connection"),
        pytest.param([MAPPED_ROW], {7}, id="a listener of both families"),
        pytest.param(["", "nonsense", "1 2 3 4 5 6 7 8"], set(), id="rows that are none"),
    ],
)
def test_the_kernel_tells_the_owner_of_the_other_end(rows: list[str], owners: set[int]) -> None:
    assert owners_in(rows, ("127.0.0.1", 10250), ("127.0.0.1", 50000)) == owners
