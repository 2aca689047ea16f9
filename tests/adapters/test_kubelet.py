"""The kubelet's limits: asked with our token, kept for a while, its defaults when it refuses."""

import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from lading.adapters.clock import VirtualClock
from lading.adapters.kube.connection import User
from lading.adapters.kube.credentials import Credentials
from lading.adapters.kubelet import ANSWER_BYTES_MAX, KEPT_SECONDS, LoopbackKubelet
from lading.ports.kubelet import KubeletLimits
from lading.servers.kube import certificates

LIMITS = {"imageGCHighThresholdPercent": 70, "evictionHard": {"imagefs.available": "20%"}}
TOKEN = "the-agents-own"


@contextlib.asynccontextmanager
async def kubelet(folder: Path, clock: VirtualClock, body: Any) -> AsyncIterator[LoopbackKubelet]:
    """A kubelet that answers whoever has the token, over TLS that nobody can verify."""

    async def configz(request: web.Request) -> web.Response:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return web.Response(status=401)
        return web.json_response(body)

    app = web.Application()
    app.router.add_get("/configz", configz)
    runner = web.AppRunner(app)
    await runner.setup()
    pki = certificates.ensure(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki.certificate, pki.key)
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    try:
        async with aiohttp.ClientSession() as session:
            yield LoopbackKubelet(
                session,
                clock,
                port=runner.addresses[0][1],
                credentials=Credentials(User(token=TOKEN), clock),
            )
    finally:
        await runner.cleanup()


async def test_its_configuration_is_what_counts(tmp_path: Path) -> None:
    async with kubelet(tmp_path, VirtualClock(), {"kubeletconfig": LIMITS}) as asked:
        assert await asked.limits() == KubeletLimits(
            image_gc_high_threshold_percent=70, eviction_hard={"imagefs.available": "20%"}
        )


async def test_it_is_asked_again_after_a_while(tmp_path: Path) -> None:
    clock, body = VirtualClock(), {"kubeletconfig": dict(LIMITS)}
    async with kubelet(tmp_path, clock, body) as asked:
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
    async with kubelet(tmp_path, VirtualClock(), body) as asked:
        assert await asked.limits() == KubeletLimits()


async def test_its_defaults_are_assumed_when_nobody_answers() -> None:
    clock = VirtualClock()
    async with aiohttp.ClientSession() as session:
        asked = LoopbackKubelet(
            session, clock, port=1, credentials=Credentials(User(token=TOKEN), clock)
        )
        assert await asked.limits() == KubeletLimits()
