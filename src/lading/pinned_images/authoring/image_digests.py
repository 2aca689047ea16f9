"""The digests of images: from pods, from the name itself, or from the registry.

An image that cannot be resolved is reported and does not stop the others.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from lading.api.core import Pod
from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.pinned_image_set import IMAGES_PER_SET_MAX
from lading.kernel import references
from lading.kernel.errors import Malformed
from lading.kernel.references import Reference
from lading.kernel.values import replace
from lading.ports.registry import Registry, RegistryError

IMAGES_MAX = IMAGES_PER_SET_MAX * group.SETS_PER_POOL_MAX
REQUESTS_MAX = 16  # at a time; the client has a lower limit for each host
_ALGORITHM = "sha256"  # the API of PinnedImageSets accepts no other
_FINISHED = ("Succeeded", "Failed")
_NO_DIGEST = "the runtime reports no digest for it: {image_id}"


class _Unusable(Exception):
    """The registry answered, but a set cannot have the image."""


class Unresolved(msgspec.Struct, frozen=True, kw_only=True):
    image: str
    found_in: str
    reason: str

    def __str__(self) -> str:
        place = f" ({self.found_in})" if self.found_in else ""
        return f"{self.image}{place}: {self.reason}"


class ImageDigests(msgspec.Struct, frozen=True, kw_only=True):
    names: frozenset[str]
    """`repository@digest`, or `repository:tag@digest` for an image that is named by its tag."""
    unresolved: tuple[Unresolved, ...]


async def resolved(
    registry: Registry, found_in: Mapping[str, str], *, show: Callable[[int], None]
) -> ImageDigests:
    """`found_in` maps each image to the place that names it. `show` receives the count so far."""
    if len(found_in) > IMAGES_MAX:
        reason = f"it has more than {IMAGES_MAX} images, the maximum for the sets of a pool"
        raise Malformed(what="list of images", text=len(found_in), reason=reason)
    free = asyncio.Semaphore(REQUESTS_MAX)
    names: set[str] = set()
    unresolved: list[Unresolved] = []

    async def resolve(image: str, place: str) -> None:
        try:
            async with free:
                names.add(str(await _by_digest(registry, image)))
        except (Malformed, RegistryError, _Unusable) as error:
            unresolved.append(Unresolved(image=image, found_in=place, reason=_reason(error)))
        show(len(names) + len(unresolved))

    async with asyncio.TaskGroup() as tasks:
        for image, place in found_in.items():
            tasks.create_task(resolve(image, place))
    ordered = sorted(unresolved, key=lambda one: one.image)
    return ImageDigests(names=frozenset(names), unresolved=tuple(ordered))


def _reason(error: Exception) -> str:
    """Without the image, because the line already begins with it."""
    if isinstance(error, Malformed):
        return f"not a valid {error.what}: {error.reason}"
    image, colon, reason = str(error).partition(": ")
    is_named = isinstance(error, RegistryError) and colon and "/" in image and " " not in image
    return reason if is_named else str(error)


async def _by_digest(registry: Registry, image: str) -> Reference:
    reference = references.qualified(image)
    digest = reference.digest
    if digest is None:
        found = await registry.head(reference)
        if found is None:
            raise _Unusable("not found in the registry; check the name and the tag")
        digest = found.digest
    if digest.algorithm != _ALGORITHM:
        raise _Unusable(f"a set takes {_ALGORITHM} digests only")
    return replace(reference, digest=digest)


def _without_tag(image: str) -> str:
    """The kubelet ignores the tag of an image that is named by digest."""
    name, at, digest = image.partition("@")
    head, _, tag = name.rpartition(":")
    return f"{head}@{digest}" if at and head and "/" not in tag else image


def _with_tag(running: str, named: str) -> str:
    """With the tag that the pod names, if the runtime found it in that repository."""
    repository, _, digest = running.partition("@")
    try:
        wanted = references.qualified(named)
    except Malformed:
        return running
    return f"{wanted}@{digest}" if wanted.name == repository else running


class RunningImage(msgspec.Struct, frozen=True, kw_only=True):
    image: str
    found_in: str
    problem: str = ""


def running_images(pods: Iterable[Pod]) -> Iterator[RunningImage]:
    """By digest. A container that has not started has none: its image is as the pod names it."""
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
            yield RunningImage(image=_without_tag(container.image), found_in=place)
        elif "@" in image_id:  # some runtimes prefix it with `docker-pullable://`
            running = image_id.rpartition("://")[2]
            yield RunningImage(image=_with_tag(running, container.image), found_in=place)
        else:
            problem = _NO_DIGEST.format(image_id=image_id)
            yield RunningImage(image=container.image, found_in=place, problem=problem)
