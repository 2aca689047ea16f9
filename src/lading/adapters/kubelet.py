"""The kubelet of this node, asked over loopback for the configuration that it runs with.

Needs `get` on `nodes/configz` and nothing more. The token is sent only to a kubelet that has
proven to be one; otherwise the kubelet's defaults are assumed.
"""

import aiohttp
import msgspec
import structlog

from lading.adapters import kubelet_identity
from lading.adapters.kube.connection import ConfigurationError
from lading.adapters.kube.credentials import Credentials
from lading.adapters.kube.errors import CredentialsFailed
from lading.adapters.kubelet_identity import LOOPBACK, KubeletTrust, NotTheKubelet
from lading.kernel import durations
from lading.kernel.errors import UNREADABLE
from lading.ports.clock import Clock
from lading.ports.node import KubeletLimits

KEPT_SECONDS = 600.0  # the kubelet reads its configuration when it starts
ANSWER_SECONDS_MAX = 5.0
ANSWER_BYTES_MAX = 1024 * 1024

log = structlog.get_logger(__name__)


class _Configuration(msgspec.Struct, rename="camel"):
    image_gc_high_threshold_percent: int = msgspec.field(
        name="imageGCHighThresholdPercent", default=85
    )
    image_gc_low_threshold_percent: int = msgspec.field(
        name="imageGCLowThresholdPercent", default=80
    )
    image_minimum_gc_age: str = msgspec.field(name="imageMinimumGCAge", default="2m")
    image_maximum_gc_age: str = msgspec.field(name="imageMaximumGCAge", default="0s")
    eviction_hard: dict[str, str] = {}


class _Answer(msgspec.Struct):
    kubeletconfig: _Configuration


def limits_in(configz: bytes) -> KubeletLimits:
    """The limits in what a kubelet answers to `/configz`; raises UNREADABLE."""
    found = msgspec.json.decode(configz, type=_Answer).kubeletconfig
    return KubeletLimits(
        image_gc_high_threshold_percent=found.image_gc_high_threshold_percent,
        image_gc_low_threshold_percent=found.image_gc_low_threshold_percent,
        image_minimum_gc_age=durations.parse(found.image_minimum_gc_age),
        image_maximum_gc_age=durations.parse(found.image_maximum_gc_age) or None,
        eviction_hard=found.eviction_hard,
    )


class LoopbackKubelet:
    """Shows the kubelet the token that the API server gave us, and no client certificate."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        clock: Clock,
        *,
        port: int,
        credentials: Credentials,
        trust: KubeletTrust,
    ) -> None:
        self._session = session
        self._clock = clock
        self._port = port
        self._credentials = credentials
        self._trust = trust
        self._problem = ""
        self._limits = KubeletLimits()
        self._asked_at: float | None = None

    async def limits(self) -> KubeletLimits:
        now = self._clock.monotonic()
        if self._asked_at is None or now - self._asked_at > KEPT_SECONDS:
            self._asked_at = now
            self._limits = await self._ask()
        return self._limits

    async def _ask(self) -> KubeletLimits:
        try:
            return limits_in(await self._configz())
        except (
            aiohttp.ClientError,
            ConfigurationError,
            CredentialsFailed,
            NotTheKubelet,
            OSError,
            *UNREADABLE,
        ) as error:
            self._report(str(error))
            return KubeletLimits()

    def _report(self, problem: str) -> None:
        """Once: the same problem again says nothing new."""
        if problem != self._problem:
            log.warning("kubelet limits unknown, its defaults are assumed", error=problem)
        self._problem = problem

    async def _configz(self) -> bytes:
        certificate = await kubelet_identity.proven_certificate(self._port, self._trust)
        proof = await self._credentials.proof()
        async with self._session.get(
            f"https://{LOOPBACK}:{self._port}/configz",
            headers=proof.headers,
            timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS_MAX),
            ssl=aiohttp.Fingerprint(certificate),
            allow_redirects=False,
        ) as response:
            response.raise_for_status()
            content = bytearray()
            async for piece in response.content.iter_any():
                content += piece
                if len(content) > ANSWER_BYTES_MAX:
                    break  # what is cut off cannot be decoded, so the defaults are assumed
        return bytes(content[:ANSWER_BYTES_MAX])


class FixedLimits:
    """Limits that are given, where no kubelet runs."""

    def __init__(self, limits: KubeletLimits) -> None:
        self._limits = limits

    async def limits(self) -> KubeletLimits:
        return self._limits
