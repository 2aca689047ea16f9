"""What a person sees while the pruner runs."""

import asyncio
import os
import pty
import sys

from lading.cli.prune import running
from lading.cli.terminal import Step
from lading.pruning.engine.progress import PruneProgress
from tests.cli.prune.openshift import NO_GUARD, OpenShift


def test_the_line_has_a_bar_where_the_number_is_known() -> None:
    found = PruneProgress()
    assert running.step(found) == Step("connecting")
    found.begin("reading Images")
    assert running.step(found) == Step("reading Images")
    found.advance(500)
    assert running.step(found) == Step("reading Images 500")
    found.begin("deleting", 40)
    found.advance(10)
    found.advance(10)
    assert running.step(found) == Step("deleting, 20 of 40", done=20, total=40)


async def test_a_terminal_shows_how_far_it_is_and_then_only_the_result(cluster: OpenShift) -> None:
    await cluster.push("app", "1", "2")
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "from lading.cli.main import main; main()",
        "prune", "images", "--kubeconfig", str(cluster.kubeconfig), "--keep-younger-than", "0s",
        "--keep-tag-revisions", "1", "--confirm", *NO_GUARD,
        stdout=asyncio.subprocess.PIPE, stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    output, _ = await process.communicate()
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert process.returncode == 0, shown
    assert b"deleted 1 image object(s)" in output
    assert "connecting" in shown
    assert shown.endswith("\x1b[2K"), "the line is gone when the run is over"
    assert "connecting" not in output.decode()


async def test_without_a_terminal_there_is_no_line(cluster: OpenShift) -> None:
    await cluster.push("app", "1", "2")
    result = await cluster.lading("images", "--confirm", *NO_GUARD)
    assert "connecting" not in result.errors
    assert "deleting" not in result.errors
