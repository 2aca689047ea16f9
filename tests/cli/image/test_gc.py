"""`lading image gc` and `cleanup`: the plan, and what --confirm does."""

import json

from tests.cli.image.builders import AT_ONCE, arm_image_id, declare_in_use, golden, handlers
from tests.cli.image.conftest import Run
from tests.runtime_images.conftest import Stand


async def test_gc_without_confirm_shows_the_plan_and_changes_nothing(
    run: Run, stand: Stand, tag: str
) -> None:
    shown = await run("gc", *AT_ONCE)
    assert shown.output == golden("""
        IMAGE                        RUNTIME CLASS   DECISION   FREES      REASON   BECAUSE
        registry.local/team/app:1   <default>       remove     97.9 KiB   Unused   no container uses it
        registry.local/team/app:1   handler:arm     remove     1.91 MiB   Unused   no container uses it
    """)  # noqa: E501 - lines as they are printed
    assert "2 images to remove, which frees 2 MiB; add --confirm to remove" in shown.errors
    assert await handlers(stand) == ["", "arm"]


async def test_gc_with_confirm_removes_what_the_plan_says(run: Run, stand: Stand, tag: str) -> None:
    declare_in_use(stand, await arm_image_id(stand))
    collected = await run("gc", *AT_ONCE, "--confirm", "-o", "json")
    reasons = {
        each["runtimeHandler"]: each["reason"] for each in json.loads(collected.output)["verdicts"]
    }
    assert reasons == {"": "Unused", "arm": "InUse"}
    assert await handlers(stand) == ["arm"]


async def test_the_former_names_of_options_still_work(run: Run, stand: Stand, tag: str) -> None:
    assert (await run("gc", "--all", "--minimum-age=0s", "--yes")).code == 0
    assert await handlers(stand) == []


async def test_the_first_gc_of_a_node_only_records_the_images(run: Run, tag: str) -> None:
    shown = await run("gc", "--all", "--confirm")
    assert shown.output.count("TooYoung") == 2
    assert "Nothing to remove; the first image is old enough at" in shown.errors


async def test_gc_never_claims_to_have_removed_what_the_gate_hides(
    run: Run, stand: Stand, tag: str
) -> None:
    collected = await run("gc", *AT_ONCE, "--confirm", gate=False)
    assert collected.code == 1
    assert collected.errors.count("Deleted:") == 1
    assert "the runtime still lists it" in collected.errors
    assert await handlers(stand) == ["arm"]


async def test_cleanup_removes_what_was_pulled_for_runtime_classes(
    run: Run, stand: Stand, tag: str
) -> None:
    shown = await run("cleanup", gate=False)
    assert "1 image to remove" in shown.errors
    assert await handlers(stand) == ["", "arm"]
    assert (await run("cleanup", "--confirm", gate=False)).code == 0
    assert await handlers(stand) == [""]
