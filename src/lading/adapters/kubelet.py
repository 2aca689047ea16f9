"""The kubelet of this node, asked over loopback for the configuration that it runs with.

Needs `get` on `nodes/configz` and nothing more. Its certificate is usually self-signed, so it is
not verified; that is why the address must be on this machine, where nobody can stand between.
"""

from collections.abc import Callable

import aiohttp
import msgspec
import structlog

from lading.ports.clock import Clock
from lading.ports.kubelet import KubeletLimits

KEPT_SECONDS = 600.0  # the kubelet reads its configuration when it starts
ANSWER_SECONDS_MAX = 5.0
ANSWER_BYTES_MAX = 1024 * 1024

log = structlog.get_logger(__name__)


class _Configuration(msgspec.Struct, rename="camel"):
    image_gc_high_threshold_percent: int = msgspec.field(
        name="imageGCHighThresholdPercent", default=85
    )
    eviction_hard: dict[str, str] = {}


class _Answer(msgspec.Struct):
    kubeletconfig: _Configuration


class LoopbackKubelet:
    def __init__(
        self, session: aiohttp.ClientSession, clock: Clock, *, port: int, token: Callable[[], str]
    ) -> None:
        self._session = session
        self._clock = clock
        self._url = f"https://127.0.0.1:{port}/configz"
        self._token = token
        self._limits = KubeletLimits()
        self._asked_at: float | None = None

    async def limits(self) -> KubeletLimits:
        now = self._clock.monotonic()
        if self._asked_at is None or now - self._asked_at > KEPT_SECONDS:
            self._asked_at = now
            self._limits = await self._ask()
        return self._limits

    async def _ask(self) -> KubeletLimits:
        headers = {"Authorization": f"Bearer {self._token()}"}
        timeout = aiohttp.ClientTimeout(total=ANSWER_SECONDS_MAX)
        try:
            async with self._session.get(
                self._url, headers=headers, timeout=timeout, ssl=False, allow_redirects=False
            ) as response:
                response.raise_for_status()
                content = await response.content.read(ANSWER_BYTES_MAX)
            found = msgspec.json.decode(content, type=_Answer).kubeletconfig
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError) as error:
            log.warning("kubelet limits unknown, its defaults are assumed", error=str(error))
            return KubeletLimits()
        return KubeletLimits(
            image_gc_high_threshold_percent=found.image_gc_high_threshold_percent,
            eviction_hard=found.eviction_hard,
        )


class FixedLimits:
    """Limits that are given, where no kubelet runs."""

    def __init__(self, limits: KubeletLimits) -> None:
        self._limits = limits

    async def limits(self) -> KubeletLimits:
        return self._limits
