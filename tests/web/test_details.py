"""What the page gets when something is opened."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path

import pytest

from lading.adapters.kube.client import KubeClient
from lading.kernel.errors import Malformed
from lading.kernel.values import replace
from lading.pinned_images.rows import Row
from lading.runtime_images.gc_types import GcReason
from lading.runtime_images.report import CollectionReport
from lading.web.details import Details, NotPlanned, NotThere
from lading.web.pruning_plan import PlanReader
from lading.web.views.pins import PlannedSets
from tests.pinned_images.installed_api import api
from tests.web import clusters, reports
from tests.web.clusters import following, until

__all__ = ["api"]


@pytest.fixture
async def details(api: KubeClient) -> AsyncIterator[Details]:
    await clusters.create_pool(api, "s")
    uid = await clusters.create_set(api, "s")
    images = [
        {"names": [clusters.IMAGE, "registry.example.com/app:1"], "sizeBytes": 10},
        {"names": ["registry.example.com/secrets-store:1.4"], "sizeBytes": 20},
    ]
    await clusters.create_node(api, "n", status={"images": images})
    await clusters.report(api, "n", clusters.failed("s", uid, "no room"), bad=True)
    await clusters.create_image(
        api, "share", nodeDeploymentMap={"n": True, "o": False},
        failures=[{"node": "o", "reason": "NotFound", "message": "no such tag"}],
    )  # fmt: skip
    async with following(api) as dashboard:
        await until(dashboard, lambda one: one["nodes"]["n"]["cells"]["s"][0] == "Failed")
        await until(dashboard, lambda one: one["images"])
        yield Details(dashboard)


async def test_a_cell_has_its_errors_and_conditions(details: Details) -> None:
    found = await details.cell({"node": "n", "set": "s"})
    assert (found["state"], found["errors"]) == ("Failed", ["no room"])
    assert found["failedGeneration"] == 1
    assert [one["type"] for one in found["conditions"]] == ["PinnedImageSetsDegraded"]


async def test_a_cell_has_what_the_agent_answers_and_says_where_figures_come_from(
    details: Details,
) -> None:
    class Agents:
        asked = 0

        async def collection(self, node: str) -> None:
            raise AssertionError("a cell needs no plan of garbage collection")

        async def rows(self, found: Iterable[Row]) -> list[Row]:
            self.asked += 1
            return [
                replace(row, is_live=True, bytes_per_second=7, ends_at="2026-01-01T00:00:00Z")
                for row in found
            ]

    cell = {"node": "n", "set": "s"}
    by_status = await details.cell(cell)
    assert (by_status["isLive"], by_status["source"], by_status["bytesPerSecond"]) == (
        False, "status", 0,
    )  # fmt: skip
    agents = Agents()
    asking = Details(details._dashboard, agents=agents)
    found, again = await asyncio.gather(asking.cell(cell), asking.cell(cell))
    assert (found["isLive"], found["bytesPerSecond"]) == (True, 7)
    assert found["endsAt"] == "2026-01-01T00:00:00Z"
    assert (again, agents.asked) == (found, 1)


async def test_a_set_has_its_images(details: Details) -> None:
    found = await details.image_set({"name": "s"})
    assert found["images"] == [{"name": clusters.IMAGE, "runtimeClasses": []}]


async def test_a_node_has_its_images_the_largest_first_and_the_sets_that_keep_them(
    details: Details,
) -> None:
    first, second = (await details.node({"name": "n"}))["images"]
    assert (first["names"], first["sets"]) == (["registry.example.com/secrets-store:1.4"], [])
    assert second["sets"] == ["s"]


class CollectingAgents:
    """Of node n, with an image of the set and one for a runtime class."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def rows(self, found: Iterable[Row]) -> list[Row]:
        return list(found)

    async def collection(self, node: str) -> CollectionReport | None:
        self.asked.append(node)
        return reports.collection(
            reports.verdict(clusters.IMAGE, reason=GcReason.PINNED),
            reports.verdict("registry.example.com/guest:1", handlers=("kata",), goes=True),
        )


