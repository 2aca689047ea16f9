"""A core in memory and the few words that the tests of the server speak to it."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from lading.adapters.clock import SystemClock
from lading.embedded.kube import authentication
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage.memory import MemoryStorage
from lading.ports.http import Request, Response

TOKEN = "a-token"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
Document = dict[str, Any]


def counted_uids() -> Iterator[str]:
    return (f"uid-{number}" for number in itertools.count(1))


@dataclass(slots=True)
class Cluster:
    storage: MemoryStorage = field(default_factory=MemoryStorage)
    core: Core = field(init=False)

    def __post_init__(self) -> None:
        uids = counted_uids()
        self.core = Core(
            self.storage,
            SystemClock(),
            tokens={TOKEN: authentication.ADMIN},
            uid_source=lambda: next(uids),
        )

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: dict[str, str] | None = None,
        **headers: str,
    ) -> Response:
        sent = {"authorization": f"Bearer {TOKEN}", "user-agent": "test/1"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.core(
            Request(
                method=method,
                path=path,
                query=tuple((query or {}).items()),
                headers=sent,
                body=b"" if body is None else msgspec.json.encode(body),
            )
        )

    async def read(self, path: str, **query: str) -> Document:
        return decoded(await self.call("GET", path, query=query))

    async def create(self, path: str, body: Document) -> Document:
        response = await self.call("POST", path, body)
        assert response.status == 201, response.body
        return decoded(response)


def decoded(response: Response) -> Document:
    assert isinstance(response.body, bytes)
    found: Document = msgspec.json.decode(response.body)
    return found


def config_map(name: str, **metadata: Any) -> Document:
    return {"metadata": {"name": name, **metadata}, "data": {"a": "1"}}


def definition(*, plural: str = "widgets", kind: str = "Widget", **spec: Any) -> Document:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [version],
            **spec,
        },
    }


def widget(name: str, **fields: Any) -> Document:
    identity = {"apiVersion": "example.com/v1", "kind": "Widget"}
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {**identity, "metadata": metadata, **fields}
