"""No client reads or writes without a token that the server knows."""

import msgspec
import pytest

from lading.adapters.kube import decoding
from lading.ports.http import HttpTransport, Request
from tests.conformance.kube.api import CONFIG_MAPS, Answer, Api, config_map, exists, read

REQUESTS = [
    ("GET", "/api/v1/namespaces/default/configmaps"),
    ("GET", "/api/v1/namespaces/default/configmaps/one"),
    ("POST", "/api/v1/namespaces/default/configmaps"),
    ("DELETE", "/api/v1/namespaces/default/configmaps/one"),
    ("GET", "/apis"),
    ("GET", "/openapi/v3"),
    ("GET", "/apis/absent.example/v1/things"),
]


async def ask(exchange: HttpTransport, method: str, path: str) -> Answer:
    body = msgspec.json.encode(config_map("intruder")) if method == "POST" else b""
    headers = {"content-type": "application/json"}
    response = await exchange(Request(method=method, path=path, headers=headers, body=body))
    return read(response.status, response.headers, await decoding.whole(response.body))


@pytest.mark.parametrize(("method", "path"), REQUESTS)
async def test_a_wrong_token_is_unauthorized(api: Api, method: str, path: str) -> None:
    answer = await ask(api.target.mistaken, method, path)
    assert answer.refusal == (401, "Unauthorized", "Unauthorized")
    assert not await exists(api, CONFIG_MAPS, "intruder", "default")


@pytest.mark.parametrize(("method", "path"), REQUESTS)
async def test_without_a_token_nothing_is_served(api: Api, method: str, path: str) -> None:
    """A cluster may know a client without a token as `system:anonymous`, with no rights."""
    answer = await ask(api.target.anonymous, method, path)
    assert answer.refusal[:2] in ((401, "Unauthorized"), (403, "Forbidden"))
    assert not await exists(api, CONFIG_MAPS, "intruder", "default")


async def test_health_needs_no_token(api: Api) -> None:
    assert (await ask(api.target.anonymous, "GET", "/livez")).text == "ok"
