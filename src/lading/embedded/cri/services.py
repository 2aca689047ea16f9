"""The CRI services ImageService and RuntimeService, in front of any `Cri`.

The RuntimeService runs no containers: gRPC answers UNIMPLEMENTED to calls that would start one.
"""

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from lading.embedded.cri import messages
from lading.ports import cri
from lading.ports.cri import Cri
from lading.wire import cri_pb2

CRI_VERSION = "0.1.0"
"""The version of the protocol that a kubelet sends and every runtime answers."""


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


class RuntimeService:
    def __init__(self, runtime: Cri) -> None:
        self._runtime = runtime

    async def version(
        self, request: cri_pb2.VersionRequest, metadata: object
    ) -> cri_pb2.VersionResponse:
        version = await self._runtime.version()
        return cri_pb2.VersionResponse(
            version=CRI_VERSION,
            runtime_name=version.name,
            runtime_version=version.version,
            runtime_api_version=version.api_version,
        )

    async def status(
        self, request: cri_pb2.StatusRequest, metadata: object
    ) -> cri_pb2.StatusResponse:
        status = await self._runtime.status()
        conditions = {"RuntimeReady": status.ready, "NetworkReady": status.network_ready}
        return cri_pb2.StatusResponse(
            status=cri_pb2.RuntimeStatus(
                conditions=[
                    cri_pb2.RuntimeCondition(type=kind, status=is_true)
                    for kind, is_true in conditions.items()
                ]
            ),
            runtime_handlers=[
                cri_pb2.RuntimeHandler(
                    name=handler.name,
                    features=cri_pb2.RuntimeHandlerFeatures(
                        recursive_read_only_mounts=handler.recursive_read_only_mounts,
                        user_namespaces=handler.user_namespaces,
                    ),
                )
                for handler in status.handlers
            ],
        )

    async def list_containers(
        self, request: cri_pb2.ListContainersRequest, metadata: object
    ) -> cri_pb2.ListContainersResponse:
        listed = map(messages.container_message, await self._runtime.containers())
        wanted = request.filter
        return cri_pb2.ListContainersResponse(
            containers=[
                container
                for container in listed
                if (not wanted.id or container.id == wanted.id)
                and (not wanted.HasField("state") or container.state == wanted.state.state)
            ]
        )

    async def container_status(
        self, request: cri_pb2.ContainerStatusRequest, metadata: object
    ) -> cri_pb2.ContainerStatusResponse:
        for container in await self._runtime.containers():
            if container.id == request.container_id:
                break
        else:
            message = f"container {request.container_id!r} not found"
            raise GRPCError(Status.NOT_FOUND, message)
        status = messages.container_status_message(container)
        return cri_pb2.ContainerStatusResponse(status=status)

    async def list_pod_sandbox(
        self, request: cri_pb2.ListPodSandboxRequest, metadata: object
    ) -> cri_pb2.ListPodSandboxResponse:
        return cri_pb2.ListPodSandboxResponse()
