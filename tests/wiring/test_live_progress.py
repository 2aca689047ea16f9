"""Asking agents through the API server: who is asked, and that silence is no error."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.ports.http import Request, Response
from lading.standalone import cluster
from lading.standalone.cluster import ClusterOptions
from lading.standalone.node import NodeDescription
from lading.wiring import live_progress
from lading.wiring.live_progress import LiveProgress
from tests.e2e import waiting
from tests.web import reports

PODS = "/api/v1/pods"
ANSWER = {
    "node": "n",
    "message": "",
    "imageCount": 0,
    "presentCount": 0,
    "bytesWanted": 0,
    "bytesMissing": None,
    "sets": [],
    "pulls": [],
    "storage": None,
}


def pod(node: str, phase: str = "Running") -> dict[str, object]:
    metadata = {"name": f"agent-{node}", "namespace": "lading-system"}
    return {"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": phase}}


def page(node: str) -> str:
    return f"/api/v1/namespaces/lading-system/pods/agent-{node}/proxy/pinned-images"


class Answers:
    """An API server that answers these paths, and hangs or is silent elsewhere."""

    def __init__(self, found: Mapping[str, object], *, hangs_at: str = "") -> None:
        self.found = dict(found)
        self.asked: list[str] = []
        self._hangs_at = hangs_at

    async def __call__(self, request: Request) -> Response:
        self.asked.append(request.path)
        if request.path == self._hangs_at:
            await asyncio.Event().wait()
        if request.path not in self.found:
            return Response(status=503, headers={}, body=b"no route to the pod")
        body = msgspec.json.encode(self.found[request.path])
        return Response(status=200, headers={}, body=body)


def pods(*items: dict[str, object]) -> dict[str, object]:
    return {PODS: {"metadata": {}, "items": list(items)}}


async def test_agents_are_asked_over_pods_proxy() -> None:
    server = Answers({**pods(pod("a"), pod("b", "Pending")), page("a"): ANSWER})
    assert set(await LiveProgress(KubeClient(server)).progress(["a", "b", "c"])) == {"a"}
    assert server.asked == [PODS, page("a")]


async def test_a_user_who_may_not_list_pods_gets_no_answers() -> None:
    assert await LiveProgress(KubeClient(Answers({}))).progress(["a"]) == {}


@pytest.mark.parametrize("answer", [{"node": 7}, None])
async def test_an_answer_that_is_none_is_left_out(answer: object) -> None:
    server = Answers({**pods(pod("a"), pod("b")), page("a"): answer, page("b"): ANSWER})
    assert set(await LiveProgress(KubeClient(server)).progress(["a", "b"])) == {"b"}


async def test_an_agent_that_does_not_answer_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_progress, "ASK_SECONDS_MAX", 0.05)
    answers = {**pods(pod("a"), pod("b")), page("b"): ANSWER}
    server = Answers(answers, hangs_at=page("a"))
    assert set(await LiveProgress(KubeClient(server)).progress(["a", "b"])) == {"b"}


async def test_the_pods_are_looked_for_again_after_one_did_not_answer() -> None:
    server = Answers({**pods(pod("a"))})
    agents = LiveProgress(KubeClient(server))
    assert await agents.progress(["a"]) == {}
    server.found[page("a")] = ANSWER
    assert set(await agents.progress(["a"])) == {"a"}
    assert set(await agents.progress(["a"])) == {"a"}
    assert server.asked.count(PODS) == 2


async def test_an_agent_is_asked_what_garbage_collection_would_take() -> None:
    answer = reports.collection(reports.verdict("app:1", goes=True))
    path = page("a").replace("/pinned-images", "/runtime-images")
    agents = LiveProgress(KubeClient(Answers({**pods(pod("a"), pod("b")), path: answer})))
    assert await agents.collection("a") == answer
    assert await agents.collection("b") is None


async def test_the_agents_of_lading_up_answer(tmp_path: Path) -> None:
    options = ClusterOptions(data=tmp_path, nodes=(NodeDescription(name="a"),))
    async with cluster.open_cluster(options, SystemClock()) as made, asyncio.TaskGroup() as group:
        running = group.create_task(made.run())
        agents = LiveProgress(made.kube)

        async def answers() -> bool:
            found = await agents.progress(["a"])
            return "a" in found and found["a"].node == "a"

        await waiting.until(answers, "the agent answers")
        judged = await agents.collection("a")
        assert judged is not None
        assert (judged.used_percent, judged.high_threshold_percent) == (0, 85)
        running.cancel()
