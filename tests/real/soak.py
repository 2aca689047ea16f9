"""Sets that are written and deleted while every part is killed, all drawn from one seed.

A round ends when everything runs again: then exactly the images of the sets are pinned, and all
of it is reported. The order of what happens is that of the seed; its moments are the machine's.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.ports import cri, kube
from lading.ports.cri import ImageSpec
from tests.e2e import expectations, judge, waiting
from tests.e2e.cluster import POOL, ClusterUnderTest, NodeUnderTest
from tests.e2e.programs import Program
from tests.real import crictl
from tests.real.bed import restart, runtime, sandbox
from tests.real.claims_under_test import ClaimWatch

SETS = ("blue", "green", "red")
REPOSITORY = "soak"
IMAGE_BYTES = (64 << 10, 64 << 10, 64 << 10, 1 << 20, 1 << 20, 4 << 20, 4 << 20, 16 << 20)
IMAGES_PER_SET_MAX = 4
STEPS_PER_ROUND = 12
PAUSE_SECONDS_MAX = 2.0
DOWN_SECONDS_MAX = 3.0
CONVERGED_SECONDS_MAX = 180.0


@dataclass(slots=True, kw_only=True)
class Soak:
    cluster: ClusterUnderTest
    place: sandbox.Sandbox
    engine: runtime.Runtime
    claims: ClaimWatch
    draw: random.Random
    images: list[str] = field(default_factory=list)
    desired: dict[str, set[str]] = field(default_factory=dict)
    """By set, as it was written last."""
    rounds: int = 0

    async def run(self, seconds: float) -> None:
        """Rounds until the time is over and a claim was checked: a round may end without a set."""
        self.images = [
            await self.cluster.push(f"{REPOSITORY}/{number}", size_bytes=size)
            for number, size in enumerate(IMAGE_BYTES)
        ]
        deadline = time.monotonic() + seconds
        while True:
            await self._round()
            if time.monotonic() > deadline and self.claims.judge.checked:
                return

    async def _round(self) -> None:
        async with _beside(self.claims.watch()):
            for _ in range(STEPS_PER_ROUND):
                step = self.draw.choices(tuple(STEPS), tuple(STEPS.values()))[0]
                print(f"{time.monotonic():.1f} {step.__name__}", flush=True)
                await step(self)
                await self._start_what_ended()
                await asyncio.sleep(self.draw.uniform(0, PAUSE_SECONDS_MAX))
            await waiting.until(
                self._converged,
                f"exactly {self.desired} are pinned and reported",
                why_not=self._differences,
                seconds_max=CONVERGED_SECONDS_MAX,
            )
        await expectations.until_pool_is_done(self.cluster)
        await self._check_with_crictl()
        await self._collect()
        self.rounds += 1

    async def write_set(self) -> None:
        name = self.draw.choice(SETS)
        count = self.draw.randint(1, IMAGES_PER_SET_MAX)
        chosen = self.draw.sample(self.images, count)
        body = {
            "apiVersion": PINNED_IMAGE_SETS.api_version,
            "kind": PINNED_IMAGE_SETS.kind,
            "metadata": {"name": name, "labels": {group.ROLE_LABEL: POOL}},
            "spec": {"pinnedImages": [{"name": one} for one in sorted(chosen)]},
        }

        async def write() -> None:
            written = await self.cluster.kube.apply(
                PINNED_IMAGE_SETS, body, field_manager="soak", force=True
            )
            self.claims.judge.saw(written)

        with self.claims.judge.change(name):
            await expectations.until_accepted(write)
        self.desired[name] = set(chosen)

    async def delete_set(self) -> None:
        name = self.draw.choice(SETS)

        async def delete() -> None:
            with contextlib.suppress(kube.NotFound):
                await self.cluster.delete_set(name)

        with self.claims.judge.change(name):
            await expectations.until_accepted(delete)
        self.desired.pop(name, None)

    async def kill_agent(self) -> None:
        await self._kill_program(self._node.agent)

    async def kill_controller(self) -> None:
        await self._kill_program(self.cluster.controller)

    async def kill_runtime(self) -> None:
        await self._kill("crio" if self.engine.kind == "cri-o" else "containerd")

    async def kill_api_server(self) -> None:
        await self._kill("kube-apiserver")

    async def kill_etcd(self) -> None:
        await self._kill("etcd")

    async def _kill_program(self, program: Program) -> None:
        await program.kill()
        await asyncio.sleep(self.draw.uniform(0, DOWN_SECONDS_MAX))
        await program.start()

    async def _kill(self, name: str) -> None:
        with restart.killed(self.place, name):
            await asyncio.sleep(self.draw.uniform(0, DOWN_SECONDS_MAX))

    async def _start_what_ended(self) -> None:
        """A controller that lost its lease ends; an agent never does."""
        self._node.agent.check_running()
        await self.cluster.controller.start_if_ended()

    async def _converged(self) -> bool:
        await self._start_what_ended()
        return not await self._differences()

    async def _differences(self) -> str:
        """What is not yet as the sets want it; nothing is taken from what the agent knows."""
        try:
            pinned = await self._node.pinned()
            sets = (await self.cluster.kube.page(PINNED_IMAGE_SETS)).items
            reported = await self.cluster.machine_config_node(self._node)
        except (cri.Transient, kube.Transient) as error:
            return str(error)
        found = judge.differences(
            self.desired, set(self.images), pinned=pinned, sets=sets, node=reported
        )
        return "\n".join(found)

    async def _check_with_crictl(self) -> None:
        listed = await crictl.run_json(self.engine.endpoint, "images")
        pinned = {name for one in listed["images"] if one["pinned"] for name in one["repoDigests"]}
        assert judge.wrong_pins(self.desired, set(self.images), pinned) == []

    async def _collect(self) -> None:
        """As the kubelet would: what is not pinned goes, so that it is pulled again later."""
        wanted = set().union(*self.desired.values())
        for image in await self._node.cri.images():
            names = set(image.repo_digests)
            if names & set(self.images) and not names & wanted:
                await self._node.cri.remove(ImageSpec(image=image.id))

    @property
    def _node(self) -> NodeUnderTest:
        (node,) = self.cluster.nodes
        return node


STEPS: dict[Callable[[Soak], Awaitable[None]], int] = {
    Soak.write_set: 8,
    Soak.delete_set: 3,
    Soak.kill_agent: 4,
    Soak.kill_runtime: 3,
    Soak.kill_api_server: 2,
    Soak.kill_etcd: 1,
    Soak.kill_controller: 1,
}
"""How often each happens, beside the others."""


@contextlib.asynccontextmanager
async def _beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Runs beside the block; its failure ends the block, and the end of the block ends it."""
    async with asyncio.TaskGroup() as group_of_tasks:
        task = group_of_tasks.create_task(work)
        yield
        task.cancel()
