"""The sessions of tutorials and how-to pages, run as they are written, on `lading up`.

A page that begins with `lading up` gets a cluster of its own. The ports of a page are replaced by
free ones, so that pages run side by side.
"""

import asyncio
import os
import re
import sysconfig
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests import free_ports
from tests.docs import pages
from tests.docs.pages import Command, File

COMMAND_SECONDS_MAX = 120.0
READY_LINE = "Ctrl-C stops it"
PORTS = re.compile(r"\b50[0-9]{2}\b")
"""Every port that a page names is of this form."""
RUN = [
    page
    for folder in ("tutorials", "how-to")
    for page in sorted((pages.DOCS / folder).glob("*.md"))
    if any(isinstance(one, Command) for one in pages.steps(page))
]


@pytest.fixture
def home() -> Iterator[Path]:
    """Not tmp_path, which is as long as the name of the test: the path of a socket is short."""
    with tempfile.TemporaryDirectory(prefix="docs-") as folder:
        yield Path(folder)


def test_there_are_pages_to_run() -> None:
    assert {"tutorials/first-set.md", "tutorials/first-prune.md"} <= {
        str(page.relative_to(pages.DOCS)) for page in RUN
    }


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(pages.DOCS)))
async def test_the_commands_of_a_page_print_what_it_shows(page: Path, home: Path) -> None:
    placed_at: dict[str, str] = {}
    exports: list[str] = []

    def placed(text: str) -> str:
        return PORTS.sub(lambda found: placed_at.setdefault(found[0], str(free_ports.find())), text)

    async with AsyncExitStack() as stack:
        for step in pages.steps(page):
            if isinstance(step, File):
                (home / step.name).write_text(placed(step.content), encoding="utf-8")
                continue
            command = placed(step.text)
            if command.startswith("lading up"):
                output = await stack.enter_async_context(cluster(command, home))
            elif command.startswith("export "):
                exports.append(command)
                continue
            else:
                output = await run("; ".join((*exports, command)), home)
            expected = tuple(map(placed, step.expected))
            assert pages.matches(expected, output), (
                f"{page.name}:{step.line}: $ {command}\n{output}"
            )


def environment(home: Path) -> dict[str, str]:
    scripts = sysconfig.get_path("scripts")
    kept = {name: os.environ[name] for name in ("LANG", "LC_ALL") if name in os.environ}
    return {**kept, "HOME": str(home), "PATH": f"{scripts}:{os.environ['PATH']}", "TERM": "dumb"}


async def run(command: str, home: Path) -> str:
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", command, cwd=home, env=environment(home),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    try:
        async with asyncio.timeout(COMMAND_SECONDS_MAX):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return output.decode()


@asynccontextmanager
async def cluster(command: str, home: Path) -> AsyncIterator[str]:
    """`lading up` until the page ends; what it prints when it starts."""
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", f"exec {command}", cwd=home, env=environment(home),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(COMMAND_SECONDS_MAX):
            output = ""
            while READY_LINE not in output:
                line = await process.stdout.readline()
                assert line, output
                output += line.decode()
        yield output
    finally:
        process.kill()
        await process.wait()
