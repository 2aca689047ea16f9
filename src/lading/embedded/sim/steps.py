"""Carries out the steps of a schedule in a world: what users do, and what breaks."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

from lading.api.core import NODES
from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.embedded.sim import images
from lading.embedded.sim.network import CALM, Weather
from lading.embedded.sim.schedule import Step
from lading.embedded.sim.world import CONTROL, World
from lading.ports import cri, kube

INFRA_LABEL = "node-role.kubernetes.io/infra"


async def make_pools(world: World) -> None:
    """Lading makes the pools of workers and masters itself."""
    await world.kube.create(
        MACHINE_CONFIG_POOLS,
        {
            "apiVersion": MACHINE_CONFIG_POOLS.api_version,
            "kind": MACHINE_CONFIG_POOLS.kind,
            "metadata": {"name": "infra"},
            "spec": {"nodeSelector": {"matchLabels": {INFRA_LABEL: ""}}},
        },
    )


async def carry_out(world: World, step: Step) -> None:
    world.note("step", f"{step.name} {' '.join(map(str, step.arguments))}", "user")
    with suppress(kube.KubeError):  # a user sees the error, and that is all
        await _STEPS[step.name](world, *step.arguments)


async def heal(world: World) -> None:
    """All faults end. What was broken off is started again."""
    world.note("step", "heal", "user")
    world.network.weather = CALM
    for name in world.nodes:
        world.network.join(name, CONTROL)
    world.loop.sockets.release()
    for name, process in world.processes.items():
        process.turns_left = None
        world.loop.resume(process)
        if not process.is_alive:
            world.restart_later(name)
    for node in world.nodes.values():
        node.disk.is_full = False
        node.clock.offset = timedelta(0)
    for number in range(images.COUNT):
        images.push(world.registry, f"app-{number}")


# What users do


async def _make_set(world: World, name: str, role: str, *names: str) -> None:
    await world.kube.create(
        PINNED_IMAGE_SETS,
        {
            "apiVersion": PINNED_IMAGE_SETS.api_version,
            "kind": PINNED_IMAGE_SETS.kind,
            "metadata": {"name": name, "labels": {group.ROLE_LABEL: role}},
            "spec": _spec(names),
        },
    )


def _spec(names: tuple[str, ...]) -> dict[str, Any]:
    return {"pinnedImages": [{"name": images.by_digest(name)} for name in names]}


async def _edit_set(world: World, name: str, *names: str) -> None:
    await world.kube.patch(PINNED_IMAGE_SETS, name, {"spec": _spec(names)})


async def _delete_set(world: World, name: str) -> None:
    await world.kube.delete(PINNED_IMAGE_SETS, name)


async def _replace_set(world: World, name: str, *names: str) -> None:
    """The same name, and another object."""
    found = await world.kube.get(PINNED_IMAGE_SETS, name)
    role = found.metadata.labels.get(group.ROLE_LABEL, "worker")
    await world.kube.delete(PINNED_IMAGE_SETS, name)
    await _make_set(world, name, role, *names)


async def _move_set(world: World, name: str, role: str) -> None:
    patch = {"metadata": {"labels": {group.ROLE_LABEL: role}}}
    await world.kube.patch(PINNED_IMAGE_SETS, name, patch)


async def _move_node(world: World, name: str, role: str) -> None:
    label = "" if role == "infra" else None
    await world.kube.patch(NODES, name, {"metadata": {"labels": {INFRA_LABEL: label}}})


async def _remove_image(world: World, node: str, name: str) -> None:
    """A person removes the image from the node, pinned or not."""
    one = world.nodes.get(node)
    if one is not None and one.runtime is not None:
        one.note_loss(images.by_digest(name), world.loop.time())
        await one.runtime.remove(cri.ImageSpec(image=images.by_digest(name)))


async def _unpin_image(world: World, node: str, name: str) -> None:
    """A person removes the labels of the image."""
    one = world.nodes.get(node)
    if one is not None and one.runtime is not None:
        one.note_loss(images.by_digest(name), world.loop.time())
        found = one.runtime.labelled_names()
        if images.by_digest(name) in found:
            image = found[images.by_digest(name)][0]
            for other, (owner, _) in found.items():
                if owner.id == image.id:
                    one.runtime.set_labels(other, {})


async def _delete_from_registry(world: World, name: str) -> None:
    images.delete(world.registry, name)


async def _push(world: World, name: str) -> None:
    images.push(world.registry, name)


async def _replace_node(world: World, name: str) -> None:
    """The machine is installed anew, under its old name."""
    if name in world.nodes:
        await world.remove_node(name)
        await asyncio.sleep(world.rng.random() * 5)
        await world.add_node(name)


async def _add_node(world: World, name: str) -> None:
    if name not in world.nodes:
        await world.add_node(name)


# What breaks


async def _weather(world: World, seconds: float, *faults: str | float) -> None:
    pairs = zip(faults[::2], faults[1::2], strict=True)
    now = world.network.weather = Weather(**{str(name): float(value) for name, value in pairs})
    await asyncio.sleep(seconds)
    if world.network.weather is now:
        world.network.weather = CALM


async def _kill(world: World, name: str, after_turns: float) -> None:
    process = world.processes.get(name)
    if process is None or not process.is_alive:
        return
    process.turns_left = int(after_turns)
    await asyncio.sleep(world.rng.random() * 5)
    process.turns_left = None
    world.kill(name)
    world.restart_later(name)


async def _pause(world: World, name: str, seconds: float) -> None:
    process = world.processes.get(name)
    if process is not None:
        world.loop.pause(process)
        await asyncio.sleep(seconds)
        world.loop.resume(process)


async def _cut(world: World, host: str, seconds: float) -> None:
    hosts = list(world.nodes) if host == CONTROL else [host]
    for one in hosts:
        world.network.cut(one, CONTROL)
    await asyncio.sleep(seconds)
    for one in hosts:
        world.network.join(one, CONTROL)
    world.loop.sockets.release()


async def _fill_disk(world: World, node: str, seconds: float) -> None:
    if node in world.nodes:
        disk = world.nodes[node].disk
        disk.is_full = True
        await asyncio.sleep(seconds)
        disk.is_full = False


async def _set_clock(world: World, node: str, seconds: float) -> None:
    if node in world.nodes:
        world.nodes[node].clock.offset = timedelta(seconds=seconds)


async def _compact(world: World) -> None:
    world.storage.compact(world.storage.revision)


_STEPS: dict[str, Callable[..., Awaitable[None]]] = {
    "make_set": _make_set,
    "edit_set": _edit_set,
    "delete_set": _delete_set,
    "replace_set": _replace_set,
    "move_set": _move_set,
    "move_node": _move_node,
    "remove_image": _remove_image,
    "unpin_image": _unpin_image,
    "delete_from_registry": _delete_from_registry,
    "push": _push,
    "replace_node": _replace_node,
    "add_node": _add_node,
    "weather": _weather,
    "kill": _kill,
    "pause": _pause,
    "cut": _cut,
    "fill_disk": _fill_disk,
    "set_clock": _set_clock,
    "compact": _compact,
}
