"""Kills the embedded runtime at every step it takes on disk, and looks at what is left each time.

Run as a program with an empty folder. A child does the work and kills itself at its n-th step;
the parent checks the store, lets a new runtime finish the work, and continues with n + 1 until a
child gets through. Prints how many places were tried.
"""

import asyncio
import hashlib
import json
import os
import shutil
import signal
import sys
from pathlib import Path

from lading.adapters.clock import SystemClock
from lading.embedded.cri.core import EmbeddedRuntime
from lading.kernel import platforms
from lading.ports.cri import ImageSpec
from tests.embedded.cri.memory_registry import MemoryRegistry

STEPS = ("open", "os.rename", "os.remove", "os.mkdir", "sqlite3.connect")
NAMES = ("r.io/a:1", "r.io/b:1")


def new_runtime(root: Path) -> EmbeddedRuntime:
    registry = MemoryRegistry()
    for name in NAMES:
        registry.add_image(name, layers=(b"shared" * 10_000, name.encode()))
    return EmbeddedRuntime(
        root=root,
        registry=registry,
        clock=SystemClock(),
        platform=platforms.parse("linux/amd64"),
    )


async def work(root: Path) -> None:
    runtime = new_runtime(root)
    for name in NAMES:
        await runtime.pull(ImageSpec(image=name))
    await runtime.remove(ImageSpec(image=NAMES[0]))
    runtime.close()


def die_at(step_number: int) -> None:
    taken = 0

    def count(event: str, _: object) -> None:
        nonlocal taken
        if event in STEPS:
            taken += 1
            if taken == step_number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)


async def check(root: Path) -> None:
    runtime = new_runtime(root)
    for file in (root / "blobs" / "sha256").iterdir():
        assert hashlib.sha256(file.read_bytes()).hexdigest() == file.name, "a half-stored blob"
    for image in await runtime.images():
        inspection = await runtime.inspect(ImageSpec(image=image.id))
        assert inspection is not None
        manifest = json.loads(inspection.info["info"])["manifestDigest"]
        document = json.loads((root / "blobs" / manifest.replace(":", "/")).read_bytes())
        for blob in (document["config"], *document["layers"]):
            assert (root / "blobs" / blob["digest"].replace(":", "/")).is_file(), (
                "a blob is missing"
            )
    runtime.close()
    await work(root)
    runtime = new_runtime(root)
    assert [image.repo_tags for image in await runtime.images()] == [(NAMES[1],)]
    assert len(list((root / "blobs" / "sha256").iterdir())) == 4, "something was not freed"
    assert list((root / "ingest").iterdir()) == []
    runtime.close()


def main() -> None:
    folder = Path(sys.argv[1])
    step_number = 0
    while True:
        step_number += 1
        root = folder / str(step_number)
        child = os.fork()
        if child == 0:
            die_at(step_number)
            asyncio.run(work(root))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            break
        root.mkdir(exist_ok=True)
        asyncio.run(check(root))
        shutil.rmtree(root)
    print(step_number - 1)


if __name__ == "__main__":
    main()
