"""Prune commands on a plain registry as processes, ended with SIGKILL amid their writes."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.pruning.engine.trash.trash import Trash, TrashSettings
from lading.servers.registry import server as registry_server
from lading.standalone import api_server
from tests.e2e import withheld
from tests.e2e.withheld import Wanted, Withheld, asked
from tests.pruning import worlds
from tests.pruning.worlds import PODS, Shelf

TRASH = "lading-trash"
PUT_INTO_TRASH = asked("PUT", f"/v2/{TRASH}/manifests/2")  # its tags begin with the year
RECORDED = asked("PUT", f"/v2/{TRASH}/manifests/record-")
UNTAGGED = asked("DELETE", "/v2/team/app/manifests/old")
DELETED = asked("DELETE", "/v2/team/app/manifests/sha256:")
PUT_BACK = asked("PUT", "/v2/team/app/manifests/sha256:")
POLICY = {"policies": [{"repositories": ["**"], "keepTags": [{"patterns": ["keep.*"]}]}]}


@dataclass
class Killable:
    shelf: Shelf
    moment: Withheld
    where: tuple[str, ...]

    async def lading(self, *words: str, killed_at: tuple[Wanted, ...] = ()) -> int:
        """Its exit code; it is killed when the last of these requests is done."""
        self.moment.at(*killed_at)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", "from lading.cli.main import main; main()"),
            *("prune", *words, *self.where),
            stdout=asyncio.subprocess.DEVNULL,
        )
        try:
            if killed_at:
                reached = asyncio.create_task(self.moment.until_reached())
                ended = asyncio.create_task(process.wait())
                await asyncio.wait([reached, ended], return_when=asyncio.FIRST_COMPLETED)
                assert not ended.done(), f"{words} ended before the moment"
                await reached
                process.kill()
            return await process.wait()
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
    policy = folder / "policy.yaml"
    policy.write_text(yaml.safe_dump(POLICY))
    async with (
        api_server.serve(folder / "api", SystemClock(), port=0) as api,
        registry_server.serve(folder / "registry") as url,
        worlds.shelf_at(url) as shelf,
        withheld.registry(shelf.host, moment) as host,
    ):
        pod: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"containers": [{"name": "main", "image": "registry.test/team/app:used"}]},
        }
        await KubeClient(api.exchange).create(PODS, pod, namespace="default")
        yield Killable(
            shelf=shelf,
            moment=moment,
            where=(
                *("--kubeconfig", str(api.kubeconfig), "--registry-url", f"http://{host}"),
                *("--registry-name", "registry.test", "--policy", str(policy)),
                *("--keep-younger-than", "0s"),
            ),
        )


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


@pytest.mark.timeout(300)
async def test_killed_amid_its_writes_and_run_again_nothing_is_lost(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        await fill(world.shelf)
        before = await world.digests()
        gone = {tag for tag in before if tag.startswith(("old", "sha256"))}
        plan = str(tmp_path / "plan")
        assert await world.lading("plan", "-o", plan) == 0
        for words, moment in (
            (("images", "--confirm"), (PUT_INTO_TRASH, PUT_INTO_TRASH)),
            (("apply", plan), (RECORDED,)),
            (("images", "--confirm"), (RECORDED, UNTAGGED)),
            (("apply", plan), (DELETED, DELETED)),
        ):
            assert await world.lading(*words, killed_at=moment) < 0, "it was killed"
            for tag, digest in before.items():
                assert await world.is_whole(digest), f"{tag} after {words} {len(moment)}"
        assert await world.lading("images", "--confirm") == 0
        assert await world.digests() == {tag: before[tag] for tag in before.keys() - gone}
        names = [f"team/app:{tag}" for tag in sorted(gone)]
        assert await world.lading("restore", *names, killed_at=(PUT_BACK, PUT_BACK)) < 0
        for digest in before.values():
            assert await world.is_whole(digest)
        assert await world.lading("restore", *names) == 0
        assert await world.digests() == before
        for tag in before:
            assert await world.shelf.pullable(f"team/app:{tag}")


ANY_DELETED = asked("DELETE", "/v2/team/app/manifests/")


@pytest.mark.timeout(300)
async def test_killed_between_its_deletions_the_next_run_finishes(tmp_path: Path) -> None:
    """The API shows no manifest without a tag; the ledger in the trash repository has it."""
    async with opened(tmp_path) as world:
        shelf = world.shelf
        keep = await shelf.image("team/app:keep", layers=[b"keep"])
        for deletions in (1, 2, 3):
            arm = await shelf.image("team/app:arm", layers=[b"arm"])
            index = await shelf.index("team/app:old", arm, keep)
            await shelf.admin.delete(shelf.at("team/app:arm"))
            moments = (ANY_DELETED,) * deletions
            assert await world.lading("images", "--confirm", killed_at=moments) < 0
            assert set(await world.digests()) == {"keep"}
            assert await world.lading("images", "--confirm") == 0
            for one in (arm, index):
                left = await shelf.admin.head(shelf.at(f"team/app@{one.digest}"))
                assert left is None, f"after {deletions} deletions"
                assert await world.is_whole(str(one.digest))
            assert await shelf.pullable("team/app:keep")