async def test_a_node_has_what_garbage_collection_would_take_as_its_agent_answers(
    details: Details,
) -> None:
    agents = CollectingAgents()
    asking = Details(details._dashboard, agents=agents)
    found, again = await asyncio.gather(
        asking.collection({"name": "n"}), asking.collection({"name": "n"})
    )
    assert (again, agents.asked) == (found, ["n"]), "asked once for all pages"
    assert (found["isKnown"], found["goes"]) == (True, 1)
    [host, guest] = found["groups"]
    assert (host["name"], guest["name"]) == ("Default runtime", "handler kata")
    assert (host["images"][0]["reason"], host["images"][0]["sets"]) == ("Pinned", ["s"])
    assert guest["images"][0]["goes"]


async def test_without_an_agent_what_garbage_collection_would_take_is_not_known(
    details: Details,
) -> None:
    assert await details.collection({"name": "n"}) == {"isKnown": False}


async def test_an_image_has_the_map_of_nodes_with_faults(details: Details) -> None:
    found = await details.image({"name": "default/share"})
    assert found["map"] == [
        {"node": "n", "held": True, "reason": "", "message": ""},
        {"node": "o", "held": False, "reason": "NotFound", "message": "no such tag"},
    ]


async def test_what_is_not_there_is_a_sentence(details: Details) -> None:
    with pytest.raises(NotThere, match=r"Set x is not for node n\."):
        await details.cell({"node": "n", "set": "x"})
    with pytest.raises(NotThere, match=r"There is no PinnedImageSet x\."):
        await details.image_set({"name": "x"})
    with pytest.raises(NotThere, match=r"There is no Node x\."):
        await details.node({"name": "x"})
    with pytest.raises(NotThere, match=r"There is no Node x\."):
        await details.collection({"name": "x"})
    with pytest.raises(NotThere, match=r"There is no Image x\."):
        await details.image({"name": "x"})


async def test_without_files_there_is_no_plan_of_sets(details: Details) -> None:
    assert await details.pin_plan({}) == {
        "files": [],
        "complaints": [],
        "notes": [],
        "nodes": [],
    }


async def test_dropped_files_are_planned_by_their_texts(details: Details) -> None:
    class Planner:
        async def of_files(self) -> None:
            return None

        async def of_texts(self, texts: Mapping[str, str]) -> PlannedSets:
            return PlannedSets(files=tuple(texts), previews=(), complaints=tuple(texts.values()))

    planning = Details(details._dashboard, Planner())
    found = await planning.dropped_plan(b'{"files": {"a.yaml": "x"}}')
    assert (found["files"], found["complaints"]) == (["a.yaml"], ["x"])
    for wrong in (b"", b"[]", b'{"files": {}}', b'{"files": {" ": "x"}}', b'{"files": {"a": 1}}'):
        with pytest.raises(Malformed, match="dropped files"):
            await planning.dropped_plan(wrong)


async def test_a_dashboard_without_a_planner_plans_nothing(details: Details) -> None:
    with pytest.raises(NotPlanned):
        await details.dropped_plan(b'{"files": {"a.yaml": "x"}}')


async def test_without_a_plan_there_are_no_lines(details: Details) -> None:
    assert await details.plan({}) == {"file": "", "lines": []}


@pytest.mark.parametrize("offset", ["-1", "x", "1" * 10])
async def test_an_offset_is_a_number(details: Details, offset: str) -> None:
    with pytest.raises(Malformed, match="offset"):
        await details.plan({"offset": offset})


async def test_a_file_that_is_gone_is_reported(tmp_path: Path) -> None:
    found = await PlanReader(tmp_path / "gone").header()
    assert isinstance(found, str)
    assert "No such file" in found
