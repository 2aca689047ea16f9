"""What an image service answers of CRI's RuntimeService: who it is, what containers use images.

Nothing is run: the calls that would start something are not there, so gRPC says UNIMPLEMENTED.
"""

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from lading.ports.cri import Cri
from lading.servers.cri import messages
from lading.wire import cri_pb2
from lading.wire.handlers import Metadata

CRI_VERSION = "0.1.0"
"""What kubelet sends and every runtime answers as the version of the protocol."""


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
        self, request: cri_pb2.ContainerStatusRequest, metadata: Metadata
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
