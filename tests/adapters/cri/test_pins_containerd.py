"""Pins by containerd's labels, on the embedded service that speaks the same protocol."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from grpclib.const import Status

from lading.adapters.clock import SystemClock
from lading.adapters.cri import pinning, pins_containerd
from lading.adapters.cri.client import CriClient
from lading.adapters.cri.pins_containerd import ContainerdPins
from lading.embedded.cri.core import EmbeddedRuntime
from lading.kernel.values import replace
from lading.ports import cri
from lading.ports.cri import Image, ImageSpec, Pin, RecordedPin
from lading.wire import calls
from lading.wire.calls import Channel
from tests.embedded.cri.memory_registry import MemoryRegistry


@pytest.fixture
async def channel(endpoint: str) -> AsyncIterator[Channel]:
    async with calls.channel_to(endpoint) as channel:
        yield channel


@pytest.fixture
def pins(channel: Channel) -> ContainerdPins:
    return ContainerdPins(channel, CriClient(channel), SystemClock())


class HastyClock(SystemClock):
    """Time passes by sleeping alone, so that giving up takes no time."""

    def __init__(self) -> None:
        super().__init__()
        self._seconds = 0.0

    def monotonic(self) -> float:
        return self._seconds

    async def sleep(self, seconds: float) -> None:
        self._seconds += seconds


class LateRuntime(CriClient):
    """Reports images as pinned that no longer are."""

    stale: frozenset[str] = frozenset()

    async def images(self, only: ImageSpec | None = None) -> tuple[Image, ...]:
        found = await super().images(only)
        return tuple(replace(one, pinned=one.pinned or one.id in self.stale) for one in found)


async def pulled(
    runtime: EmbeddedRuntime, registry: MemoryRegistry, name: str, *owners: str
) -> Pin:
    """An image on the node, and the pin that these sets want for it."""
    manifest = registry.add_image(f"{name}:1", layers=(name.encode(),))
    image_id = await runtime.pull(ImageSpec(image=f"{name}:1"))
    return Pin(image=f"{name}@{manifest.digest}", image_id=image_id, owners=owners)


async def pinned_ids(runtime: EmbeddedRuntime) -> set[str]:
    return {image.id for image in await runtime.images() if image.pinned}


async def test_pins_are_held_with_their_owners_and_are_in_force(
    pins: ContainerdPins, runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    first = await pulled(runtime, registry, "r.io/a", "blue", "green")
    second = await pulled(runtime, registry, "r.io/b", "green")
    await pins.write([first, second])
    held = await pins.recorded()
    assert set(held) == {
        RecordedPin(pin=first, effective=True),
        RecordedPin(pin=second, effective=True),
    }
    assert await pinned_ids(runtime) == {first.image_id, second.image_id}


async def test_what_is_no_longer_wanted_is_let_go(
    pins: ContainerdPins, runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    first = await pulled(runtime, registry, "r.io/a", "blue")
    second = await pulled(runtime, registry, "r.io/b", "blue")
    await pins.write([first, second])
    await pins.write([second])
    assert await pins.recorded() == (RecordedPin(pin=second, effective=True),)
    assert await pinned_ids(runtime) == {second.image_id}
    await pins.write([])
    assert await pins.recorded() == ()
    assert await pinned_ids(runtime) == set()


class FailingChannel:
    """Takes so many changes of labels, and then none."""

    def __init__(self, channel: Channel, *, updates_max: int) -> None:
        self._channel = channel
        self._updates_left = updates_max

    async def call(self, service: Any, method: str, *rest: Any, **more: Any) -> Any:
        if method == "Update":
            if not self._updates_left:
                raise calls.CallFailed(Status.UNAVAILABLE, "killed")
            self._updates_left -= 1
        return await self._channel.call(service, method, *rest, **more)


async def test_pins_that_are_cut_off_leave_the_old_images_of_a_set_or_the_new_ones(
    channel: Channel, pins: ContainerdPins, runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    images = [await pulled(runtime, registry, f"r.io/{number}", "blue") for number in range(8)]
    old, new = images[:4], images[4:]
    for updates_max in range(9):
        await pins.write(old)
        cut_off = FailingChannel(channel, updates_max=updates_max)
        writer = ContainerdPins(cast(Channel, cut_off), CriClient(channel), HastyClock())
        with contextlib.suppress(cri.Transient):
            await writer.write(new)
        pinned = await pinned_ids(runtime)
        assert any({pin.image_id for pin in each} <= pinned for each in (old, new))


async def test_an_unpin_that_containerd_has_not_taken_stays_recorded(
    channel: Channel, runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    """Also for another process, to which the labels are all there is."""
    late = LateRuntime(channel)
    pin = await pulled(runtime, registry, "r.io/a", "blue", "green")
    await ContainerdPins(channel, late, HastyClock()).write([pin])
    late.stale = frozenset({pin.image_id})
    with pytest.raises(cri.CriError, match="still reports as pinned"):
        await ContainerdPins(channel, late, HastyClock()).write([])
    after_a_restart = ContainerdPins(channel, late, HastyClock())
    assert await after_a_restart.recorded() == (
        RecordedPin(pin=pin, effective=True, released=True),
    )
    late.stale = frozenset()
    await after_a_restart.write([])
    assert await after_a_restart.recorded() == ()
    assert await pinned_ids(runtime) == set()


async def test_an_unpin_that_is_taken_back_is_a_pin_again(
    channel: Channel, runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    late = LateRuntime(channel)
    pin = await pulled(runtime, registry, "r.io/a", "blue")
    held = ContainerdPins(channel, late, HastyClock())
    await held.write([pin])
    late.stale = frozenset({pin.image_id})
    with pytest.raises(cri.CriError):
        await held.write([])
    await held.write([pin])
    assert await held.recorded() == (RecordedPin(pin=pin, effective=True),)


async def test_an_image_that_another_party_pins_by_its_tag_is_let_go_all_the_same(
    pins: ContainerdPins, channel: Channel, runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    pin = await pulled(runtime, registry, "r.io/a", "blue")
    await pins.write([pin])
    late = LateRuntime(channel)
    late.stale = frozenset({pin.image_id})
    by_tag = next(one for one in await pins._listed() if one.name == "r.io/a:1")
    await pins._set_labels(by_tag, {**by_tag.labels, pins_containerd.PINNED[0]: "pinned"})
    await ContainerdPins(channel, late, HastyClock()).write([])
    assert await pins.recorded() == ()


class IndexChannel:
    """Like containerd, where a tag of an index has the index as its target."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    async def call(self, service: Any, method: str, *rest: Any, **more: Any) -> Any:
        answer = await self._channel.call(service, method, *rest, **more)
        if method == "List":
            for image in answer.images:
                if image.name.endswith(":1"):
                    image.target.digest = f"sha256:{'0' * 64}"
        return answer


