"""Keeps the view values of all pages up to date, with one set of watches for all pages.

Changes that come close together are one event.
"""

import asyncio
from typing import Any

from lading.api.imageregistry import IMAGE_PRUNERS
from lading.api.longhorn import IMAGES, SETTINGS
from lading.api.machineconfiguration.boot_image_history import MACHINE_SET_BOOT_IMAGE_HISTORIES
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.kernel.objects import Resource
from lading.ports.clock import Clock
from lading.ports.kube import Kube
from lading.web.following import SHOWN_NODES, Following
from lading.web.hub import Hub
from lading.web.pin_values import PinValues
from lading.web.pruning_plan import PlanReader
from lading.web.views import availability, boot_images, pins, prepull, pruning, wording

COALESCE_SECONDS = 0.2  # five events a second at most, and well within what a person notices
_NEEDED: dict[str, tuple[Resource[Any], ...]] = {
    "pins": (PINNED_IMAGE_SETS, MACHINE_CONFIG_NODES),
    "images": (PINNED_IMAGE_SETS, SHOWN_NODES),
    "prepull": (IMAGES,),
    "boot": (MACHINE_SET_BOOT_IMAGE_HISTORIES,),
    "pruning": (),
}
TITLES = {
    "pins": "Pinned images",
    "images": "Images per node",
    "prepull": "Pre-pull",
    "boot": "Boot images",
    "pruning": "Pruning",
}


class Dashboard:
    def __init__(
        self, client: Kube, clock: Clock, *, cluster: str = "", plan: PlanReader | None = None
    ) -> None:
        self.hub = Hub()
        self.plan = plan or PlanReader(None)
        self.following = Following(client, clock, changed=self._changed, noticed=self._wake_up)
        self.pins = PinValues(self.hub, self.following)
        self.clock = clock
        self._cluster = cluster
        self._wake = asyncio.Event()
        self._wake.set()

    async def run(self) -> None:
        """Runs until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.following.run())
            group.create_task(self._refresh())

    def _changed(self, resource: Resource[Any], old: Any, new: Any) -> None:
        self.pins.changed(resource, old, new)
        self._wake_up()

    def _wake_up(self) -> None:
        self._wake.set()

    async def _refresh(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._update()
            self.hub.publish()
            await self.clock.sleep(COALESCE_SECONDS)

    async def _update(self) -> None:
        await self.pins.update()
        following = self.following
        images = following.all(IMAGES)
        histories = following.all(MACHINE_SET_BOOT_IMAGE_HISTORIES)
        pruners = following.all(IMAGE_PRUNERS)
        self.hub.replace(
            "pruners", {one.metadata.name: pruning.pruner_value(one) for one in pruners}
        )
        self.hub.replace("images", {str(one.key): prepull.image_value(one) for one in images})
        self.hub.replace(
            "machineSets", {str(one.key): boot_images.machine_set_value(one) for one in histories}
        )
        problems = [
            *self.pins.problems(),
            *prepull.problems(images),
            *boot_images.problems(histories),
            *pruning.problems(pruners),
        ]
        self.hub.replace("problems", {one.key: one.value() for one in problems})
        self.hub.replace("features", {name: await self._feature(name) for name in TITLES})
        self.hub.replace(
            "kinds",
            {
                availability.plural(one): availability.value(one, state)
                for one, state in following.states.items()
            },
        )
        cluster = {"name": wording.message(self._cluster), "connected": following.is_connected}
        self.hub.put("cluster", "cluster", cluster)

    async def _feature(self, name: str) -> dict[str, Any]:
        absent = availability.first_absent(self.following.states, _NEEDED[name])
        if absent is not None:
            sentence, command = availability.sentence(*absent), availability.command(*absent)
            return _feature_value(name, "unavailable", sentence, command)
        state, sentence = await self._summary(name)
        return _feature_value(name, state, sentence, "")

    async def _summary(self, name: str) -> tuple[str, str]:
        following = self.following
        match name:
            case "pins":
                return pins.summary(self.pins.counts, len(list(self.pins.existing)))
            case "images":
                return pins.runtime_class_summary(self.pins.existing)
            case "prepull":
                return prepull.summary(following.all(IMAGES), following.all(SETTINGS))
            case "boot":
                return boot_images.summary(following.all(MACHINE_SET_BOOT_IMAGE_HISTORIES))
            case _:
                return pruning.summary(
                    await self.plan.header(),
                    following.all(IMAGE_PRUNERS),
                    availability.sentence(IMAGE_PRUNERS, following.states[IMAGE_PRUNERS]),
                )


def _feature_value(name: str, state: str, sentence: str, command: str) -> dict[str, Any]:
    return {"title": TITLES[name], "state": state, "sentence": sentence, "command": command}
