"""CRI messages to and from the data of the port; nothing is decided here."""

import msgspec

from lading.kernel.errors import UNREADABLE
from lading.ports import cri
from lading.ports.registry import Credential
from lading.wire import cri_pb2

# containerd 1.7 to 2.1 take the handler of a pull from here instead of from the image's spec.
_HANDLER_ANNOTATION = "io.containerd.cri.runtime-handler"

_STATES = {
    cri_pb2.CONTAINER_CREATED: cri.ContainerState.CREATED,
    cri_pb2.CONTAINER_RUNNING: cri.ContainerState.RUNNING,
    cri_pb2.CONTAINER_EXITED: cri.ContainerState.EXITED,
}


def spec_message(spec: cri.ImageSpec) -> cri_pb2.ImageSpec:
    try:
        return cri_pb2.ImageSpec(
            image=spec.image,
            runtime_handler=spec.runtime_handler,
            annotations=dict(spec.annotations),
        )
    except UnicodeEncodeError as error:  # an argument of a command may hold any bytes
        message = f"{error.object!r} is not UTF-8"
        raise cri.InvalidReference(message, image=spec.image) from error


def spec_data(message: cri_pb2.ImageSpec) -> cri.ImageSpec:
    return cri.ImageSpec(
        image=message.image,
        runtime_handler=message.runtime_handler,
        annotations=dict(message.annotations),
    )


def pull_request(spec: cri.ImageSpec, credential: Credential | None) -> cri_pb2.PullImageRequest:
    request = cri_pb2.PullImageRequest(image=spec_message(spec))
    request.image.user_specified_image = spec.user_specified_image or spec.image
    if credential is not None:
        request.auth.username = credential.username
        request.auth.password = credential.password
        request.auth.identity_token = credential.identity_token
        request.auth.registry_token = credential.registry_token
        # Without it containerd shows the password to every mirror that asks for one.
        request.auth.server_address = credential.server_address
    if spec.runtime_handler:
        # containerd looks at the handler only when there is a sandbox.
        request.sandbox_config.annotations[_HANDLER_ANNOTATION] = spec.runtime_handler
    return request


def image_data(message: cri_pb2.Image) -> cri.Image:
    return cri.Image(
        id=message.id,
        size_bytes=message.size,
        repo_tags=tuple(message.repo_tags),
        repo_digests=tuple(message.repo_digests),
        uid=message.uid.value if message.HasField("uid") else None,
        username=message.username,
        pinned=message.pinned,
        runtime_handler=message.spec.runtime_handler,
        annotations=dict(message.spec.annotations),
    )


def filesystem_data(message: cri_pb2.FilesystemUsage) -> cri.FilesystemUsage:
    return cri.FilesystemUsage(
        mountpoint=message.fs_id.mountpoint,
        used_bytes=message.used_bytes.value,
        inodes_used=message.inodes_used.value,
        measured_at_nanoseconds=message.timestamp,
    )


def container_data(
    message: cri_pb2.Container, status: cri_pb2.ContainerStatus | None
) -> cri.Container:
    mounts = () if status is None else status.mounts
    return cri.Container(
        id=message.id,
        name=message.metadata.name,
        state=_STATES.get(message.state, cri.ContainerState.UNKNOWN),
        image=spec_data(message.image),
        image_id=message.image_id or message.image_ref,
        image_volumes=tuple(spec_data(mount.image) for mount in mounts if mount.image.image),
    )


def status_data(message: cri_pb2.StatusResponse) -> cri.RuntimeStatus:
    conditions = {condition.type: condition.status for condition in message.status.conditions}
    return cri.RuntimeStatus(
        ready=conditions.get("RuntimeReady", False),
        network_ready=conditions.get("NetworkReady", False),
        handlers=tuple(
            cri.RuntimeHandler(
                name=handler.name,
                recursive_read_only_mounts=handler.features.recursive_read_only_mounts,
                user_namespaces=handler.features.user_namespaces,
            )
            for handler in message.runtime_handlers
        ),
        sandbox_image=_sandbox_image(message.info.get("config", "")),
    )


class _Configuration(msgspec.Struct, rename="camel"):
    sandbox_image: str = ""


def _sandbox_image(config: str) -> str:
    """containerd and CRI-O both show their configuration as JSON; other runtimes need not."""
    try:
        return msgspec.json.decode(config, type=_Configuration).sandbox_image
    except UNREADABLE:
        return ""
