"""The pull engine: one task per pull, and a ledger for `observe`.

The plan decides what to start and what to cancel. A pull that succeeded leaves the ledger; a
failed one stays with its error. The engine counts the pulls of an image until it is pinned, so
that an image that is removed again and again is pulled less often. While pulls run, the engine
watches the disk. While pulls are refused, it checks for new credentials.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from datetime import timedelta
from typing import Any

import msgspec
import structlog

from lading.kernel import references, texts
from lading.kernel.images import ImageKey
from lading.kernel.values import replace
from lading.pinned_images.node.metrics import PinMetrics
from lading.pinned_images.node.transfers import Transfer, TransferMeter
from lading.pinned_images.node.types import PastPulls, Pull, PullError, PullErrorKind
from lading.ports import cri
from lading.ports.clock import Clock
from lading.ports.cri import Cri, ImageSpec
from lading.ports.node import PullCredentials
from lading.ports.registry import Credential, Registry, RegistryError

log = structlog.get_logger(__name__)

_KINDS: Mapping[type[cri.CriError], PullErrorKind] = {
    cri.NoSpace: PullErrorKind.NO_SPACE,
    cri.ImageNotFound: PullErrorKind.NOT_FOUND,
    cri.Unauthorized: PullErrorKind.UNAUTHORIZED,
    cri.NoMatchingPlatform: PullErrorKind.NO_MATCHING_PLATFORM,
    cri.UnknownHandler: PullErrorKind.UNKNOWN_HANDLER,
    cri.InvalidReference: PullErrorKind.NOT_FOUND,
    cri.ContentRejected: PullErrorKind.REJECTED,
    cri.TagMoved: PullErrorKind.TAG_MOVED,
}

PROGRESS_BYTES_MIN = 1024 * 1024
"""Logs and databases make the disk grow a little without any pull."""
DISK_SECONDS = 2.0
"""How often the disk is read while pulls run. A client that watches sees it grow."""
CREDENTIALS_SECONDS = 5.0
"""How often new credentials are checked for after the registry refused a pull."""
HISTORY_KEPT = timedelta(hours=1)
"""Longer than the longest delay before a removed image is pulled again."""


class _Refusal(msgspec.Struct, frozen=True, kw_only=True):
    image: str
    tried: tuple[Credential | None, ...]
    found: tuple[Credential, ...] = ()
    """At the last check."""


class PullEngine:
    def __init__(
        self,
        *,
        cri: Cri,
        registry: Registry,
        credentials: PullCredentials,
        clock: Clock,
        metrics: PinMetrics,
        pulled: Callable[[ImageKey, ImageSpec], Awaitable[None]],
        used_bytes: Callable[[], Awaitable[int | None]],
        changed: Callable[[], None],
    ) -> None:
        """`pulled` is called after every pull. `used_bytes` reads the image file system.

        `used_bytes` returns None if the file system cannot be read.
        """
        self._cri = cri
        self._registry = registry
        self._credentials = credentials
        self._clock = clock
        self._metrics = metrics
        self._pulled = pulled
        self._read_used_bytes = used_bytes
        self._changed = changed
        self._meter = TransferMeter()
        self._disk_watch: asyncio.Task[None] | None = None
        self._credentials_watch: asyncio.Task[None] | None = None
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
        oldest = self._clock.now() - HISTORY_KEPT
        return {key: past for key, past in self._past.items() if past.last_at > oldest}

    def drop_history_except(self, keys: Collection[ImageKey]) -> None:
        self._past = {key: past for key, past in self.past().items() if key in keys}

    def start(self, key: ImageKey, spec: ImageSpec, *, new_bytes: int, free_bytes: int = 0) -> None:
        """Starts the pull unless it runs already. Does not wait for it."""
        before = self._ledger.get(key, Pull(running=False, attempts=0))
        if before.running:
            return
        attempts, began = before.attempts + 1, self._clock.now()
        self._ledger[key] = replace(
            before,
            running=True,
            attempts=attempts,
            progress_at=began,
            credentials_changed=False,
            new_bytes=new_bytes,
            free_bytes_before=free_bytes,
        )
        work = self._pull(key, spec, new_bytes)
        self._tasks[key] = asyncio.create_task(work, name=f"pull {key}")
        self._disk_watch = _running(self._disk_watch, self._watch_disk)

    async def _watch_disk(self) -> None:
        """Until no pull runs; then the growth of the disk belongs to pulls that ended."""
        self._meter.begin()
        await self._read_disk_usage()
        while self._tasks:
            await self._clock.sleep(DISK_SECONDS)
            await self._read_disk_usage()
        self._meter.end()

    async def _read_disk_usage(self) -> None:
        try:
            self.record_disk_usage(await self._read_used_bytes())
        except cri.CriError as error:
            log.debug("the image file system is not known", error=error.message)

    def record_disk_usage(self, used_bytes: int | None) -> None:
        """None if the image file system cannot be read.

        No runtime reports the progress of a single pull. If the disk grows, all of them count as
        making progress.
        """
        self._meter.record(used_bytes, at=self._clock.monotonic())
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
        """Cancels a pull without progress. It counts as failed."""
        if key in self._tasks:
            self._stalled[key] = reason
            self._tasks[key].cancel()

    def cancel(self, key: ImageKey) -> None:
        """Cancels the pull, or removes its failure from the ledger."""
        if key in self._tasks:
            self._tasks[key].cancel()
        elif self._ledger.pop(key, None) is not None:
            self._changed()

    async def close(self) -> None:
        watches = (self._disk_watch, self._credentials_watch)
        tasks = (*self._tasks.values(), *(task for task in watches if task is not None))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _pull(self, key: ImageKey, spec: ImageSpec, new_bytes: int) -> None:
        began = self._clock.monotonic()
        try:
            await self._check_tag(key, spec)
            await self._pull_with_any(key, spec)
            await self._check_listed(key, spec)
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
            past = self.past()
            count = past[key].count + 1 if key in past else 1
            self._past[key] = PastPulls(count=count, last_at=self._clock.now())
            self._meter.finish(new_bytes)
            self._metrics.pulled(seconds=self._clock.monotonic() - began, size_bytes=new_bytes)
        finally:
            del self._tasks[key]
            self._stalled.pop(key, None)
            self._changed()

    async def _pull_with_any(self, key: ImageKey, spec: ImageSpec) -> None:
        """Tries each credential that matches, until the registry accepts one.

        If it refuses all, credentials are read again once: a plugin may have a new one.
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
        self._credentials_watch = _running(self._credentials_watch, self._watch_credentials)
        raise refusal

    async def _refusal(
        self, spec: ImageSpec, credential: Credential | None
    ) -> cri.Unauthorized | None:
        """None if the image was pulled."""
        try:
            await self._cri.pull(spec, credential)
        except cri.Unauthorized as error:
            return error
        if credential is not None:
            self._credentials.accepted(spec.image, credential)
        return None

    async def _watch_credentials(self) -> None:
        while self._refusals:
            await self._clock.sleep(CREDENTIALS_SECONDS)
            await self.check_for_new_credentials()

    async def check_for_new_credentials(self) -> None:
        """Marks refused pulls for which there is a new credential.

        Two checks must find the same one: some plugins return a new credential on every call.
        """
        self._refusals = {key: one for key, one in self._refusals.items() if key in self._ledger}
        for key, refusal in tuple(self._refusals.items()):
            if self._ledger[key].running:
                continue
            found = await self._credentials.credentials(refusal.image)
            is_news = found == refusal.found and any(one not in refusal.tried for one in found)
            self._refusals[key] = replace(refusal, found=found)
            if is_news and key in self._ledger:
                self._ledger[key] = replace(self._ledger[key], credentials_changed=True)
                self._changed()

    async def _check_tag(self, key: ImageKey, spec: ImageSpec) -> None:
        """Before a pull by tag: a tag that moved would bring another image.

        If the agent cannot ask the registry, the image is checked after the pull.
        """
        if "@" in spec.image:
            return
        with contextlib.suppress(RegistryError):
            found = await self._registry.head(references.parse(spec.image))
            if found is None or not key.image.endswith(f"@{found.digest}"):
                raise _tag_moved(spec.image, f"{found.digest}" if found else "nothing", key)

    async def _check_listed(self, key: ImageKey, spec: ImageSpec) -> None:
        """An image that is not listed under its name would be pulled again and again."""
        image = await self._cri.image(spec)
        if image is not None and "@" not in spec.image:
            wanted = await self._cri.image(ImageSpec(image=key.image))
            if wanted is not None and wanted.id != image.id:
                raise _tag_moved(spec.image, image.id, key)
        names = (*image.repo_digests, *image.repo_tags) if image else ()
        if spec.image not in names:
            instead = f"lists it as {', '.join(names)}" if names else "does not list it"
            raise cri.CriError(f"it was pulled, but the runtime {instead}", image=spec.image)

    def _fail(self, key: ImageKey, *, kind: PullErrorKind, message: str) -> None:
        """The message of a runtime may have a signed URL, so it is cleaned."""
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


def _tag_moved(tag: str, meaning: str, key: ImageKey) -> cri.TagMoved:
    return cri.TagMoved(
        f"{tag} means {meaning} in the registry, and not {key}. This container runtime makes a tag "
        "only by pulling it. Pin what the tag means now, or remove the tag from the set",
        image=tag,
    )


def kind_of(error: cri.CriError) -> PullErrorKind:
    if isinstance(error, cri.Transient):
        return PullErrorKind.UNAVAILABLE
    return _KINDS.get(type(error), PullErrorKind.OTHER)


def _running(
    task: asyncio.Task[None] | None, work: Callable[[], Coroutine[Any, Any, None]]
) -> asyncio.Task[None]:
    """The task if it still runs, else a new one."""
    if task is not None and not task.done():
        return task
    return asyncio.create_task(work(), name=work.__name__)