async def test_an_image_of_which_another_party_pins_the_index_is_let_go_all_the_same(
    pins: ContainerdPins, channel: Channel, runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    pin = await pulled(runtime, registry, "r.io/a", "blue")
    await pins.write([pin])
    by_tag = next(one for one in await pins._listed() if one.name == "r.io/a:1")
    await pins._set_labels(by_tag, {**by_tag.labels, pins_containerd.PINNED[0]: "pinned"})
    of_index = cast(Channel, IndexChannel(channel))
    await ContainerdPins(of_index, CriClient(channel), HastyClock()).write([])
    assert await pins.recorded() == ()
    assert await pinned_ids(runtime) == {pin.image_id}, "for the other party"


async def test_a_pinned_name_that_a_person_removed_is_made_again(
    pins: ContainerdPins, runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    pin = replace(await pulled(runtime, registry, "r.io/a", "blue"), tags=("r.io/a:v1",))
    await pins.write([pin])
    runtime.remove_name("r.io/a:v1")
    assert [one.pin.tags for one in await pins.recorded()] == [()]
    await pins.write([pin])
    assert await pins.recorded() == (RecordedPin(pin=pin, effective=True),)


async def test_a_pin_survives_pulling_the_tag_again(
    pins: ContainerdPins, runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    pin = await pulled(runtime, registry, "r.io/a", "blue")
    await pins.write([pin])
    await runtime.pull(ImageSpec(image="r.io/a:1"))
    assert await pins.recorded() == (RecordedPin(pin=pin, effective=True),)


async def test_a_label_on_the_tag_does_not_survive_so_pins_are_not_put_there(
    runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    pin = await pulled(runtime, registry, "r.io/a", "blue")
    runtime.set_labels("r.io/a:1", dict([pins_containerd.PINNED]))
    assert await pinned_ids(runtime) == {pin.image_id}
    await runtime.pull(ImageSpec(image="r.io/a:1"))
    assert await pinned_ids(runtime) == set()


async def test_an_image_that_is_not_there_gets_no_pin_and_stops_no_other(
    pins: ContainerdPins, runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    there = await pulled(runtime, registry, "r.io/a", "blue")
    absent = Pin(image="r.io/b@sha256:0", image_id=f"sha256:{'0' * 64}", owners=("blue",))
    await pins.write([absent, there])
    assert await pins.recorded() == (RecordedPin(pin=there, effective=True),)


async def test_a_pin_of_another_owner_is_neither_listed_nor_taken_back(
    pins: ContainerdPins, runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    pin = await pulled(runtime, registry, "r.io/a", "blue")
    theirs = dict([pins_containerd.PINNED]) | {"another.tool/owner": "them"}
    runtime.set_labels(pin.image_id, theirs)
    assert await pins.recorded() == ()
    await pins.write([pin])
    assert await pins.recorded() == (RecordedPin(pin=pin, effective=True),)
    await pins.write([])
    assert await pinned_ids(runtime) == {pin.image_id}
    assert runtime.labelled_names()[pin.image_id][1] == theirs


async def test_a_pin_without_its_label_is_shown_as_not_in_force_and_repaired(
    pins: ContainerdPins, runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    pin = await pulled(runtime, registry, "r.io/a", "blue")
    await pins.write([pin])
    labels = runtime.labelled_names()[pin.image_id][1]
    key, _ = pins_containerd.PINNED
    runtime.set_labels(pin.image_id, {k: v for k, v in labels.items() if k != key})
    assert await pins.recorded() == (RecordedPin(pin=pin, effective=False),)
    await pins.write([pin])
    assert await pins.recorded() == (RecordedPin(pin=pin, effective=True),)


async def test_two_references_to_one_image_keep_their_own_owners(
    pins: ContainerdPins, runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    first = await pulled(runtime, registry, "r.io/a", "blue")
    mirrored = Pin(
        image=first.image.replace("r.io", "mirror.io"), image_id=first.image_id, owners=("green",)
    )
    await pins.write([first, mirrored])
    assert {recorded.pin for recorded in await pins.recorded()} == {first, mirrored}
    await pins.write([mirrored])
    assert {recorded.pin for recorded in await pins.recorded()} == {mirrored}
    assert await pinned_ids(runtime) == {first.image_id}


async def test_a_hundred_owners_fit(
    pins: ContainerdPins, runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    owners = tuple(sorted(f"{number:03}-{'o' * 240}" for number in range(100)))
    pin = await pulled(runtime, registry, "r.io/a", *owners)
    await pins.write([pin])
    assert await pins.recorded() == (RecordedPin(pin=pin, effective=True),)


async def test_a_set_may_name_one_image_in_any_number_of_ways(
    pins: ContainerdPins, runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    pin = await pulled(runtime, registry, "r.io/a", "blue")
    mirrored = [replace(pin, image=f"mirror-{number}.{pin.image}") for number in range(100)]
    await pins.write(mirrored)
    assert {recorded.pin for recorded in await pins.recorded() if recorded.effective} == set(
        mirrored
    )
    await pins.write([])
    assert await pins.recorded() == ()
    assert await pinned_ids(runtime) == set()


@pytest.mark.parametrize(
    ("name", "reason"), [("containerd", "1.6.20 cannot pin images"), ("other", "does not pin by")]
)
async def test_where_pinning_is_impossible_nothing_is_labelled_and_the_error_has_the_reason(
    channel: Channel,
    runtime: EmbeddedRuntime,
    registry: MemoryRegistry,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    reason: str,
) -> None:
    async def version() -> cri.RuntimeVersion:
        return cri.RuntimeVersion(name=name, version="1.6.20", api_version="v1")

    monkeypatch.setattr(runtime, "version", version)
    pins = ContainerdPins(channel, CriClient(channel), SystemClock())
    pin = await pulled(runtime, registry, "r.io/a", "blue")
    with pytest.raises(cri.CannotPin, match=reason):
        await pins.write([pin])
    assert await pinned_ids(runtime) == set()


@pytest.mark.parametrize(
    ("version", "can"),
    [
        ("1.6.20~ds1", False),
        ("v1.6.25", True),
        ("v1.7.9", False),
        ("v1.7.10", True),
        ("v2.0.0-rc.1", True),
        ("v2.3.1", True),
        ("1.5.0", False),
        ("unknown", False),
    ],
)
def test_a_release_that_cannot_pin_is_named_with_the_one_that_can(version: str, can: bool) -> None:
    refusal = pinning.too_old(
        cri.RuntimeVersion(name="containerd", version=version, api_version="v1"),
        patch_by_line=pins_containerd.PINNING_PATCH_BY_LINE,
        reason="it does not follow labels",
    )
    assert (refusal is None) is can
    if refusal is not None:
        assert version in str(refusal)
