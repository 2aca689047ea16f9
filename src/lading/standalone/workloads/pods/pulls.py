"""Pulls images for the pods of a node, one after another, as a kubelet does by default.

A failed pull is tried again after a growing delay when the pod asks for it again. The ledger says
what became of each pull; it is lost with the process, and the images themselves are not.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Protocol

from lading.kernel import texts
from lading.kernel.backoff import Backoff
from lading.kernel.objects import Key
from lading.kernel.values import replace
from lading.ports import cri
from lading.ports.clock import Clock
from lading.ports.cri import Cri, ImageSpec
from lading.ports.registry import Credential
from lading.standalone.workloads.event_reasons import KubernetesEvent
from lading.standalone.workloads.kinds import Pod
from lading.standalone.workloads.pods.types import PullPhase, PullRecord

REASON = "ErrImagePull"
"""Of the kubelet, for each pod and image."""
_CAUSES: Mapping[type[cri.CriError], str] = {
    cri.ImageNotFound: "not found",
    cri.NoMatchingPlatform: "no match for platform in manifest: not found",
    cri.Unauthorized: "authorization failed",
    cri.NoSpace: "no space left on device",
    cri.RegistryUnavailable: "the registry does not answer",
}
"""In the words of containerd, by which clients know the cause."""
_NOT_FOUND = (cri.ImageNotFound, cri.NoMatchingPlatform)


class PodCredentials(Protocol):
    async def of(self, pod: Pod, image: str) -> tuple[Credential, ...]:
        """Those of its pull secrets for the image, then those of the node."""


Report = Callable[[Pod, KubernetesEvent, str, bool], None]
"""Records an event about a pod: reason, note, whether it is a warning."""


class Pulls:
    def __init__(
        self,
        *,
        runtime: Cri,
        credentials: PodCredentials,
        clock: Clock,
        retry: Backoff,
        report: Report,
        changed: Callable[[Key], None],
    ) -> None:
        self._runtime = runtime
        self._credentials = credentials
        self._clock = clock
        self._retry = retry
        self._report = report
        self._changed = changed
        self._records: dict[tuple[str, str], PullRecord] = {}
        self._queue: asyncio.Queue[tuple[Pod, str]] = asyncio.Queue()

    def records(self, uid: str) -> dict[str, PullRecord]:
        """Of one pod, by image."""
        return {image: one for (owner, image), one in self._records.items() if owner == uid}

    def request(self, pod: Pod, image: str) -> None:
        """Does nothing while a pull for the pod is under way."""
        key = (pod.metadata.uid, image)
        known = self._records.get(key, PullRecord(phase=PullPhase.DONE))
        if known.phase is not PullPhase.WAITING:
            self._records[key] = replace(known, phase=PullPhase.WAITING)
            self._queue.put_nowait((pod, image))

    def forget(self, uid: str) -> None:
        for key in [key for key in self._records if key[0] == uid]:
            del self._records[key]

    async def run(self) -> None:
        while True:
            pod, image = await self._queue.get()
            if (pod.metadata.uid, image) in self._records:
                await self._attempt(pod, image)

    async def _attempt(self, pod: Pod, image: str) -> None:
        begun_at = self._clock.monotonic()
        self._report(pod, KubernetesEvent.PULLING, f'Pulling image "{image}"', False)
        try:
            size_bytes = await self._pull(pod, image)
        except cri.CriError as error:
            self._failed(pod, image, error)
        else:
            took = f"{self._clock.monotonic() - begun_at:.3g}s"
            note = f'Successfully pulled image "{image}" in {took}. Image size: {size_bytes} bytes.'
            self._report(pod, KubernetesEvent.PULLED, note, False)
            record = PullRecord(phase=PullPhase.DONE, ended_at=self._clock.now())
            self._note(pod, image, record)
        self._changed(pod.key)

    async def _pull(self, pod: Pod, image: str) -> int:
        """With each credential in turn, until one is accepted."""
        spec = ImageSpec(image=image)
        for credential in await self._credentials.of(pod, image):
            try:
                return await self._pulled_bytes(spec, credential)
            except cri.Unauthorized:
                continue
        return await self._pulled_bytes(spec, None)

    async def _pulled_bytes(self, spec: ImageSpec, credential: Credential | None) -> int:
        await self._runtime.pull(spec, credential)
        found = await self._runtime.image(spec)
        return found.size_bytes if found else 0

    def _failed(self, pod: Pod, image: str, error: cri.CriError) -> None:
        known = self._records.get((pod.metadata.uid, image))
        failures = (known.failures if known else 0) + 1
        message = texts.bounded_text(_message(image, error))
        now = self._clock.now()
        delay = self._retry.delay_seconds(failures=failures, jitter=0)
        record = PullRecord(
            phase=PullPhase.FAILED,
            failures=failures,
            reason=REASON,
            message=message,
            ended_at=now,
            retry_at=now + timedelta(seconds=delay),
        )
        self._note(pod, image, record)
        self._report(
            pod, KubernetesEvent.FAILED, f'Failed to pull image "{image}": {message}', True
        )
        self._report(pod, KubernetesEvent.FAILED, f"Error: {REASON}", True)

    def _note(self, pod: Pod, image: str, record: PullRecord) -> None:
        """Unless the pod went while it pulled."""
        key = (pod.metadata.uid, image)
        if key in self._records:
            self._records[key] = record


def _message(image: str, error: cri.CriError) -> str:
    """As a kubelet shows what containerd answered: a code other than Unknown comes first."""
    code = "rpc error: code = NotFound desc = " if isinstance(error, _NOT_FOUND) else ""
    cause = _CAUSES.get(type(error), "the pull failed")
    what = error.message.removesuffix(".")
    return f'{code}failed to pull and unpack image "{image}": {what}: {cause}'
