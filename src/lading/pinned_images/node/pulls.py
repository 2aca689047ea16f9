"""The pull engine: one task per pull, and a ledger that `observe` reads like any other fact.

It decides nothing: the plan decides what to start and what to cancel. A finished pull leaves the
ledger and is seen as present in the runtime; a failed one stays with its error. How often an image
was pulled is remembered until it is pinned: what is removed before must not be pulled in a loop.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import timedelta

import msgspec
import structlog

from lading.kernel import texts
from lading.kernel.images import ImageKey
from lading.kernel.values import replace
from lading.pinned_images.node.metrics import PinMetrics
from lading.pinned_images.node.transfers import Transfer, TransferMeter
from lading.pinned_images.node.types import PastPulls, Pull, PullError, PullErrorKind
from lading.ports import cri
from lading.ports.clock import Clock
from lading.ports.cri import Cri, ImageSpec
from lading.ports.node import PullCredentials
from lading.ports.registry import Credential

log = structlog.get_logger(__name__)

_KINDS: Mapping[type[cri.CriError], PullErrorKind] = {
    cri.NoSpace: PullErrorKind.NO_SPACE,
    cri.ImageNotFound: PullErrorKind.NOT_FOUND,
    cri.Unauthorized: PullErrorKind.UNAUTHORIZED,
    cri.NoMatchingPlatform: PullErrorKind.NO_MATCHING_PLATFORM,
    cri.UnknownHandler: PullErrorKind.UNKNOWN_HANDLER,
    cri.InvalidReference: PullErrorKind.NOT_FOUND,
    cri.ContentRejected: PullErrorKind.REJECTED,
}

PROGRESS_BYTES_MIN = 1024 * 1024
"""The disk grows a little by itself, by logs and databases; a pull brings more."""
LOOK_SECONDS = 2.0
"""How often the disk is looked at while pulls run, so that a client that watches sees it grow."""


class _Refusal(msgspec.Struct, frozen=True, kw_only=True):
    image: str
    tried: tuple[Credential | None, ...]
    seen: tuple[Credential, ...] = ()
    """What there was at the last look."""


class PullEngine:
    def __init__(
        self,
        *,
        cri: Cri,
        credentials: PullCredentials,
        clock: Clock,
        metrics: PinMetrics,
        pulled: Callable[[ImageKey, ImageSpec], Awaitable[None]],
        used_bytes: Callable[[], Awaitable[int | None]],
        changed: Callable[[], None],
    ) -> None:
        """`pulled` is called for every image that was pulled, with the name it was pulled by.

        `used_bytes` is what the image file system holds; None when that cannot be seen.
        """
        self._cri = cri
        self._credentials = credentials
        self._clock = clock
        self._metrics = metrics
        self._pulled = pulled
        self._look = used_bytes
        self._changed = changed
        self._meter = TransferMeter()
        self._looking: asyncio.Task[None] | None = None
        self._ledger: dict[ImageKey, Pull] = {}
        self._past: dict[ImageKey, PastPulls] = {}
        self._tasks: dict[ImageKey, asyncio.Task[None]] = {}
        self._stalled: dict[ImageKey, str] = {}
        self._refusals: dict[ImageKey, _Refusal] = {}
        self._used_bytes: int | None = None

    def snapshot(self) -> Mapping[ImageKey, Pull]:
        return dict(self._ledger)

    @property
    def transfer(self) -> Transfer:
        return self._meter.transfer

    def past(self) -> Mapping[ImageKey, PastPulls]:
        return dict(self._past)

    def forget_past_of_all_but(self, keys: Collection[ImageKey], *, kept: timedelta) -> None:
        """Of these, pulls that are longer ago than `kept` are forgotten too."""
        oldest = self._clock.now() - kept
        self._past = {
            key: past for key, past in self._past.items() if key in keys and past.last_at > oldest
        }

    def start(self, key: ImageKey, spec: ImageSpec, *, new_bytes: int) -> None:
        """Starts the pull unless it is running; returns at once."""
        before = self._ledger.get(key, Pull(running=False, attempts=0))
        if before.running:
            return
        if not self._tasks:
            self._meter.begin()
        attempts, began = before.attempts + 1, self._clock.now()
        self._ledger[key] = replace(
            before,
            running=True,
            attempts=attempts,
            progress_at=began,
            credentials_changed=False,
            new_bytes=new_bytes,
        )
        work = self._pull(key, spec, new_bytes)
        self._tasks[key] = asyncio.create_task(work, name=f"pull {key}")
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look_while_pulling(), name="look at the disk")

    async def _look_while_pulling(self) -> None:
        while self._tasks:
            await self._clock.sleep(LOOK_SECONDS)
            try:
                self.see_used(await self._look())
            except cri.CriError as error:
                log.debug("the image file system is not known", error=error.message)

    def see_used(self, used_bytes: int | None) -> None:
        """What the image file system holds now; None when it cannot be seen.

        No runtime tells how far a single pull is. When the disk grows, each may be the one.
        """
        self._meter.see(used_bytes, at=self._clock.monotonic())
        before, self._used_bytes = self._used_bytes, used_bytes
        if used_bytes is not None and before is not None:
            if before <= used_bytes < before + PROGRESS_BYTES_MIN:
                self._used_bytes = before  # slow growth adds up
                return
            if used_bytes < before:
                return
        progress_at = None if used_bytes is None else self._clock.now()
        for key, pull in self._ledger.items():
            if pull.running:
                self._ledger[key] = replace(pull, progress_at=progress_at)

    def abandon(self, key: ImageKey, reason: str) -> None:
        """Ends a pull that makes no progress; it counts as failed."""
        if key in self._tasks:
            self._stalled[key] = reason
            self._tasks[key].cancel()

    def cancel(self, key: ImageKey) -> None:
        """Ends the pull, or forgets how it failed."""
        if key in self._tasks:
            self._tasks[key].cancel()
        elif self._ledger.pop(key, None) is not None:
            self._changed()

    async def close(self) -> None:
        tasks = (*self._tasks.values(), *((self._looking,) if self._looking else ()))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _pull(self, key: ImageKey, spec: ImageSpec, new_bytes: int) -> None:
        began = self._clock.monotonic()
        try:
            await self._pull_with_any(key, spec)
            await self._see(spec)
            await self._pulled(key, spec)
        except cri.CriError as error:
            self._fail(key, kind=kind_of(error), message=error.message)
        except Exception as error:  # noqa: BLE001 - a pull is a boundary: the failure is a fact
            self._fail(key, kind=PullErrorKind.OTHER, message=f"{type(error).__name__}: {error}")
        except asyncio.CancelledError:
            if key not in self._stalled:
                self._ledger.pop(key, None)
                raise
            self._fail(key, kind=PullErrorKind.STALLED, message=self._stalled[key])
        else:
            self._ledger.pop(key, None)
            count = self._past[key].count + 1 if key in self._past else 1
            self._past[key] = PastPulls(count=count, last_at=self._clock.now())
            self._meter.finish(new_bytes)
            self._metrics.pulled(seconds=self._clock.monotonic() - began, size_bytes=new_bytes)
        finally:
            del self._tasks[key]
            self._stalled.pop(key, None)
            if not self._tasks:
                self._meter.end()
            self._changed()

    async def _pull_with_any(self, key: ImageKey, spec: ImageSpec) -> None:
        """With each credential that matches, until one is accepted.

        Those that were remembered are asked for anew once, as a plugin may have a fresh one.
        """
        found = await self._credentials.credentials(spec.image)
        tried: list[Credential | None] = []
        refusal: cri.Unauthorized | None = None
        for credential in found or (None,):
            tried.append(credential)
            refusal = await self._refusal(spec, credential)
            if refusal is None:
                return
        for credential in found:
            self._credentials.refused(spec.image, credential)
        for credential in await self._credentials.credentials(spec.image):
            if credential not in tried:
                tried.append(credential)
                refusal = await self._refusal(spec, credential)
                if refusal is None:
                    return
        assert refusal is not None
        self._refusals[key] = _Refusal(image=spec.image, tried=tuple(tried))
        raise refusal

    async def _refusal(
        self, spec: ImageSpec, credential: Credential | None
    ) -> cri.Unauthorized | None:
        """None when the image was pulled."""
        try:
            await self._cri.pull(spec, credential)
        except cri.Unauthorized as error:
            return error
        if credential is not None:
            self._credentials.accepted(spec.image, credential)
        return None

    async def see_credentials(self) -> None:
        """Whether there is a new credential for a pull that was refused.

        It must be found twice: some plugins make another one at each call, and that is no news.
        """
        self._refusals = {key: one for key, one in self._refusals.items() if key in self._ledger}
        for key, refusal in tuple(self._refusals.items()):
            if self._ledger[key].running:
                continue
            found = await self._credentials.credentials(refusal.image)
            is_news = found == refusal.seen and any(one not in refusal.tried for one in found)
            self._refusals[key] = replace(refusal, seen=found)
            if is_news and key in self._ledger:
                self._ledger[key] = replace(self._ledger[key], credentials_changed=True)

    async def _see(self, spec: ImageSpec) -> None:
        """What is not listed under its name counts as missing, and would be pulled for ever."""
        image = await self._cri.image(spec)
        names = (*image.repo_digests, *image.repo_tags) if image else ()
        if spec.image not in names:
            instead = f"lists it as {', '.join(names)}" if names else "does not list it"
            raise cri.CriError(f"it was pulled, but the runtime {instead}", image=spec.image)

    def _fail(self, key: ImageKey, *, kind: PullErrorKind, message: str) -> None:
        """A runtime repeats the URL that it asked for, and a registry may have signed that."""
        self._metrics.failed(kind)
        error = PullError(kind=kind, message=texts.bounded_text(message), at=self._clock.now())
        failed = replace(self._ledger[key], running=False, error=error)
        self._ledger[key] = failed
        log.warning(
            "pull failed",
            image=str(key),
            reason=kind.value,
            error=error.message,
            attempts=failed.attempts,
        )


def kind_of(error: cri.CriError) -> PullErrorKind:
    if isinstance(error, cri.Transient):
        return PullErrorKind.UNAVAILABLE
    return _KINDS.get(type(error), PullErrorKind.OTHER)
