"""Runtime handlers: the handler of a RuntimeClass, and whether a runtime keeps images by handler.

With the feature gate off, `WithoutHandlers` removes the handlers from all requests and answers.
"""

from lading.api.core import RUNTIME_CLASSES
from lading.kernel.feature_gates import Gates
from lading.kernel.values import replace
from lading.ports import kube
from lading.ports.cri import (
    Container,
    Cri,
    Filesystems,
    Image,
    ImageSpec,
    Inspection,
    RuntimeStatus,
    RuntimeVersion,
    UnknownHandler,
)
from lading.ports.kube import Kube
from lading.ports.registry import Credential
from lading.runtime_images.types import RUNTIME_CLASS_IN_IMAGE_CRI_API, UnknownRuntimeClass

_PROBE = ImageSpec(image="lading.invalid/probe:none", runtime_handler="lading-probe-no-handler")


async def handler_of_class(cluster: Kube, runtime_class: str) -> str:
    """The handler of the RuntimeClass object; no class means the default handler."""
    if not runtime_class:
        return ""
    try:
        found = await cluster.get(RUNTIME_CLASSES, runtime_class)
    except kube.NotFound as error:
        next_step = "`kubectl get runtimeclass` lists them"
        message = f"the cluster has no RuntimeClass {runtime_class!r}; {next_step}"
        raise UnknownRuntimeClass(message) from error
    return found.handler


async def are_honoured(runtime: Cri) -> bool:
    """Whether the runtime keeps images by handler, as its answers show.

    Such a runtime lists images with a handler, or refuses an unknown handler. A runtime that
    ignores the field answers as if no handler was named.
    """
    if any(image.runtime_handler for image in await runtime.images()):
        return True
    try:
        await runtime.image(_PROBE)
    except UnknownHandler:
        return True
    return False


async def require_known(runtime: Cri, handler: str) -> None:
    """A runtime that ignores handlers accepts every name. An old one does not list its handlers."""
    known = {one.name for one in (await runtime.status()).handlers}
    if known and handler not in known:
        named = ", ".join(sorted(filter(None, known))) or "none but the default"
        raise UnknownHandler(f"the container runtime has no handler {handler!r}; known: {named}")


def gated(runtime: Cri, gates: Gates) -> Cri:
    return runtime if gate_is_on(gates) else WithoutHandlers(runtime)


def gate_is_on(gates: Gates) -> bool:
    return gates[RUNTIME_CLASS_IN_IMAGE_CRI_API]


class WithoutHandlers:
    """A `Cri` that behaves as if handlers did not exist."""

    def __init__(self, runtime: Cri) -> None:
        self._runtime = runtime

    async def version(self) -> RuntimeVersion:
        return await self._runtime.version()

    async def status(self) -> RuntimeStatus:
        return await self._runtime.status()

    async def images(self, only: ImageSpec | None = None) -> tuple[Image, ...]:
        found = await self._runtime.images(only and _spec(only))
        return tuple(_image(image) for image in found)

    async def image(self, spec: ImageSpec) -> Image | None:
        found = await self._runtime.image(_spec(spec))
        return found and _image(found)

    async def inspect(self, spec: ImageSpec) -> Inspection | None:
        found = await self._runtime.inspect(_spec(spec))
        return found and replace(found, image=_image(found.image))

    async def pull(self, spec: ImageSpec, credential: Credential | None = None) -> str:
        return await self._runtime.pull(_spec(spec), credential)

    async def remove(self, spec: ImageSpec) -> None:
        await self._runtime.remove(_spec(spec))

    async def filesystems(self) -> Filesystems:
        return await self._runtime.filesystems()

    async def containers(self) -> tuple[Container, ...]:
        return tuple(
            replace(
                container,
                image=_spec(container.image),
                image_volumes=tuple(_spec(volume) for volume in container.image_volumes),
            )
            for container in await self._runtime.containers()
        )


def _spec(spec: ImageSpec) -> ImageSpec:
    return replace(spec, runtime_handler="")


def _image(image: Image) -> Image:
    return replace(image, runtime_handler="")
