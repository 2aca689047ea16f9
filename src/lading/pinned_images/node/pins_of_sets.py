"""The pins of some sets, on a node that may hold others: those are neither listed nor touched."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from lading.ports.cri import CannotPin, HeldPin, Pin, Pins


@dataclass(frozen=True, slots=True)
class PinsOfSets:
    """A `Pins`."""

    pins: Pins
    names: frozenset[str]

    async def cannot_pin(self) -> CannotPin | None:
        return await self.pins.cannot_pin()

    async def held(self) -> tuple[HeldPin, ...]:
        held = await self.pins.held()
        return tuple(_owned(held, lambda owner: owner in self.names))

    async def hold(self, pins: Collection[Pin]) -> None:
        held = await self.pins.held()
        others = _owned(held, lambda owner: owner not in self.names)
        await self.pins.hold((*pins, *(one.pin for one in others)))


def _owned(pins: Iterable[HeldPin], wanted: Callable[[str], bool]) -> Iterator[HeldPin]:
    """Each pin as far as it belongs to the wanted owners."""
    for held in pins:
        owners = tuple(filter(wanted, held.pin.owners))
        if owners:
            yield replace(held, pin=replace(held.pin, owners=owners))
