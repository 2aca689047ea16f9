"""Asking agents through the API server: who is asked, and that silence is no error."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec
import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.embedded import cluster
from lading.embedded.cluster import ClusterOptions
from lading.embedded.node import NodeDescription
from lading.ports.http import Request, Response
from lading.wiring import live_progress
from lading.wiring.live_progress import LiveProgress
from tests.e2e import waiting
from tests.web import reports

BINDING = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/lading-agent"
DAEMON_SETS = "/apis/apps/v1/namespaces/agents/daemonsets"
PODS = "/api/v1/namespaces/agents/pods"
OWNER = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "lading-agent", "uid": "ours"}
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


def pod(
    node: str,
    phase: str = "Running",
    *,
    name: str = "",
    created: str = "2026-01-01T00:00:00Z",
    owner: Mapping[str, object] = MappingProxyType({**OWNER, "controller": True}),
) -> dict[str, object]:
    metadata = {
        "name": name or f"agent-{node}",
        "namespace": "agents",
        "creationTimestamp": created,
        "ownerReferences": [dict(owner)] if owner else [],
    }
    return {"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": phase}}


def page(node: str, *, pod: str = "", namespace: str = "agents") -> str:
    return f"/api/v1/namespaces/{namespace}/pods/{pod or f'agent-{node}'}/proxy/pinned-images"


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


def account(namespace: str = "agents", name: str = "lading-agent") -> dict[str, str]:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def pods(*items: dict[str, object]) -> dict[str, object]:
    """An installation in the namespace `agents`, with these pods in it."""
    daemon_set = {"metadata": {"name": "lading-agent", "namespace": "agents", "uid": "ours"}}
    return {
        BINDING: {"metadata": {"name": "lading-agent"}, "subjects": [account()]},
        DAEMON_SETS: {"metadata": {}, "items": [daemon_set]},
        PODS: {"metadata": {}, "items": list(items)},
    }


async def test_agents_are_asked_over_pods_proxy() -> None:
    server = Answers({**pods(pod("a"), pod("b", "Pending")), page("a"): ANSWER})
    assert set(await LiveProgress(KubeClient(server)).progress(["a", "b", "c"])) == {"a"}
    assert server.asked == [BINDING, DAEMON_SETS, PODS, page("a")]


async def test_a_pod_of_another_namespace_is_not_looked_at() -> None:
    """Its labels are those of an agent; its owner decides what it answers."""
    foreign = {"metadata": {"name": "fake", "namespace": "theirs"}, "spec": {"nodeName": "a"}}
    everywhere = {"/api/v1/pods": {"metadata": {}, "items": [foreign]}}
    server = Answers({**pods(pod("a")), **everywhere, page("a"): ANSWER})
    assert set(await LiveProgress(KubeClient(server)).progress(["a"])) == {"a"}
    assert not any("theirs" in path or path == "/api/v1/pods" for path in server.asked)


@pytest.mark.parametrize(
    "owner",
    [
        pytest.param({}, id="no owner"),
        pytest.param(OWNER, id="not the controller"),
        pytest.param({**OWNER, "controller": True, "uid": "another"}, id="another DaemonSet"),
        pytest.param({**OWNER, "controller": True, "kind": "Job"}, id="another kind"),
    ],
)
async def test_a_pod_that_the_daemon_set_does_not_own_does_not_answer(
    owner: dict[str, object],
) -> None:
    fake = pod("b", name="fake", owner=owner)
    server = Answers({**pods(pod("a"), fake), page("a"): ANSWER, page("b", pod="fake"): ANSWER})
    assert set(await LiveProgress(KubeClient(server)).progress(["a", "b"])) == {"a"}


@pytest.mark.parametrize("is_listed_first", [True, False])
async def test_the_newest_pod_of_a_node_answers(is_listed_first: bool) -> None:
    new = pod("a", name="new", created="2026-01-02T00:00:00Z")
    listed = [new, pod("a", name="old")] if is_listed_first else [pod("a", name="old"), new]
    server = Answers({**pods(*listed), page("a", pod="new"): ANSWER})
    assert set(await LiveProgress(KubeClient(server)).progress(["a"])) == {"a"}


@pytest.mark.parametrize(
    "subjects",
    [None, [account(name="other")], [account("agents"), account("theirs")]],
    ids=["no subject", "another account", "two namespaces"],
)
async def test_no_agent_is_asked_when_the_binding_names_no_single_namespace(
    subjects: object,
) -> None:
    binding = {"metadata": {"name": "lading-agent"}, "subjects": subjects}
    server = Answers({**pods(pod("a")), BINDING: binding, page("a"): ANSWER})
    assert await LiveProgress(KubeClient(server)).progress(["a"]) == {}
    assert server.asked == [BINDING]


async def test_a_user_who_may_not_read_the_binding_gets_no_answers() -> None:
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
