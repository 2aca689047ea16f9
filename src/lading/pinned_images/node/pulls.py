"""The pull engine: one task per pull, and a ledger that `observe` reads like any other fact.

It decides nothing: the plan decides what to start and what to cancel. A finished pull leaves the
ledger and is seen as present in the runtime; a failed one stays with its error. How often an image
was pulled is remembered until it is pinned: what is removed before that must not be pulled in a loop.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from datetime import timedelta

from lading.kernel import texts
from lading.kernel.images import ImageKey
from lading.pinned_images.node.metrics import PinMetrics
from lading.pinned_images.node.types import PastPulls, Pull, PullError, PullErrorKind
from lading.ports import cri
from lading.ports.clock import Clock
from lading.ports.cri import Cri, ImageSpec
from lading.ports.node import PullCredentials

_KINDS: Mapping[type[cri.CriError], PullErrorKind] = {
    cri.NoSpace: PullErrorKind.NO_SPACE,
    cri.ImageNotFound: PullErrorKind.NOT_FOUND,
    cri.Unauthorized: PullErrorKind.UNAUTHORIZED,
    cri.NoMatchingPlatform: PullErrorKind.NO_MATCHING_PLATFORM,
    cri.UnknownHandler: PullErrorKind.UNKNOWN_HANDLER,
    cri.InvalidReference: PullErrorKind.NOT_FOUND,
    cri.ContentRejected: PullErrorKind.REJECTED,
}

# Twice the longest delay before an image that was removed is pulled again (`rules.REMOVED`).
PAST_PULLS_KEPT = timedelta(hours=1)


class PullEngine:
    def __init__(
        self,
        *,
        cri: Cri,
        credentials: PullCredentials,
        clock: Clock,
        metrics: PinMetrics,
        pulled: Callable[[ImageKey, ImageSpec], Awaitable[None]],
        changed: Callable[[], None],
    ) -> None:
        """`pulled` is called for every image that was pulled, with the name it was pulled by."""
        self._cri = cri
        self._credentials = credentials
        self._clock = clock
        self._metrics = metrics
        self._pulled = pulled
        self._changed = changed
        self._ledger: dict[ImageKey, Pull] = {}
        self._past: dict[ImageKey, PastPulls] = {}
        self._tasks: dict[ImageKey, asyncio.Task[None]] = {}

    def snapshot(self) -> Mapping[ImageKey, Pull]:
        return dict(self._ledger)

    def past(self) -> Mapping[ImageKey, PastPulls]:
        return dict(self._past)

    def forget_past_of_all_but(self, keys: Collection[ImageKey]) -> None:
        oldest = self._clock.now() - PAST_PULLS_KEPT
        self._past = {
            key: past for key, past in self._past.items() if key in keys and past.last_at > oldest
        }

    def start(self, key: ImageKey, spec: ImageSpec, *, new_bytes: int) -> None:
        """Starts the pull unless it is running; returns at once."""
        before = self._ledger.get(key, Pull(running=False, attempts=0))
        if before.running:
            return
        self._ledger[key] = replace(before, running=True, attempts=before.attempts + 1)
        work = self._pull(key, spec, new_bytes)
        self._tasks[key] = asyncio.create_task(work, name=f"pull {key}")

    def cancel(self, key: ImageKey) -> None:
        """Ends the pull, or forgets how it failed."""
        if key in self._tasks:
            self._tasks[key].cancel()
        elif self._ledger.pop(key, None) is not None:
            self._changed()

    async def close(self) -> None:
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _pull(self, key: ImageKey, spec: ImageSpec, new_bytes: int) -> None:
        began = self._clock.monotonic()
        try:
            credential = await self._credentials.credential(spec.image)
            await self._cri.pull(spec, credential)
            await self._see(spec)
            await self._pulled(key, spec)
        except cri.CriError as error:
            self._fail(key, kind=kind_of(error), message=error.message)
        except Exception as error:  # noqa: BLE001 - a pull is a boundary: the failure is a fact
            self._fail(key, kind=PullErrorKind.OTHER, message=f"{type(error).__name__}: {error}")
        except asyncio.CancelledError:
            self._ledger.pop(key, None)
            raise
        else:
            self._ledger.pop(key, None)
            count = self._past[key].count + 1 if key in self._past else 1
            self._past[key] = PastPulls(count=count, last_at=self._clock.now())
            self._metrics.pulled(seconds=self._clock.monotonic() - began, size_bytes=new_bytes)
        finally:
            del self._tasks[key]
            self._changed()

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
        self._ledger[key] = replace(self._ledger[key], running=False, error=error)


def kind_of(error: cri.CriError) -> PullErrorKind:
    if isinstance(error, cri.Transient):
        return PullErrorKind.UNAVAILABLE
    return _KINDS.get(type(error), PullErrorKind.OTHER)
