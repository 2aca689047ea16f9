"""`lading image rm`: what goes, what stays, and exit codes."""

import pytest

from lading.ports.cri import ImageSpec
from lading.runtime_images.types import DigestPull
from tests.cli.image.builders import LAYERS, arm_image_id, declare_in_use, handlers
from tests.cli.image.conftest import Run
from tests.runtime_images.conftest import Stand


async def test_rm_removes_for_one_runtime_class_only(run: Run, stand: Stand, tag: str) -> None:
    removed = await run("rm", tag, "--runtime", "handler:arm")
    assert (removed.code, removed.output) == (0, "Deleted: registry.local/team/app:1\n")
    assert await handlers(stand) == [""]


async def test_rm_all_removes_every_unused_image_of_the_class(
    run: Run, stand: Stand, tag: str
) -> None:
    await stand.runtime.pull(ImageSpec(image=await stand.publisher.index("team/b:1", LAYERS)))
    removed = await run("rm", "--all")
    assert (removed.code, len(removed.output.splitlines())) == (0, 2)
    assert await handlers(stand) == ["arm"]
    declare_in_use(stand, await arm_image_id(stand))
    kept = await run("rm", "-a", "--runtime", "handler:arm")
    assert (kept.code, kept.output) == (0, "")
    assert kept.errors.startswith("Kept: registry.local/team/app:1 is needed: run by")
    assert (await run("rm", "-a", "--force", "--runtime", "handler:arm")).code == 0
    assert await handlers(stand) == []


@pytest.mark.parametrize("arguments", [(), ("app:1", "--all")])
async def test_rm_wants_to_know_exactly_what_to_remove(
    run: Run, stand: Stand, tag: str, arguments: tuple[str, ...]
) -> None:
    assert (await run("rm", *arguments)).code == 2
    assert await handlers(stand) == ["", "arm"]


async def test_an_image_that_is_the_hosts_and_a_classs_is_removed_by_force_only(
    run: Run, stand: Stand, tag: str
) -> None:
    """On runtimes that keep no images by class, where the guests have the host's platform."""
    (host,) = [image for image in await stand.runtime.images() if not image.runtime_handler]
    pull = DigestPull(
        reference=tag, runtime_handler="kata", platform="", pulled=host.repo_digests[0]
    )
    await stand.state.save_digest_pull(pull)
    (row,) = [line for line in (await run("ls")).output.splitlines() if "33eac18b1ca64" in line]
    assert row.endswith("<default>, [handler:kata]")
    refused = await run("rm", tag)
    assert refused.code == 1
    assert refused.errors == (
        "Error: registry.local/team/app:1 is needed: it is here for runtime handler kata;"
        " --force removes it for all\n"
    )
    assert (await run("rm", tag, "--force")).code == 0
    assert await handlers(stand) == ["arm"]
    await stand.runtime.pull(ImageSpec(image=tag))
    assert "handler:kata" not in (await run("ls")).output, "it was not pulled for kata again"


async def test_rm_goes_on_after_an_image_that_is_not_there(
    run: Run, stand: Stand, tag: str
) -> None:
    removed = await run("rm", f"{tag}x", tag)
    assert removed.code == 1
    assert "no such image" in removed.errors
    assert await handlers(stand) == ["arm"]


async def test_rm_keeps_what_a_container_needs_unless_forced(
    run: Run, stand: Stand, tag: str
) -> None:
    declare_in_use(stand, await arm_image_id(stand))
    remove = ("rm", tag, "--runtime", "handler:arm")
    refused = await run(*remove)
    assert refused.code == 1
    assert "run by container web (running); --force removes it anyway" in refused.errors
    assert await handlers(stand) == ["", "arm"]
    assert (await run(*remove, "--force")).code == 0
    assert await handlers(stand) == [""]
