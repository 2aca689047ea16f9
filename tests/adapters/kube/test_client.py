"""What the client does by itself: addresses, pages, and answers that it cannot read."""

import msgspec
import pytest

from lading.adapters.kube import errors
from lading.adapters.kube.client import KubeClient
from lading.kernel.objects import Object, Resource
from lading.ports import kube
from lading.ports.http import Request, Response
from lading.ports.kube import Kube, Selection
from tests.adapters.kube.stand import CONFIG_MAPS

NODES: Resource[Object] = Resource(
    group="", version="v1", kind="Node", plural="nodes", namespaced=False, type=Object
)


class Scripted:
    """An exchange that answers in turn and keeps what it was asked."""

    def __init__(self, *bodies: object) -> None:
        self.bodies = list(bodies)
        self.requests: list[Request] = []

    async def __call__(self, request: Request) -> Response:
        self.requests.append(request)
        return Response(status=200, body=msgspec.json.encode(self.bodies.pop(0)))


def page(*names: str, continue_token: str = "") -> object:
    metadata = {"resourceVersion": "7", "continue": continue_token}
    return {"metadata": metadata, "items": [{"metadata": {"name": name}} for name in names]}


async def test_it_is_the_port() -> None:
    client: Kube = KubeClient(Scripted({"metadata": {"name": "n"}}))
    assert (await client.get(NODES, "n")).metadata.name == "n"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2Fb", "\udcff"])
async def test_a_name_that_would_address_something_else_is_never_sent(name: str) -> None:
    exchange = Scripted()
    with pytest.raises(kube.Invalid, match="is not a usable name"):
        await KubeClient(exchange).get(NODES, name)
    with pytest.raises(kube.Invalid, match="is not a usable namespace"):
        await KubeClient(exchange).delete(CONFIG_MAPS, "one", namespace=name)
    assert exchange.requests == []


async def test_every_object_is_given_page_after_page() -> None:
    exchange = Scripted(page("a", "b", continue_token="t"), page("c"))
    selection = Selection(namespace="ns", label_selector="x=y")
    found = [item async for item in KubeClient(exchange).each(CONFIG_MAPS, selection, limit=2)]
    assert [item.metadata.name for item in found] == ["a", "b", "c"]
    first, second = (dict(request.query) for request in exchange.requests)
    assert first == {"labelSelector": "x=y", "limit": "2"}
    assert second == {"labelSelector": "x=y", "limit": "2", "continue": "t"}


async def test_plain_dictionaries_in_a_list_know_what_they_are() -> None:
    plain: Resource[dict[str, object]] = Resource(
        group="", version="v1", kind="Node", plural="nodes", namespaced=False, type=dict
    )
    (item,) = (await KubeClient(Scripted(page("a"))).page(plain)).items
    assert (item["apiVersion"], item["kind"]) == ("v1", "Node")


async def test_an_answer_of_another_form_names_the_field() -> None:
    client = KubeClient(Scripted({"metadata": {"name": 7}}, {"items": [{"metadata": []}]}))
    with pytest.raises(errors.Undecodable, match=r"GET /api/v1/nodes/n: .*\$\.metadata\.name"):
        await client.get(NODES, "n")
    with pytest.raises(errors.Undecodable, match="GET /api/v1/nodes: "):
        await client.page(NODES)


async def test_a_delete_says_what_must_be_so() -> None:
    exchange = Scripted({})
    await KubeClient(exchange).delete(
        NODES, "n", uid="u", resource_version="5", propagation="Orphan", dry_run=True
    )
    assert msgspec.json.decode(exchange.requests[0].body) == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Orphan",
        "preconditions": {"uid": "u", "resourceVersion": "5"},
        "dryRun": ["All"],
    }
