"""Pins outlive the runtime and the agent: both are started anew and still know them."""

import asyncio
import secrets
from collections.abc import Callable

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.cri import pins_crio
from lading.adapters.cri.client import CriClient
from lading.adapters.cri.crio_config import CrioConfig
from lading.adapters.cri.pins_containerd import ContainerdPins
from lading.adapters.cri.pins_crio import CrioPins
from lading.adapters.registry import client as registry_client
from lading.embedded import sample_images
from lading.kernel import references
from lading.ports import cri
from lading.ports.cri import ImageSpec, Pin, Pins, RecordedPin
from lading.wire import calls
from tests.real.bed import containerd, crio, registry, restart, runtime, sandbox

ANSWER_SECONDS_MAX = 90.0


@pytest.mark.components("containerd", "registry")
@pytest.mark.parametrize("version", ["2.3", "1.7"])
async def test_pins_of_containerd_are_still_in_force(
    version: str, registry_3_1: registry.Registry
) -> None:
    with sandbox.sandbox() as place:
        running = containerd.start(place, version, registries=[registry_3_1])
        async with calls.channel_to(running.endpoint) as channel:
            client = CriClient(channel)

            def new_driver() -> Pins:
                return ContainerdPins(channel, client, SystemClock())

            await check(place, running, registry_3_1.host, client, new_driver)


@pytest.mark.components("cri-o", "registry")
async def test_pins_of_crio_are_still_in_force(registry_3_1: registry.Registry) -> None:
    with sandbox.sandbox() as place:
        running = crio.start(place, registries=[registry_3_1])
        main_file = running.conf_dir.parent / "crio.conf"
        async with calls.channel_to(running.endpoint) as channel:
            client = CriClient(channel)

            def new_driver() -> Pins:
                return CrioPins(
                    client,
                    config=CrioConfig(main_file=main_file, drop_in_folder=running.conf_dir),
                    reload=pins_crio.by_signal(running.endpoint),
                    clock=SystemClock(),
                )

            await check(place, running, registry_3_1.host, client, new_driver)


@pytest.mark.components("cri-o", "registry")
async def test_an_unpin_on_crio_outlives_a_reload_that_failed(
    registry_3_1: registry.Registry,
) -> None:
    """And another list in force beside ours is followed."""
    with sandbox.sandbox() as place:
        running = crio.start(place, registries=[registry_3_1])
        config = CrioConfig(
            main_file=running.conf_dir.parent / "crio.conf", drop_in_folder=running.conf_dir
        )
        async with calls.channel_to(running.endpoint) as channel:
            client = CriClient(channel)

            def new_driver(reload: pins_crio.Reload) -> CrioPins:
                return CrioPins(client, config=config, reload=reload, clock=SystemClock())

            pin, theirs = [await pulled(client, registry_3_1.host) for _ in range(2)]
            driver = new_driver(pins_crio.by_signal(running.endpoint))
            await driver.write([pin])
            with pytest.raises(cri.Unavailable):
                await new_driver(_no_reload).write([])
            assert await driver.recorded() == (RecordedPin(pin=pin, effective=True, released=True),)
            await driver.write([])
            assert await driver.recorded() == ()
            await unpinned(client, pin.image_id)

            await driver.write([pin])
            list_of_another = running.conf_dir / "10-theirs.conf"
            list_of_another.write_text(f"[crio.image]\npinned_images = ['{theirs.image}']\n")
            assert await driver.outdated()
            await driver.write([pin])
            await pinned(client, theirs.image_id)
            await driver.write([])
            await unpinned(client, pin.image_id)
            await pinned(client, theirs.image_id)


async def _no_reload() -> None:
    raise cri.Unavailable("CRI-O's process is gone; it cannot be reloaded")


async def check(
    place: sandbox.Sandbox,
    running: runtime.Runtime,
    host: str,
    client: CriClient,
    new_driver: Callable[[], Pins],
) -> None:
    pin = await pulled(client, host)
    await new_driver().write([pin])
    restart.restart(place, running.pid)
    await answered(client)
    driver = new_driver()
    assert await driver.recorded() == (RecordedPin(pin=pin, effective=True),)
    await driver.write([])
    assert await driver.recorded() == ()
    await unpinned(client, pin.image_id)


async def pulled(client: CriClient, host: str) -> Pin:
    sample = sample_images.image([{"unique": secrets.token_bytes(16)}])
    name = references.parse(f"{host}/restart/{secrets.token_hex(6)}:1")
    async with registry_client.connect(SystemClock()) as registries:
        by_digest = await sample_images.push(registries, name, sample)
    image_id = await client.pull(ImageSpec(image=str(by_digest)))
    return Pin(image=str(by_digest), image_id=image_id, owners=("blue", "green"))


async def unpinned(client: CriClient, image_id: str) -> None:
    await _reported(client, image_id, pinned=False)


async def pinned(client: CriClient, image_id: str) -> None:
    await _reported(client, image_id, pinned=True)


async def _reported(client: CriClient, image_id: str, *, pinned: bool) -> None:
    """CRI-O reloads in its own time."""
    async with asyncio.timeout(ANSWER_SECONDS_MAX):
        while True:
            image = await client.image(ImageSpec(image=image_id))
            assert image is not None
            if image.pinned is pinned:
                return
            await asyncio.sleep(0.1)


async def answered(client: CriClient) -> None:
    async with asyncio.timeout(ANSWER_SECONDS_MAX):
        while True:
            try:
                await client.images()
            except cri.Transient:
                await asyncio.sleep(0.1)
            else:
                return
