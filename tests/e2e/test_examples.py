"""Every example is complete, and its check passes on `lading up`."""

import asyncio
import os
import sysconfig
from pathlib import Path

import pytest

from tests.cli.up_process import welcomed

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())
OPTIONS = (
    *("--nodes", "3"),
    *("--runtime-config", str(EXAMPLES / "04-runtime-classes" / "handlers.toml")),
    *("--feature-gates", "RuntimeClassInImageCriApi=true,ManagedBootImages=true"),
)
CHECK_SECONDS_MAX = 300.0


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.name))
def test_an_example_has_its_parts_and_is_listed(folder: Path) -> None:
    names = {one.name for one in folder.iterdir()}
    assert {"README.md", "check.sh"} < names
    assert os.access(folder / "check.sh", os.X_OK)
    assert any(name.endswith(".yaml") for name in names)
    assert f"({folder.name}/README.md)" in (EXAMPLES / "README.md").read_text(encoding="utf-8")


def test_the_examples_are_numbered_without_gaps() -> None:
    assert [one.name[:2] for one in FOLDERS] == [f"{n:02}" for n in range(1, len(FOLDERS) + 1)]


@pytest.mark.timeout(1200)
async def test_every_check_passes_on_a_cluster_of_lading_up(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """In their order on one cluster, as a person reads them; each cleans up behind itself."""
    data = tmp_path_factory.mktemp("up")
    failed = []
    async with welcomed(data, *OPTIONS):
        for folder in FOLDERS:
            code, output = await checked(folder, data)
            if code != 0:
                failed.append(f"{folder.name} ended with {code}:\n{output}")
    assert not failed, "\n".join(failed)


async def checked(folder: Path, data: Path) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        str(folder / "check.sh"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={
            "HOME": str(data),
            "KUBECONFIG": str(data / "kubeconfig"),
            "PATH": f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}",
            "REGISTRY": f"127.0.0.1:{(data / 'registry-port').read_text()}",
        },
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), CHECK_SECONDS_MAX)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, output.decode()
