"""Converts the data of the port to and from CRI messages, and its errors to gRPC codes."""

import base64
from collections.abc import Mapping

from grpclib.const import Status

from lading.ports import cri
from lading.ports.registry import Credential
from lading.wire import cri_pb2

_CODES: Mapping[type[cri.CriError], Status] = {
    cri.RegistryUnavailable: Status.UNAVAILABLE,
    cri.ImageNotFound: Status.NOT_FOUND,
    cri.NoMatchingPlatform: Status.NOT_FOUND,
    cri.Unauthorized: Status.PERMISSION_DENIED,
    cri.NoSpace: Status.RESOURCE_EXHAUSTED,
    cri.UnknownHandler: Status.INVALID_ARGUMENT,
    cri.InvalidReference: Status.INVALID_ARGUMENT,
    cri.ContentRejected: Status.DATA_LOSS,
}

_STATES = {
    cri.ContainerState.CREATED: cri_pb2.CONTAINER_CREATED,
    cri.ContainerState.RUNNING: cri_pb2.CONTAINER_RUNNING,
    cri.ContainerState.EXITED: cri_pb2.CONTAINER_EXITED,
    cri.ContainerState.UNKNOWN: cri_pb2.CONTAINER_UNKNOWN,
}


def code_and_details(error: cri.CriError) -> tuple[Status, str]:
    """Clients recognize the kind of an error by the name before the first colon."""
    code = _CODES.get(type(error), Status.UNKNOWN)
    return code, f"{type(error).__name__}: {error.message}"


def spec_data(message: cri_pb2.ImageSpec) -> cri.ImageSpec:
    return cri.ImageSpec(
        image=message.image,
        runtime_handler=message.runtime_handler,
        annotations=dict(message.annotations),
    )


def credential_data(message: cri_pb2.AuthConfig) -> Credential:
    """User and password may also come in base64, as docker writes them."""
    username, password = message.username, message.password
    if message.auth and not username:
        username, password = _user_and_password(message.auth)
    return Credential(
        username=username,
        password=password,
        identity_token=message.identity_token,
        registry_token=message.registry_token,
        server_address=message.server_address,
    )


def _user_and_password(auth: str) -> tuple[str, str]:
    try:
        username, _, password = base64.b64decode(auth, validate=True).decode().partition(":")
    except ValueError as error:
        message = "the auth of the request is not base64 of USER:PASSWORD"
        raise cri.Unauthorized(message) from error
    return username, password


def image_message(image: cri.Image) -> cri_pb2.Image:
    message = cri_pb2.Image(
        id=image.id,
        repo_tags=image.repo_tags,
        repo_digests=image.repo_digests,
        size=image.size_bytes,
        username=image.username,
        pinned=image.pinned,
    )
    if image.uid is not None:
        message.uid.value = image.uid
    if image.runtime_handler:
        message.spec.image = image.id
        message.spec.runtime_handler = image.runtime_handler
    return message


def filesystem_message(usage: cri.FilesystemUsage) -> cri_pb2.FilesystemUsage:
    return cri_pb2.FilesystemUsage(
        timestamp=usage.measured_at_nanoseconds,
        fs_id=cri_pb2.FilesystemIdentifier(mountpoint=usage.mountpoint),
        used_bytes=cri_pb2.UInt64Value(value=usage.used_bytes),
        inodes_used=cri_pb2.UInt64Value(value=usage.inodes_used),
    )


def container_message(container: cri.Container) -> cri_pb2.Container:
    return cri_pb2.Container(
        id=container.id,
        metadata=cri_pb2.ContainerMetadata(name=container.name),
        image=_spec_message(container.image),
        image_ref=container.image_id,
        image_id=container.image_id,
        state=_STATES[container.state],
    )


def container_status_message(container: cri.Container) -> cri_pb2.ContainerStatus:
    return cri_pb2.ContainerStatus(
        id=container.id,
        metadata=cri_pb2.ContainerMetadata(name=container.name),
        state=_STATES[container.state],
        image=_spec_message(container.image),
        image_ref=container.image_id,
        image_id=container.image_id,
        mounts=[cri_pb2.Mount(image=_spec_message(spec)) for spec in container.image_volumes],
    )


def _spec_message(spec: cri.ImageSpec) -> cri_pb2.ImageSpec:
    return cri_pb2.ImageSpec(
        image=spec.image, runtime_handler=spec.runtime_handler, annotations=dict(spec.annotations)
    )
