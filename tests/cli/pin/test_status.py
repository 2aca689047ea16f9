"""What `lading pin status` shows of the reports of nodes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, cast

import click
import pytest

from lading.adapters.kube.client import KubeClient
from lading.api.core import NODES
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.cli.connection import Target
from lading.cli.output import Format
from lading.cli.pin import status
from lading.embedded import sample_sets
from lading.kernel.values import replace
from lading.pinned_images import rows
from lading.pinned_images.rows import Row, RowChoice, RowState
from tests.pinned_images import installed_api
from tests.pinned_images.installed_api import api

FAILED = {"desiredGeneration": 2, "lastFailedGeneration": 2}
WITH_ERROR = {**FAILED, "lastFailedGenerationErrors": ["there was no room"]}


__all__ = ["api"]


def condition(type_: str, is_true: bool, message: str = "") -> dict[str, str]:
    return {
        "type": f"PinnedImageSets{type_}",
        "status": str(is_true),
        "reason": "Because",
        "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


async def make_set(api: KubeClient, *, edits: int = 0, **reported: Any) -> None:
    """Of generation 1, and one more with each edit."""
    image = f"example.com/app@sha256:{'0' * 64}"
    await api.create(PINNED_IMAGE_SETS, sample_sets.set_of("s", [image]))
    for number in range(edits):
        names = [{"name": f"{image[:-1]}{index}"} for index in range(number + 2)]
        await api.patch(PINNED_IMAGE_SETS, "s", {"spec": {"pinnedImages": names}})
    if reported:
        await api.patch(PINNED_IMAGE_SETS, "s", {"status": reported}, subresource="status")


def ready(reason: str, message: str, *, generation: int = 1) -> dict[str, Any]:
    return {
        "type": "Ready",
        "status": "False",
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


async def report(api: KubeClient, entry: dict[str, Any], *, degraded: bool) -> None:
    await installed_api.describe_node(api, "n")
    progressing = condition("Progressing", True, "1 of 4 images are on the node")
    body = {
        "pinnedImageSets": [{"name": "s", **entry}],
        "conditions": [progressing, condition("Degraded", degraded)],
    }
    await api.patch(MACHINE_CONFIG_NODES, "n", {"status": body}, subresource="status")


async def row_of(api: KubeClient, entry: dict[str, Any], *, degraded: bool) -> Row:
    await report(api, entry, degraded=degraded)
    (row,) = await status.read(api)
    return row


async def test_a_failed_set_shows_its_error(api: KubeClient) -> None:
    row = await row_of(api, WITH_ERROR, degraded=True)
    assert (row.generation, row.state, row.detail) == ("-/2", "Failed", "there was no room")


async def test_an_error_that_is_over_no_longer_hides_the_progress(api: KubeClient) -> None:
    row = await row_of(api, WITH_ERROR, degraded=False)
    assert row.state == "Pulling"
    assert row.detail == "1 of 4 images are on the node"


async def test_a_retry_that_runs_is_shown_with_the_last_error(api: KubeClient) -> None:
    counts = {"imageCount": 4, "presentImageCount": 1, "pullingImageCount": 1, "pullAttempt": 3}
    row = await row_of(api, {**WITH_ERROR, **counts}, degraded=True)
    assert (row.state, row.last_error) == ("Pulling", "there was no room")
    assert row.detail == "1 of 4 images are on the node, attempt 3"
    shown = status.rendered([row], Format.TABLE, columns=80)
    assert "s on n: attempt 3 runs; last error: there was no room" in shown


async def test_a_failed_set_shows_its_next_try(api: KubeClient) -> None:
    waiting = {"pullAttempt": 3, "nextPullTime": "2026-01-01T00:05:00Z"}
    error = {"lastFailedGenerationErrors": ["there was no room. Free some."]}
    row = await row_of(api, {**WITH_ERROR, **error, **waiting}, degraded=True)
    assert row.state == "Failed"
    assert row.detail == "there was no room. Free some; attempt 3 at 2026-01-01T00:05:00Z"


async def test_the_progress_of_a_set_comes_from_its_own_counts(api: KubeClient) -> None:
    counts = {"imageCount": 8, "presentImageCount": 2, "missingBytes": 3 * 1024**2}
    row = await row_of(api, {"desiredGeneration": 2, **counts}, degraded=False)
    assert (row.state, row.present, row.images) == ("Pulling", 2, 8)
    assert row.detail == "2 of 8 images are on the node, 3 MiB to pull"


async def test_a_failure_without_a_message_is_shown_all_the_same(api: KubeClient) -> None:
    row = await row_of(api, FAILED, degraded=True)
    assert (row.state, row.detail) == ("Failed", "the node reports a failure without a message")


async def test_a_pinned_set_needs_no_detail(api: KubeClient) -> None:
    row = await row_of(api, {"currentGeneration": 2, **WITH_ERROR}, degraded=True)
    assert (row.generation, row.state, row.detail) == ("2/2", "Pinned", "")
    assert row.is_settled


async def test_a_node_that_holds_an_earlier_generation_is_not_done(api: KubeClient) -> None:
    """Its agent may be dead, and its report an old one."""
    await make_set(api, edits=1)
    held = {"currentGeneration": 1, "desiredGeneration": 1}
    row = await row_of(api, held, degraded=False)
    assert (row.node, row.generation, row.state) == ("n", "1/2", "Waiting")
    assert not row.is_settled


async def test_a_node_that_holds_another_set_of_the_same_name_is_not_done(api: KubeClient) -> None:
    await make_set(api)
    held = {"uid": "of-another", "currentGeneration": 1, "desiredGeneration": 1}
    row = await row_of(api, held, degraded=False)
    assert (row.node, row.generation, row.state) == ("n", "1/1", "Waiting")


async def test_a_node_without_a_report_is_missed(api: KubeClient) -> None:
    await make_set(api, observedGeneration=1, nodeCount=2)
    uid = (await api.get(PINNED_IMAGE_SETS, "s")).metadata.uid
    held = {"uid": uid, "currentGeneration": 1, "desiredGeneration": 1}
    await report(api, held, degraded=False)
    done, missed = await status.read(api)
    assert (done.node, done.state) == ("n", "Pinned")
    assert (missed.node, missed.generation, missed.state) == ("", "-/1", "Waiting")
    assert missed.detail == "1 node does not report this set yet; check that the agents run"


async def test_a_set_that_the_controller_has_not_observed_is_waited_for(api: KubeClient) -> None:
    await make_set(api)
    (row,) = await status.read(api)
    assert (row.set, row.state, row.is_settled) == ("s", "Waiting", False)
    assert "controller" in row.detail


async def test_a_set_that_no_node_takes_says_why_and_is_not_waited_for(api: KubeClient) -> None:
    not_ready = ready("NoNodes", "no pool selects this set")
    await make_set(api, observedGeneration=1, conditions=[not_ready])
    (row,) = await status.read(api)
    assert (row.state, row.detail) == ("NoNodes", "no pool selects this set")
    assert row.is_settled


async def test_a_set_that_pools_are_about_to_get_is_waited_for(api: KubeClient) -> None:
    not_ready = ready("InProgress", "its pools are about to get it")
    await make_set(api, observedGeneration=1, conditions=[not_ready])
    (row,) = await status.read(api)
    assert (row.state, row.is_settled) == ("Waiting", False)


async def test_a_set_that_is_gone_is_shown_until_its_nodes_let_it_go(api: KubeClient) -> None:
    row = await row_of(api, {"currentGeneration": 1, "desiredGeneration": 1}, degraded=False)
    assert (row.set, row.generation, row.state) == ("s", "1/1", "Pinned")


async def make_node(api: KubeClient, name: str) -> None:
    labels = {"node-role.kubernetes.io/worker": ""}
    await api.create(NODES, {"metadata": {"name": name, "labels": labels}})


async def make_pool(api: KubeClient) -> None:
    body = {
        "apiVersion": MACHINE_CONFIG_POOLS.api_version,
        "kind": MACHINE_CONFIG_POOLS.kind,
        "metadata": {"name": "worker"},
        "spec": {
            "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/worker": ""}},
            "pinnedImageSets": [{"name": "s"}],
        },
    }
    await api.create(MACHINE_CONFIG_POOLS, body)


async def test_status_names_every_node_that_is_silent(api: KubeClient) -> None:
    await make_set(api, observedGeneration=1, nodeCount=3)
    await make_pool(api)
    for name in ("m", "n", "o"):
        await make_node(api, name)
    uid = (await api.get(PINNED_IMAGE_SETS, "s")).metadata.uid
    held = {"uid": uid, "currentGeneration": 1, "desiredGeneration": 1}
    await report(api, held, degraded=False)
    found = await status.read(api)
    assert [(row.node, row.state) for row in found] == [
        ("m", "Waiting"),
        ("n", "Pinned"),
        ("o", "Waiting"),
    ]
    assert found[0].detail == "the node does not report this set yet; check that its agent runs"


async def test_status_shows_the_sets_and_nodes_that_are_named(api: KubeClient) -> None:
    await make_set(api)
    await make_pool(api)
    for name in ("m", "o"):
        await make_node(api, name)
    only = await status.read(api, RowChoice(sets=frozenset({"s"}), nodes=frozenset({"o"})))
    assert [(row.node, row.set) for row in only] == [("o", "s")]
    with pytest.raises(click.ClickException, match="no PinnedImageSet x; there is no node y"):
        await status.read(api, RowChoice(sets=frozenset({"x"}), nodes=frozenset({"y"})))


def row(**fields: Any) -> Row:
    defaults: dict[str, Any] = {
        "node": "n", "pool": "worker", "set": "s", "generation": "1/1", "state": RowState.PINNED,
        "images": 8, "present": 2, "missing_bytes": 3 * 1024**2, "detail": "",
    }  # fmt: skip
    return Row(**(defaults | fields))


def test_status_fits_80_columns() -> None:
    long = row(
        node="ip-10-0-134-12.eu-west-1.compute.internal",
        set="images-of-the-next-upgrade-of-the-whole-fleet",
        generation="1234/1235",
        state=RowState.FAILED,
        detail=f"example.com/{'long/' * 20}app@sha256:{'0' * 64}: " + "many words " * 30,
    )
    lines = status.rendered([long, row()], Format.TABLE, columns=80).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1].startswith("ip-10-0-1")
    assert "sha256:000000000000...: many words" in "".join(lines)


def test_what_several_nodes_report_alike_is_explained_once() -> None:
    failed = [row(node=f"n{number}", state=RowState.FAILED, detail="why") for number in range(7)]
    *_, explained = status.rendered(failed, Format.TABLE, columns=80).splitlines()
    assert explained == "s on n0, n1, n2, n3, n4 and 2 more: why"


def test_nodes_with_the_same_error_and_other_times_are_explained_once() -> None:
    def failed(node: str, attempt: int, minute: int) -> Row:
        at = f"2026-01-01T00:{minute:02}:00Z"
        detail = f"no room; attempt {attempt} at {at}"
        return row(
            node=node,
            state=RowState.FAILED,
            detail=detail,
            last_error="no room.",
            attempt=attempt,
            next_pull_time=at,
        )

    nodes = [failed("n0", 3, 7), failed("n1", 2, 5), failed("n2", 3, 6)]
    *_, explained = status.rendered(nodes, Format.TABLE, columns=80).splitlines()
    assert explained == "s on n0, n1, n2: no room; attempt 2 on n1 at 2026-01-01T00:05:00Z"
    *_, explained = status.rendered(nodes[:1], Format.TABLE, columns=80).splitlines()
    assert explained == "s on n0: no room; attempt 3 at 2026-01-01T00:07:00Z"


@dataclass(frozen=True)
class ClusterOf:
    """The cluster of a command line, without a kubeconfig."""

    api: KubeClient

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[KubeClient]:
        yield self.api


async def show(api: KubeClient, **options: bool) -> None:
    asked: Any = {"watch": False, "form": Format.TABLE, **options}
    await status._status(cast(Target, ClusterOf(api)), rows.ALL, **asked)


async def test_a_watch_ends_when_everything_is_pinned(
    api: KubeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "WATCH_SECONDS", 0.01)
    await make_set(api)
    await report(api, {"desiredGeneration": 1}, degraded=False)
    watching = asyncio.create_task(show(api, watch=True))
    await asyncio.sleep(0.2)
    assert not watching.done()
    held = {"name": "s", "uid": (await api.get(PINNED_IMAGE_SETS, "s")).metadata.uid}
    done = {**held, "currentGeneration": 1, "desiredGeneration": 1}
    body = {"status": {"pinnedImageSets": [done]}}
    await api.patch(MACHINE_CONFIG_NODES, "n", body, subresource="status")
    await asyncio.wait_for(watching, 10)


def test_the_table_has_rate_and_time_left_while_bytes_arrive() -> None:
    mib = 1024 * 1024
    still = Row(
        node="n",
        pool="p",
        set="s",
        generation="1/2",
        state=RowState.PULLING,
        images=4,
        present=1,
        missing_bytes=90 * mib,
        detail="",
    )
    moving = replace(still, bytes_per_second=3 * mib, bytes_total=100 * mib, bytes_done=10 * mib)
    text = status.rendered([moving, still], Format.TABLE, columns=80)
    lines = text.splitlines()
    assert lines[0].split()[-2:] == ["RATE", "LEFT"]
    assert lines[1].split()[-3:] == ["3", "MiB/s", "30s"]
    assert lines[2].split()[-2:] == ["-", "-"]
    assert "RATE" not in status.rendered([still], Format.TABLE, columns=80)
