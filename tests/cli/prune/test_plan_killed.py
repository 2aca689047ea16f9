"""Prune commands on a plain registry as processes, ended with SIGKILL amid their writes."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from lading.pruning.engine.trash.trash import Trash, TrashSettings
from tests.cli.prune import benches
from tests.cli.prune.benches import Bench
from tests.e2e import withheld
from tests.e2e.withheld import Wanted, Withheld, asked
from tests.pruning.worlds import Shelf

TRASH = "lading-trash"
PUT_INTO_TRASH = asked("PUT", f"/v2/{TRASH}/manifests/2")  # its tags begin with the year
RECORDED = asked("PUT", f"/v2/{TRASH}/manifests/record-")
UNTAGGED = asked("DELETE", "/v2/team/app/manifests/old")
DELETED = asked("DELETE", "/v2/team/app/manifests/sha256:")
PUT_BACK = asked("PUT", "/v2/team/app/manifests/sha256:")


@dataclass
class Killable:
    bench: Bench
    moment: Withheld

    @property
    def shelf(self) -> Shelf:
        return self.bench.shelf

    async def lading(self, *words: str) -> int:
        self.moment.at()
        done = await self.bench.lading(*words)
        return done.code

    async def killed(self, *words: str, at: tuple[Wanted, ...]) -> None:
        """Runs the command in a process, and kills it when the last of these requests is done."""
        self.moment.at(*at)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", "from lading.cli.main import main; main()"),
            *("prune", *words, *self.bench.options_of(words[0])),
            stdout=asyncio.subprocess.DEVNULL,
        )
        try:
            reached = asyncio.create_task(self.moment.until_reached())
            ended = asyncio.create_task(process.wait())
            await asyncio.wait([reached, ended], return_when=asyncio.FIRST_COMPLETED)
            assert not ended.done(), f"{words} ended before the moment"
            await reached
            process.kill()
            await ended
        finally:
            self.moment.let_go()

    async def is_whole(self, digest: str) -> bool:
        """In its place, or in the trash with a record that leads to it."""
        if await self.shelf.pullable(f"team/app@{digest}"):
            return True
        trash = Trash(self.shelf.admin, TrashSettings(registry=self.shelf.host))
        held = any(record.uses(digest) for _, record in await trash.records([TRASH]))
        return held and await self.shelf.pullable(f"{TRASH}@{digest}")

    async def digests(self) -> dict[str, str]:
        """By tag."""
        found = {}
        for tag in await self.shelf.tags("team/app"):
            head = await self.shelf.admin.head(self.shelf.at(f"team/app:{tag}"))
            assert head is not None
            found[tag] = str(head.digest)
        return found


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Killable]:
    moment = Withheld()
    async with (
        benches.opened(folder) as bench,
        withheld.registry(bench.shelf.host, moment) as host,
    ):
        bench.registry = ("--registry-url", f"http://{host}")
        yield Killable(bench=bench, moment=moment)


async def fill(shelf: Shelf) -> None:
    """Of what goes, two indexes share a manifest, and one of their manifests is signed."""
    for tag in ("keep", "used", "old-alone"):
        await shelf.image(f"team/app:{tag}", layers=[tag.encode()])
    shared = await shelf.image("team/app:old-arm", layers=[b"shared"])
    other = await shelf.image("team/app:old-amd", layers=[b"other"])
    await shelf.index("team/app:old-1", shared, other)
    await shelf.index("team/app:old-2", shared)
    subject = shelf.entry(shared.digest, len(shared.content), shared.media_type)
    signature = f"team/app:{str(shared.digest).replace(':', '-')}.sig"
    await shelf.image(signature, layers=[b"signature"], subject=subject)


MOMENTS = (
    (("images", "--confirm"), (PUT_INTO_TRASH, PUT_INTO_TRASH)),
    (("apply", "PLAN"), (RECORDED,)),
    (("images", "--confirm"), (RECORDED, UNTAGGED)),
    (("apply", "PLAN"), (DELETED, DELETED)),
)


@pytest.mark.parametrize(
    "moments",
    [MOMENTS[-1:], pytest.param(MOMENTS, marks=pytest.mark.soak)],
    ids=["one moment", "every moment"],
)
@pytest.mark.timeout(300)
async def test_killed_amid_its_writes_and_run_again_nothing_is_lost(
    tmp_path: Path, moments: tuple[tuple[tuple[str, ...], tuple[Wanted, ...]], ...]
) -> None:
    async with opened(tmp_path) as world:
        await fill(world.shelf)
        before = await world.digests()
        gone = {tag for tag in before if tag.startswith(("old", "sha256"))}
        plan = str(tmp_path / "plan")
        assert await world.lading("plan", "-o", plan) == 0
        for words, moment in moments:
            await world.killed(*(plan if one == "PLAN" else one for one in words), at=moment)
            for tag, digest in before.items():
                assert await world.is_whole(digest), f"{tag} after {words} {len(moment)}"
        assert await world.lading("images", "--confirm") == 0
        assert await world.digests() == {tag: before[tag] for tag in before.keys() - gone}
        names = [f"team/app:{tag}" for tag in sorted(gone)]
        await world.killed("restore", *names, at=(PUT_BACK, PUT_BACK))
        for digest in before.values():
            assert await world.is_whole(digest)
        assert await world.lading("restore", *names) == 0
        assert await world.digests() == before
        for tag in before:
            assert await world.shelf.pullable(f"team/app:{tag}")


ANY_DELETED = asked("DELETE", "/v2/team/app/manifests/")


@pytest.mark.parametrize(
    "deletions",
    [
        pytest.param(1, marks=pytest.mark.soak),
        2,
        pytest.param(3, marks=pytest.mark.soak),
    ],
)
@pytest.mark.timeout(300)
async def test_killed_between_its_deletions_the_next_run_finishes(
    tmp_path: Path, deletions: int
) -> None:
    """The API shows no manifest without a tag; the ledger in the trash repository has it."""
    async with opened(tmp_path) as world:
        shelf = world.shelf
        keep = await shelf.image("team/app:keep", layers=[b"keep"])
        arm = await shelf.image("team/app:arm", layers=[b"arm"])
        index = await shelf.index("team/app:old", arm, keep)
        await shelf.admin.delete(shelf.at("team/app:arm"))
        moments = (ANY_DELETED,) * deletions
        await world.killed("images", "--confirm", at=moments)
        assert set(await world.digests()) == {"keep"}
        assert await world.lading("images", "--confirm") == 0
        for one in (arm, index):
            left = await shelf.admin.head(shelf.at(f"team/app@{one.digest}"))
            assert left is None, f"after {deletions} deletions"
            assert await world.is_whole(str(one.digest))
        assert await shelf.pullable("team/app:keep")
