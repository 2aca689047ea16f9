"""Builders with defaults, so that every field written in a test matters to it."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from lading.api.machineconfiguration.machine_config_node import MachineConfigNodeStatus
from lading.kernel import conditions
from lading.kernel.digests import Digest
from lading.kernel.images import ImageKey, Layer, Resolution
from lading.kernel.planning import Plan, RecordEvent
from lading.pinned_images.node import plan as policy
from lading.pinned_images.node.types import (
    Budget,
    Desired,
    DesiredSet,
    FailedResolution,
    ObservedNodeImages,
    PinSettings,
    Present,
    Pull,
    PullError,
    PullErrorKind,
    StartPull,
    WriteHistory,
    WriteStatus,
)
from lading.ports.cri import Pin, RecordedPin

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
MIB = 1024 * 1024
HISTORY = frozenset(WriteHistory.__struct_fields__)


def key(name: str, handler: str = "") -> ImageKey:
    digest = Digest.of(name.encode())
    return ImageKey(f"registry.example/{name}@{digest}", handler)


def image_id(name: str) -> str:
    return str(Digest.of(b"config of " + name.encode()))


def image_set(name: str, *images: str, generation: int = 1, **more: Any) -> DesiredSet:
    return DesiredSet(
        name=name,
        generation=generation,
        images=tuple(key(image) for image in images),
        **more,
    )


def present(*names: str) -> dict[ImageKey, Present]:
    return {
        key(name): Present(image_id=image_id(name), reference=key(name).image) for name in names
    }


def pinned(*names: str, by: str, effective: bool = True) -> tuple[RecordedPin, ...]:
    owners = tuple(sorted(by.split("+")))
    return tuple(
        RecordedPin(
            pin=Pin(image=key(name).image, image_id=image_id(name), owners=owners),
            effective=effective,
        )
        for name in names
    )


def layer(name: str, size_mib: int) -> Layer:
    return Layer(str(Digest.of(name.encode())), size_mib * MIB)


def resolved(*names: str, size_mib: int = 10) -> dict[ImageKey, Resolution]:
    return {
        key(name): Resolution(
            manifest=key(name).image, layers=(layer(f"layer of {name}", size_mib),)
        )
        for name in names
    }


def failed(kind: PullErrorKind, *, attempts: int = 1, message: str = "it broke") -> Pull:
    return Pull(
        running=False, attempts=attempts, error=PullError(kind=kind, message=message, at=NOW)
    )


RUNNING = Pull(running=True, attempts=1)


def unresolved(kind: PullErrorKind, *, attempts: int = 1) -> FailedResolution:
    error = PullError(kind=kind, message="it broke", at=NOW)
    return FailedResolution(attempts=attempts, error=error)


UNRESOLVED = unresolved(PullErrorKind.UNAVAILABLE)


def budget(free_mib: int, reserve_mib: int = 0) -> Budget:
    return Budget(
        capacity_bytes=100_000 * MIB,
        free_bytes=free_mib * MIB,
        reserve_bytes=reserve_mib * MIB,
    )


def observed(*here: str, known: Iterable[str] = (), **more: Any) -> ObservedNodeImages:
    """Images that are here and resolved; `known` are resolved but missing."""
    images = more.pop("images", present(*here))
    pins = more.pop("pins", ())
    history = WriteHistory(**{name: more.pop(name) for name in HISTORY & more.keys()})
    ids = frozenset(one.image_id for one in images.values())
    more.setdefault("resolutions", resolved(*here, *known))
    more.setdefault("image_ids", ids | {recorded.pin.image_id for recorded in pins})
    return ObservedNodeImages(images=images, pins=pins, history=history, **more)


def planned(
    sets: Iterable[DesiredSet], seen: ObservedNodeImages, *, now: datetime = NOW, **settings: Any
) -> Plan:
    desired = Desired(node_name="node-1", sets=tuple(sets), settings=PinSettings(**settings))
    return policy.plan(desired, seen, now)


def actions_of(plan: Plan, type_: type[Any]) -> list[Any]:
    return [action for action in plan.actions if isinstance(action, type_)]


def status_of(plan: Plan) -> MachineConfigNodeStatus:
    (write,) = actions_of(plan, WriteStatus)
    assert isinstance(write, WriteStatus)
    return write.status


def started(sets: list[DesiredSet], seen: ObservedNodeImages, **settings: Any) -> list[str]:
    plan = planned(sets, seen, **settings)
    return [action.key.image.split("/")[1].split("@")[0] for action in actions_of(plan, StartPull)]


def truth(status: MachineConfigNodeStatus, type_: str) -> tuple[str, str]:
    condition = conditions.find(status.conditions, type_)
    assert condition is not None
    return condition.status.value, condition.reason


def written(plan: Plan) -> dict[str, Any]:
    """What the next reconcile of the same process observes of the last status."""
    (write,) = actions_of(plan, WriteStatus)
    return {"last_status": write.status, "problems": write.problems}


def events_of(plan: Plan) -> list[tuple[str, str]]:
    """Which set each event names, and its reason."""
    events = actions_of(plan, RecordEvent)
    return [(one.because.split()[1].rstrip(":"), one.reason) for one in events]
