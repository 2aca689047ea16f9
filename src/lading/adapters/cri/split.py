"""A runtime with another service for its images, as some snapshotters want it."""

import msgspec

from lading.ports.credential import Credential
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


class SplitRuntime(msgspec.Struct, frozen=True, kw_only=True):
    runtime: Cri
    image_service: Cri

    async def version(self) -> RuntimeVersion:
        return await self.runtime.version()

    async def status(self) -> RuntimeStatus:
        return await self.runtime.status()

    async def containers(self) -> tuple[Container, ...]:
        return await self.runtime.containers()

    async def images(self, only: ImageSpec | None = None) -> tuple[Image, ...]:
        return await self.image_service.images(only)

    async def image(self, spec: ImageSpec) -> Image | None:
        return await self.image_service.image(spec)

    async def inspect(self, spec: ImageSpec) -> Inspection | None:
        return await self.image_service.inspect(spec)

    async def pull(self, spec: ImageSpec, credential: Credential | None = None) -> str:
        return await self.image_service.pull(spec, credential)

    async def remove(self, spec: ImageSpec) -> None:
        await self.image_service.remove(spec)

    async def filesystems(self) -> Filesystems:
        return await self.image_service.filesystems()
