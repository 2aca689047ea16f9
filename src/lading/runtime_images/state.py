"""What is remembered across restarts, as one JSON document.

A document that cannot be read counts as a fresh start: images then look young, never old.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Literal

import msgspec

from lading.ports.state_file import StateFile
from lading.runtime_images.types import Ages, ImageKey, Memory, Resolution, State

RESOLUTIONS_MAX = 4096  # far above the images of a node; the oldest are forgotten first

_Instant = Annotated[datetime, msgspec.Meta(tz=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ImageAges:
    image_id: str
    runtime_handler: str
    first_detected: _Instant
    last_used: _Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Memory:
    watched_since: _Instant
    looked_at: _Instant
    ages: tuple[_ImageAges, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    version: Literal[1] = 1
    memory: _Memory | None = None
    resolutions: tuple[Resolution, ...] = ()


_decoder = msgspec.json.Decoder(_Document)


async def load(document: StateFile) -> State:
    content = await document.read()
    try:
        return State() if content is None else _decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return State()


async def save_memory(document: StateFile, memory: Memory) -> None:
    state = await load(document)
    await document.replace(_encode(replace(state, memory=memory)))


async def save_resolution(document: StateFile, resolution: Resolution) -> None:
    state = await load(document)
    others = tuple(other for other in state.resolutions if other != resolution)
    newest = (*others, resolution)[-RESOLUTIONS_MAX:]
    await document.replace(_encode(replace(state, resolutions=newest)))


async def forget_resolutions(document: StateFile, pulled: Collection[str]) -> None:
    """For names that were removed: whoever pulls one of them again does it for others."""
    state = await load(document)
    kept = tuple(each for each in state.resolutions if each.pulled not in pulled)
    if kept != state.resolutions:
        await document.replace(_encode(replace(state, resolutions=kept)))


def resolution_of(
    resolutions: Sequence[Resolution], *, reference: str, runtime_handler: str
) -> Resolution | None:
    """The newest; earlier ones of the same reference name images that it has moved on from."""
    wanted = (reference, runtime_handler)
    fitting = (each for each in reversed(resolutions) if _asked(each) == wanted)
    return next(fitting, None)


def _asked(resolution: Resolution) -> tuple[str, str]:
    return resolution.reference, resolution.runtime_handler


def _encode(state: State) -> bytes:
    memory = None if state.memory is None else _written(state.memory)
    return msgspec.json.encode(_Document(memory=memory, resolutions=state.resolutions))


def _decode(content: bytes) -> State:
    document = _decoder.decode(content)
    memory = None if document.memory is None else _read(document.memory)
    return State(memory=memory, resolutions=document.resolutions)


def _written(memory: Memory) -> _Memory:
    return _Memory(
        watched_since=memory.watched_since,
        looked_at=memory.looked_at,
        ages=tuple(
            _ImageAges(
                image_id=key.image_id,
                runtime_handler=key.runtime_handler,
                first_detected=ages.first_detected,
                last_used=ages.last_used,
            )
            for key, ages in memory.ages.items()
        ),
    )


def _read(memory: _Memory) -> Memory:
    return Memory(
        watched_since=memory.watched_since,
        looked_at=memory.looked_at,
        ages={
            ImageKey(image_id=each.image_id, runtime_handler=each.runtime_handler): Ages(
                first_detected=each.first_detected, last_used=each.last_used
            )
            for each in memory.ages
        },
    )
