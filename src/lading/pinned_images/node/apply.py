"""Carries out the plan of a node. Pulls are handed to the engine and never waited for."""

from collections.abc import Awaitable, Callable
from typing import Any, assert_never

import msgspec

from lading.api.machineconfiguration.machine_config_node import MachineConfigNodeStatus
from lading.pinned_images.node import report
from lading.pinned_images.node.observe import NodeTools
from lading.pinned_images.node.types import (
    CancelPull,
    RecordNodeEvent,
    ResolveImages,
    StartPull,
    WritePins,
    WriteStatus,
)

NodeAction = StartPull | CancelPull | ResolveImages | WritePins | WriteStatus | RecordNodeEvent
OUR_CONDITIONS = (report.PROGRESSING, report.DEGRADED)


async def apply(
    action: NodeAction,
    tools: NodeTools,
    *,
    write_status: Callable[[MachineConfigNodeStatus], Awaitable[None]],
    record: Callable[[RecordNodeEvent], None],
) -> None:
    match action:
        case StartPull(key=key, spec=spec, new_bytes=new_bytes):
            tools.pulls.start(key, spec, new_bytes=new_bytes)
        case CancelPull(key=key, is_stalled=True, because=because):
            tools.pulls.abandon(key, because)
        case CancelPull(key=key):
            tools.pulls.cancel(key)
        case ResolveImages(keys=keys):
            tools.resolver.resolve(keys)
        case WritePins(pins=pins):
            await tools.pins.write(pins)
        case WriteStatus(status=status):
            await write_status(status)
        case RecordNodeEvent() as event:
            record(event)
        case _:
            assert_never(action)


def status_body(status: MachineConfigNodeStatus) -> dict[str, Any]:
    """The part of the status that the node owns, for server-side apply."""
    whole = msgspec.to_builtins(status)
    return {
        "observedGeneration": status.observed_generation,
        "pinnedImageSets": whole.get("pinnedImageSets", []),
        "conditions": [
            condition
            for condition in whole.get("conditions", [])
            if condition["type"] in OUR_CONDITIONS
        ],
    }
