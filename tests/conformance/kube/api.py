"""What the tests hold in their hands: the client, raw calls, and the objects they write."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import yaml

from lading.adapters.kube import decoding
from lading.adapters.kube.client import KubeClient
from lading.kernel.objects import Resource
from lading.ports import kube
from lading.ports.http import Request
from tests.conformance.kube.targets import Target

Document = dict[str, Any]
SETTLING_SECONDS_MAX = 90  # controllers of a real cluster may only just have started
POLL_SECONDS = 0.05


def resource(
    plural: str, kind: str, *, group: str = "", version: str = "v1", namespaced: bool = True
) -> Resource[Document]:
    return Resource(
        group=group, version=version, kind=kind, plural=plural, namespaced=namespaced, type=dict
    )


CONFIG_MAPS = resource("configmaps", "ConfigMap")
SECRETS = resource("secrets", "Secret")
PODS = resource("pods", "Pod")
NODES = resource("nodes", "Node", namespaced=False)
NAMESPACES = resource("namespaces", "Namespace", namespaced=False)
DAEMON_SETS = resource("daemonsets", "DaemonSet", group="apps")
WIDGETS = resource("widgets", "Widget", group="conformance.lading.example")
DEFINITIONS = resource(
    "customresourcedefinitions",
    "CustomResourceDefinition",
    group="apiextensions.k8s.io",
    namespaced=False,
)
WIDGET_DEFINITION: Document = yaml.safe_load(Path(__file__).with_name("widgets.yaml").read_text())


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A response, read whole; `body` is empty when it was no JSON object."""

    status: int
    headers: Mapping[str, str]
    text: str
    body: Document = field(default_factory=dict)

    @property
    def warning(self) -> str:
        return self.headers.get("warning", "")

    @property
    def refusal(self) -> tuple[int, str, str]:
        """The three things a user sees of a `Status`: code, reason, message."""
        assert self.body.get("kind") == "Status", self.text
        assert self.body["status"] == "Failure", self.text
        assert self.body["code"] == self.status, self.text
        return self.status, self.body.get("reason", ""), self.body["message"]


class Api:
    def __init__(self, target: Target) -> None:
        self.target = target
        self.client = KubeClient(target.exchange)

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Any request as it is; a body that is no bytes is sent as JSON."""
        encoded = body if isinstance(body, bytes) else msgspec.json.encode(body)
        request = Request(
            method=method,
            path=path,
            query=tuple((query or {}).items()),
            headers={"content-type": "application/json", **(headers or {})},
            body=b"" if body is None else encoded,
        )
        response = await self.target.exchange(request)
        return read(response.status, response.headers, await decoding.whole(response.body))


def read(status: int, headers: Mapping[str, str], content: bytes) -> Answer:
    try:
        body = msgspec.json.decode(content, type=dict[str, Any])
    except msgspec.DecodeError:
        body = {}
    return Answer(status=status, headers=headers, text=content.decode(errors="replace"), body=body)


def config_map(name: str = "one", **data: str) -> Document:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def widget(name: str = "one", **spec: Any) -> Document:
    return {
        "apiVersion": WIDGETS.api_version,
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": spec,
    }


def in_namespace(document: Document, namespace: str) -> Document:
    return {**document, "metadata": {**document["metadata"], "namespace": namespace}}


def managers(document: Document) -> dict[str, Document]:
    """The fields that each manager owns, by name and, for a subresource, `name/subresource`."""
    owned = {}
    for entry in document["metadata"].get("managedFields", []):
        tail = f"/{entry['subresource']}" if entry.get("subresource") else ""
        owned[entry["manager"] + tail] = entry["fieldsV1"]
    return owned


async def eventually(condition: Callable[[], Awaitable[bool]]) -> None:
    """Waits for what a server does in its own time."""
    deadline = time.monotonic() + SETTLING_SECONDS_MAX
    while not await condition():
        assert time.monotonic() < deadline, f"it did not become so within {SETTLING_SECONDS_MAX} s"
        await asyncio.sleep(POLL_SECONDS)


async def exists(api: Api, kind: Resource[Document], name: str, namespace: str = "") -> bool:
    try:
        await api.client.get(kind, name, namespace=namespace)
    except kube.NotFound:
        return False
    return True


async def gone(api: Api, kind: Resource[Document], name: str, namespace: str = "") -> None:
    async def is_gone() -> bool:
        return not await exists(api, kind, name, namespace)

    await eventually(is_gone)


async def served(api: Api, kind: Resource[Document]) -> None:
    """Waits until a definition that was just written is established and answers."""

    async def is_served() -> bool:
        definition = await api.client.get(DEFINITIONS, f"{kind.plural}.{kind.group}")
        conditions = definition.get("status", {}).get("conditions") or []
        if not any(entry["type"] == "Established" for entry in conditions):
            return False
        return (await api.call("GET", kind.path())).status == 200

    await eventually(is_served)
