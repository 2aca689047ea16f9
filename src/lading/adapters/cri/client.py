"""The `Cri` port over gRPC: one channel to the runtime's socket, shared by every call.

Nothing is retried here: a caller sees `Unavailable` and decides.
"""

import asyncio
from typing import TypeVar

from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message

from lading.adapters.cri import errors, messages
from lading.ports import cri
from lading.ports.registry import Credential
from lading.wire import cri_pb2
from lading.wire.calls import CallFailed, Channel

CALL_TIMEOUT_SECONDS = 120.0  # kubelet's runtimeRequestTimeout
STATUS_CALLS_IN_FLIGHT_MAX = 16

_IMAGES = cri_pb2.DESCRIPTOR.services_by_name["ImageService"]
_RUNTIME = cri_pb2.DESCRIPTOR.services_by_name["RuntimeService"]

Response = TypeVar("Response", bound=Message)


class CriClient:
    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    async def version(self) -> cri.RuntimeVersion:
        request = cri_pb2.VersionRequest()
        answer = await self._call(_RUNTIME, "Version", request, cri_pb2.VersionResponse)
        return cri.RuntimeVersion(
            name=answer.runtime_name,
            version=answer.runtime_version,
            api_version=answer.runtime_api_version,
        )

    async def status(self) -> cri.RuntimeStatus:
        request = cri_pb2.StatusRequest(verbose=True)
        answer = await self._call(_RUNTIME, "Status", request, cri_pb2.StatusResponse)
        return messages.status_data(answer)

    async def images(self, only: cri.ImageSpec | None = None) -> tuple[cri.Image, ...]:
        request = cri_pb2.ListImagesRequest()
        if only is not None:
            request.filter.image.CopyFrom(messages.spec_message(only))
        answer = await self._call(_IMAGES, "ListImages", request, cri_pb2.ListImagesResponse)
        return tuple(messages.image_data(image) for image in answer.images)

    async def image(self, spec: cri.ImageSpec) -> cri.Image | None:
        inspection = await self._image_status(spec, verbose=False)
        return None if inspection is None else inspection.image

    async def inspect(self, spec: cri.ImageSpec) -> cri.Inspection | None:
        return await self._image_status(spec, verbose=True)

    async def pull(self, spec: cri.ImageSpec, credential: Credential | None = None) -> str:
        answer = await self._call(
            _IMAGES,
            "PullImage",
            messages.pull_request(spec, credential),
            cri_pb2.PullImageResponse,
            image=spec.image,
            timeout_seconds=None,
        )
        return answer.image_ref

    async def remove(self, spec: cri.ImageSpec) -> None:
        request = cri_pb2.RemoveImageRequest(image=messages.spec_message(spec))
        await self._call(
            _IMAGES, "RemoveImage", request, cri_pb2.RemoveImageResponse, image=spec.image
        )

    async def filesystems(self) -> cri.Filesystems:
        request = cri_pb2.ImageFsInfoRequest()
        answer = await self._call(_IMAGES, "ImageFsInfo", request, cri_pb2.ImageFsInfoResponse)
        return cri.Filesystems(
            images=tuple(map(messages.filesystem_data, answer.image_filesystems)),
            containers=tuple(map(messages.filesystem_data, answer.container_filesystems)),
        )

    async def containers(self) -> tuple[cri.Container, ...]:
        """Image volumes are only in the status of each container, hence a call for each."""
        request = cri_pb2.ListContainersRequest()
        answer = await self._call(
            _RUNTIME, "ListContainers", request, cri_pb2.ListContainersResponse
        )
        limit = asyncio.Semaphore(STATUS_CALLS_IN_FLIGHT_MAX)
        statuses = await asyncio.gather(
            *(self._container_status(listed.id, limit) for listed in answer.containers)
        )
        return tuple(map(messages.container_data, answer.containers, statuses))

    async def _container_status(
        self, container_id: str, limit: asyncio.Semaphore
    ) -> cri_pb2.ContainerStatus | None:
        """None when the container went away meanwhile."""
        request = cri_pb2.ContainerStatusRequest(container_id=container_id)
        async with limit:
            try:
                answer = await self._call(
                    _RUNTIME, "ContainerStatus", request, cri_pb2.ContainerStatusResponse
                )
            except cri.ImageNotFound:  # NOT_FOUND, here of the container
                return None
        return answer.status

    async def _image_status(self, spec: cri.ImageSpec, *, verbose: bool) -> cri.Inspection | None:
        request = cri_pb2.ImageStatusRequest(image=messages.spec_message(spec), verbose=verbose)
        answer = await self._call(
            _IMAGES, "ImageStatus", request, cri_pb2.ImageStatusResponse, image=spec.image
        )
        if not answer.HasField("image"):
            return None
        return cri.Inspection(image=messages.image_data(answer.image), info=dict(answer.info))

    async def _call(
        self,
        service: ServiceDescriptor,
        method: str,
        request: Message,
        response: type[Response],
        *,
        image: str = "",
        timeout_seconds: float | None = CALL_TIMEOUT_SECONDS,
    ) -> Response:
        try:
            return await self._channel.call(
                service, method, request, response, timeout_seconds=timeout_seconds
            )
        except CallFailed as error:
            raise errors.translated(error, call=method, image=image) from error
