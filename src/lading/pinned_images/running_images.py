"""The images of the pods of a cluster, by the digests that run. Pure.

A container that has not started has no digest yet: its image counts as the pod names it. Pods that
have finished count no more.
"""

from collections.abc import Iterable, Iterator

import msgspec

from lading.api.core import Pod

_FINISHED = ("Succeeded", "Failed")
_NO_DIGEST = "the runtime reports no digest for it: {image_id}"


class RunningImage(msgspec.Struct, frozen=True, kw_only=True):
    image: str
    found_in: str
    problem: str = ""


def running_images(pods: Iterable[Pod]) -> Iterator[RunningImage]:
    for pod in pods:
        if pod.status.phase not in _FINISHED:
            yield from _of_pod(pod)


def _of_pod(pod: Pod) -> Iterator[RunningImage]:
    place = f"Pod {pod.metadata.namespace}/{pod.metadata.name}"
    status, spec = pod.status, pod.spec
    ids = {
        one.name: one.image_id
        for one in (
            *status.init_container_statuses,
            *status.container_statuses,
            *status.ephemeral_container_statuses,
        )
    }
    for container in (*spec.init_containers, *spec.containers, *spec.ephemeral_containers):
        image_id = ids.get(container.name, "")
        if "@" in container.image or not image_id:
            yield RunningImage(image=container.image, found_in=place)
        elif "@" in image_id:  # some runtimes write `docker-pullable://` before it
            yield RunningImage(image=image_id.rpartition("://")[2], found_in=place)
        else:
            problem = _NO_DIGEST.format(image_id=image_id)
            yield RunningImage(image=container.image, found_in=place, problem=problem)
