"""The Job of an ImagePruner, killed in two phases of its run, on any cluster. Knows no server."""

from abc import abstractmethod

import pytest

from tests.e2e import withheld
from tests.e2e.image_pruner import AGGRESSIVE, RUNS_SECONDS_MAX, ImagePrunerUnderTest
from tests.e2e.withheld import Withheld, asked

DELETED = asked("DELETE", "/manifests/")
PROBED = asked("PUT", "/v2/lading/probe/manifests/")


class KillableJobs(ImagePrunerUnderTest):
    @abstractmethod
    async def kill_job(self, registry: str) -> None:
        """The process of the Job that prunes this registry, with SIGKILL."""

    @abstractmethod
    async def kill_controller(self) -> None:
        """With SIGKILL; then it starts again."""


@pytest.mark.asyncio(loop_scope="session")
class KilledJobScenarios:
    async def test_killed_amid_deletions_and_in_the_sweep_the_end_is_the_same(
        self, image_pruner: KillableJobs, tag: str
    ) -> None:
        """Its pods are replaced, and no second Job starts.

        The sweep that was cut off keeps its lock for a while: no other test sweeps this registry.
        """
        await image_pruner.clear()
        one = image_pruner.registries[0]
        *going, used = [await one.push(f"team/killed:{tag}") for _ in range(4)]
        await image_pruner.use(f"killed-{tag}", f"{one.host}/team/killed:{tag}")
        moment = Withheld()
        async with withheld.registry(one.host, moment, image_pruner.address) as host:
            entry = {
                **one.entry,
                "url": f"http://{host}",
                "registryNames": [one.host],
                "sweep": {"grace": "1h"},
            }
            moment.at(DELETED, DELETED)
            await image_pruner.make(schedule=image_pruner.soon, registries=[entry], **AGGRESSIVE)
            await moment.until_reached()
            await image_pruner.edit(suspend=True)
            (job,) = await image_pruner.jobs()
            await image_pruner.kill_job(one.name)
            moment.let_go()
            moment.at(PROBED)
            await image_pruner.kill_controller()
            # The next pod waits until the lock of the killed one has expired.
            await moment.until_reached(seconds_max=RUNS_SECONDS_MAX)
            await image_pruner.until_condition("Failed", "Unknown", "NotRun")
            await image_pruner.kill_job(one.name)
            moment.let_go()
            limit = {"seconds_max": RUNS_SECONDS_MAX}
            await image_pruner.until_condition("Failed", "False", "Succeeded", **limit)
        assert not [digest for digest in going if await one.has("team/killed", digest)]
        assert await one.has("team/killed", used)
        assert [found.metadata.uid for found in await image_pruner.jobs()] == [job.metadata.uid]
        runs = {run.name: run.phase for run in (await image_pruner.status()).last_run}
        assert runs[one.name] == runs[f"{one.name}.blobs"] == "Succeeded"
