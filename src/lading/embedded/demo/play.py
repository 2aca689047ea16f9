"""Opens a cluster in a folder and plays the scenes of the demo in order."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from lading.embedded import cluster
from lading.embedded.demo import (
    boot_image_scenes,
    prepull_scenes,
    pruning_scenes,
    scenes,
    stage,
)
from lading.embedded.demo.stage import Output, Stage
from lading.ports.clock import Clock


async def play(data: Path, clock: Clock, write: Callable[[str], None]) -> int:
    """Returns the number of checks; raises DemoFailed at the first one that fails."""
    output = Output(write)
    async with cluster.open_cluster(stage.options(data), clock) as running:
        work = asyncio.create_task(running.run())
        show = asyncio.create_task(_scenes(Stage(cluster=running, clock=clock, output=output)))
        try:
            done, _ = await asyncio.wait((work, show), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            work.cancel()
            show.cancel()
            await asyncio.gather(work, show, return_exceptions=True)
    return output.checks


async def _scenes(on: Stage) -> None:
    nodes = ", ".join(node.description.name for node in on.cluster.nodes)
    on.output.tell(f"API server {on.cluster.api.url}, registry {on.cluster.registry_url}, {nodes}")
    images = await scenes.images_are_pushed(on)
    await scenes.a_set_is_planned(on, images)
    await scenes.a_set_is_preloaded_and_pinned(on, images)
    await scenes.a_full_node_reports_it(on)
    await scenes.two_runtime_classes_live_side_by_side(on, images)
    await scenes.a_removed_image_comes_back(on, images)
    await scenes.a_deleted_set_is_unpinned(on, images)
    await prepull_scenes.an_image_is_held_on_every_node(on, images)
    await prepull_scenes.an_upgrade_leaves_no_node_without_it(on, images)
    await prepull_scenes.the_setting_stops_and_starts_it(on)
    await boot_image_scenes.a_machine_set_waits_for_its_release(on)
    await boot_image_scenes.a_machine_set_gets_the_image_of_the_release(on)
    await boot_image_scenes.an_earlier_image_is_restored(on)
    await pruning_scenes.a_plan_gives_its_reasons(on)
    await pruning_scenes.what_was_deleted_comes_back(on)
    await pruning_scenes.its_storage_is_freed(on)
