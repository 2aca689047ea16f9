"""A call of the runtime over a connection."""

from lading.wire import cri_pb2
from lading.wire.calls import Channel

RUNTIME = cri_pb2.DESCRIPTOR.services_by_name["RuntimeService"]


async def version(channel: Channel, *, timeout_seconds: float | None = None) -> str:
    answer = await channel.call(
        RUNTIME,
        "Version",
        cri_pb2.VersionRequest(),
        cri_pb2.VersionResponse,
        timeout_seconds=timeout_seconds,
    )
    return answer.runtime_name
