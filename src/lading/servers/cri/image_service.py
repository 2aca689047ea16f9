"""CRI's ImageService in front of anything that is a `Cri`."""

from lading.ports import cri
from lading.ports.cri import Cri
from lading.servers.cri import messages
from lading.wire import cri_pb2


class ImageService:
    def __init__(self, runtime: Cri) -> None:
        self._runtime = runtime

    async def list_images(
        self, request: cri_pb2.ListImagesRequest, metadata: object
    ) -> cri_pb2.ListImagesResponse:
        images = await self._runtime.images(_filter(request))
        return cri_pb2.ListImagesResponse(images=map(messages.image_message, images))

    async def image_status(
        self, request: cri_pb2.ImageStatusRequest, metadata: object
    ) -> cri_pb2.ImageStatusResponse:
        spec = messages.spec_data(request.image)
        if request.verbose:
            inspection = await self._runtime.inspect(spec)
            if inspection is None:
                return cri_pb2.ImageStatusResponse()
            image = messages.image_message(inspection.image)
            return cri_pb2.ImageStatusResponse(image=image, info=inspection.info)
        found = await self._runtime.image(spec)
        if found is None:
            return cri_pb2.ImageStatusResponse()
        return cri_pb2.ImageStatusResponse(image=messages.image_message(found))

    async def pull_image(
        self, request: cri_pb2.PullImageRequest, metadata: object
    ) -> cri_pb2.PullImageResponse:
        credential = messages.credential_data(request.auth) if request.HasField("auth") else None
        image_id = await self._runtime.pull(messages.spec_data(request.image), credential)
        return cri_pb2.PullImageResponse(image_ref=image_id)

    async def remove_image(
        self, request: cri_pb2.RemoveImageRequest, metadata: object
    ) -> cri_pb2.RemoveImageResponse:
        await self._runtime.remove(messages.spec_data(request.image))
        return cri_pb2.RemoveImageResponse()

    async def image_fs_info(
        self, request: cri_pb2.ImageFsInfoRequest, metadata: object
    ) -> cri_pb2.ImageFsInfoResponse:
        filesystems = await self._runtime.filesystems()
        return cri_pb2.ImageFsInfoResponse(
            image_filesystems=map(messages.filesystem_message, filesystems.images),
            container_filesystems=map(messages.filesystem_message, filesystems.containers),
        )


def _filter(request: cri_pb2.ListImagesRequest) -> cri.ImageSpec | None:
    if not request.filter.HasField("image"):
        return None
    return messages.spec_data(request.filter.image)
