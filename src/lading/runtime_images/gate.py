"""The feature gate `RuntimeClassInImageCriApi`, in one place: off, no handler goes in or out.

With the gate off the runtime is seen through `WithoutHandlers`, and everything behind it behaves
as if handlers did not exist.
"""

from dataclasses import replace

from lading.kernel.feature_gates import Gates
from lading.ports.cri import (
    Container,
    Cri,
    Filesystems,
    Image,
    ImageSpec,
    Inspection,
    RuntimeStatus,
    RuntimeVersion,
)
from lading.ports.registry import Credential
from lading.runtime_images.types import RUNTIME_CLASS_IN_IMAGE_CRI_API


def gated(runtime: Cri, gates: Gates) -> Cri:
    return runtime if is_on(gates) else WithoutHandlers(runtime)


def is_on(gates: Gates) -> bool:
    return gates[RUNTIME_CLASS_IN_IMAGE_CRI_API]


class WithoutHandlers:
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
