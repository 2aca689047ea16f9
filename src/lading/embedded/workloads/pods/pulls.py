"""Pulls images for the pods of a node, one after another, as a kubelet does by default.

A failed pull is retried after a growing delay, when its pod requests it again. The records are
lost with the process; the images are not.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta

from lading.embedded.workloads.actions import KubernetesEvent
from lading.embedded.workloads.kinds import Pod
from lading.embedded.workloads.pods.types import PullPhase, PullRecord
from lading.kernel import texts
from lading.kernel.backoff import Backoff
from lading.kernel.objects import Key
from lading.kernel.planning import RecordEvent
from lading.kernel.values import replace
from lading.ports import cri
from lading.ports.clock import Clock
from lading.ports.cri import Cri, ImageSpec
from lading.ports.kube import Kube
from lading.ports.registry import Credential
from lading.wiring.registries import Registries, pod_credentials

RETRY = Backoff(seconds_min=10, seconds_max=300, jitter_fraction=0)
_CAUSES: Mapping[type[cri.CriError], str] = {
    cri.ImageNotFound: "not found",
    cri.NoMatchingPlatform: "no match for platform in manifest: not found",
    cri.Unauthorized: "authorization failed",
    cri.NoSpace: "no space left on device",
    cri.RegistryUnavailable: "the registry does not answer",
}
"""The words of containerd, by which clients recognize the cause."""
_NOT_FOUND = (cri.ImageNotFound, cri.NoMatchingPlatform)
PodCredentials = Callable[[Pod, str], Awaitable[tuple[Credential, ...]]]
"""The credentials for an image: those of the pod's pull secrets, then those of the node."""


def pull_secrets(kube: Kube, registries: Registries) -> PodCredentials:
    async def find(pod: Pod, image: str) -> tuple[Credential, ...]:
        return await pod_credentials(
            kube,
            registries,
            namespace=pod.metadata.namespace,
            secrets=[one.name for one in pod.spec.image_pull_secrets],
            image=image,
        )

    return find


class Pulls:
    def __init__(
        self,
        *,
        runtime: Cri,
        credentials: PodCredentials,
        clock: Clock,
        record: Callable[[Pod, RecordEvent], None],
        changed: Callable[[Key], None],
    ) -> None:
        self._runtime = runtime
        self._credentials = credentials
        self._clock = clock
        self._record = record
        self._changed = changed
        self._records: dict[tuple[str, str], PullRecord] = {}
        self._queue: asyncio.Queue[tuple[Pod, str]] = asyncio.Queue()

    def records(self, uid: str) -> dict[str, PullRecord]:
        """The pulls of one pod, by image."""
        return {image: one for (owner, image), one in self._records.items() if owner == uid}

    def request(self, pod: Pod, image: str) -> None:
        """Does nothing while a pull for the pod waits or runs."""
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
        self._event(pod, KubernetesEvent.PULLING, f'Pulling image "{image}"')
        try:
            size_bytes = await self._pull(pod, image)
        except cri.CriError as error:
            record = self._failure(pod, image, error)
            note = f'Failed to pull image "{image}": {record.message}'
            self._event(pod, KubernetesEvent.FAILED, note, warning=True)
        else:
            record = PullRecord(phase=PullPhase.DONE)
            took = f"{self._clock.monotonic() - begun_at:.3g}s"
            note = f'Successfully pulled image "{image}" in {took}. Image size: {size_bytes} bytes.'
            self._event(pod, KubernetesEvent.PULLED, note)
        key = (pod.metadata.uid, image)
        if key in self._records:  # the pod may be gone since the pull began
            self._records[key] = record
        self._changed(pod.key)

    async def _pull(self, pod: Pod, image: str) -> int:
        """Tries each credential in turn, and none at last."""
        spec = ImageSpec(image=image)
        for credential in await self._credentials(pod, image):
            try:
                return await self._pulled_bytes(spec, credential)
            except cri.Unauthorized:
                continue
        return await self._pulled_bytes(spec, None)

    async def _pulled_bytes(self, spec: ImageSpec, credential: Credential | None) -> int:
        await self._runtime.pull(spec, credential)
        found = await self._runtime.image(spec)
        return found.size_bytes if found else 0

    def _failure(self, pod: Pod, image: str, error: cri.CriError) -> PullRecord:
        known = self._records.get((pod.metadata.uid, image))
        failures = (known.failures if known else 0) + 1
        now = self._clock.now()
        return PullRecord(
            phase=PullPhase.FAILED,
            failures=failures,
            message=texts.bounded_text(_message(image, error)),
            ended_at=now,
            retry_at=now + timedelta(seconds=RETRY.delay_seconds(failures=failures, jitter=0)),
        )

    def _event(
        self, pod: Pod, reason: KubernetesEvent, note: str, *, warning: bool = False
    ) -> None:
        self._record(pod, RecordEvent(reason=reason, because=note, warning=warning))


def _message(image: str, error: cri.CriError) -> str:
    """A kubelet shows the error of containerd with its gRPC code, unless the code is Unknown."""
    code = "rpc error: code = NotFound desc = " if isinstance(error, _NOT_FOUND) else ""
    cause = _CAUSES.get(type(error), "the pull failed")
    what = error.message.removesuffix(".")
    return f'{code}failed to pull and unpack image "{image}": {what}: {cause}'
