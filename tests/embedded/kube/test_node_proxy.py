"""`nodes/NAME/proxy`: what reaches a kubelet, and what never does."""

from dataclasses import dataclass, field

import pytest

from lading.adapters.clock import SystemClock
from lading.embedded.kube import authentication
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage.memory import MemoryStorage
from lading.ports.http import HttpTransport, Request, Response
from tests.embedded.kube.cluster import TOKEN

AUTHORIZED = {"authorization": f"Bearer {TOKEN}", "accept": "application/json"}


@dataclass
class Kubelet:
    """Answers everything, and remembers it."""

    asked: list[Request] = field(default_factory=list)

    async def __call__(self, request: Request) -> Response:
        self.asked.append(request)
        return Response(status=200, body=b"from the kubelet")


def core_with(**kubelets: HttpTransport) -> Core:
    tokens = {TOKEN: authentication.ADMIN}
    return Core(MemoryStorage(), SystemClock(), tokens=tokens, kubelets=kubelets)


async def get(core: Core, path: str, **headers: str) -> Response:
    return await core(Request(method="GET", path=path, headers=headers or AUTHORIZED))


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("/api/v1/nodes/one/proxy/stats/summary", "/stats/summary"),
        ("/api/v1/nodes/one/proxy/configz", "/configz"),
        ("/api/v1/nodes/one/proxy/", "/"),
        ("/api/v1/nodes/one/proxy", "/"),
    ],
)
async def test_the_kubelet_of_the_node_sees_its_own_path(path: str, seen: str) -> None:
    one, other = Kubelet(), Kubelet()
    answer = await get(core_with(one=one, other=other), path)
    assert answer.body == b"from the kubelet"
    assert [request.path for request in one.asked] == [seen]
    assert other.asked == []


async def test_a_kubelet_never_sees_the_token_of_who_asks() -> None:
    kubelet = Kubelet()
    await get(core_with(one=kubelet), "/api/v1/nodes/one/proxy/configz")
    assert [dict(request.headers) for request in kubelet.asked] == [{"accept": "application/json"}]


async def test_who_has_no_token_does_not_reach_a_kubelet() -> None:
    kubelet = Kubelet()
    path = "/api/v1/nodes/one/proxy/configz"
    answer = await get(core_with(one=kubelet), path, authorization="Bearer wrong")
    assert (answer.status, kubelet.asked) == (401, [])


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/nodes/absent/proxy/configz",
        "/api/v1/nodes/one/status/configz",
        "/api/v1/namespaces/default/pods/one/proxy/configz",
    ],
)
async def test_what_is_not_the_proxy_of_a_node_with_a_kubelet_is_not_found(path: str) -> None:
    kubelet = Kubelet()
    answer = await get(core_with(one=kubelet), path)
    assert (answer.status, kubelet.asked) == (404, [])
