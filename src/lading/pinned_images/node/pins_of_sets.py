"""The pins of some sets, on a node that may have others: those are neither listed nor touched."""

from collections.abc import Callable, Collection, Iterable, Iterator

import msgspec

from lading.kernel.values import replace
from lading.ports.cri import CannotPin, Pin, Pins, RecordedPin


class PinsOfSets(msgspec.Struct, frozen=True):
    """A `Pins`."""

    pins: Pins
    names: frozenset[str]

    async def cannot_pin(self) -> CannotPin | None:
        return await self.pins.cannot_pin()

    async def recorded(self) -> tuple[RecordedPin, ...]:
        recorded = await self.pins.recorded()
        return tuple(_owned(recorded, lambda owner: owner in self.names))

    async def outdated(self) -> bool:
        return await self.pins.outdated()

    async def write(self, pins: Collection[Pin]) -> None:
        recorded = await self.pins.recorded()
        others = _owned(recorded, lambda owner: owner not in self.names)
        await self.pins.write((*pins, *(one.pin for one in others if not one.released)))


def _owned(pins: Iterable[RecordedPin], wanted: Callable[[str], bool]) -> Iterator[RecordedPin]:
    """Each pin as far as it belongs to the wanted owners."""
    for recorded in pins:
        owners = tuple(filter(wanted, recorded.pin.owners))
        if owners:
            yield replace(recorded, pin=replace(recorded.pin, owners=owners))
