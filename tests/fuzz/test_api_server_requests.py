"""Any request to the embedded API server is answered or refused; the server never fails."""

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lading.ports.http import Request, Response
from tests.embedded.kube.cluster import CONFIG_MAPS, DEFINITIONS, TOKEN, Cluster, definition
from tests.fuzz import harness

WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
PATHS = (
    CONFIG_MAPS,
    WIDGETS,
    DEFINITIONS,
    "/api/v1/nodes",
    "/api/v1/namespaces",
    "/api/v1/namespaces/default/pods",
    "/api/v1/namespaces/default/events",
    "/apis/apps/v1/namespaces/default/daemonsets",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
)
MEDIA_TYPES = (
    "application/json",
    "application/yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
)
KEYS = st.sampled_from(
    [
        "metadata",
        "name",
        "namespace",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
        "managedFields",
        "uid",
        "generateName",
        "resourceVersion",
        "creationTimestamp",
        "apiVersion",
        "kind",
        "spec",
        "status",
        "data",
        "type",
        "containers",
        "template",
        "selector",
        "versions",
        "names",
        "group",
        "scope",
        "conditions",
        "x",
    ]
)
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "a", "v1", "Widget", "A b"])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.fixed_dictionaries(
    {"metadata": st.fixed_dictionaries({"name": st.just("a")}) | VALUES},
    optional={
        "apiVersion": st.sampled_from(["v1", "example.com/v1", 7]),
        "kind": st.sampled_from(["Widget", "ConfigMap", 7]),
        "spec": VALUES,
        "data": VALUES,
        "status": VALUES,
        "handler": VALUES,
    },
)
QUERIES = st.dictionaries(
    st.sampled_from(
        [
            "dryRun",
            "fieldManager",
            "fieldValidation",
            "force",
            "limit",
            "continue",
            "labelSelector",
            "fieldSelector",
            "resourceVersion",
            "resourceVersionMatch",
            "propagationPolicy",
        ]
    ),
    st.sampled_from(
        ["", "All", "a", "a=b", "1", "-1", "true", "Strict", "Exact", "!", "metadata.name=a"]
    ),
    max_size=3,
)


async def answer(requests: list[Request]) -> list[Response]:
    cluster = Cluster()
    await cluster.create(DEFINITIONS, definition())
    answers = [await cluster.core(request) for request in requests]
    await cluster.core.close()
    return answers


def answers_within_limits(requests: list[Request]) -> list[Response]:
    answers: list[Response] = []
    harness.check(lambda: answers.extend(asyncio.run(answer(requests))), refusals=())
    return answers


def request(method: str, path: str, body: Any, media_type: str, query: dict[str, str]) -> Request:
    return Request(
        method=method,
        path=path,
        query=tuple(query.items()),
        headers={"authorization": f"Bearer {TOKEN}", "content-type": media_type},
        body=body if isinstance(body, bytes) else msgspec.json.encode(body),
    )


@pytest.mark.timeout(120)
@given(
    path=st.sampled_from(PATHS),
    first=OBJECTS,
    second=OBJECTS | VALUES,
    media_type=st.sampled_from(MEDIA_TYPES),
    query=QUERIES,
)
def test_no_object_makes_the_server_fail(
    path: str, first: Any, second: Any, media_type: str, query: dict[str, str]
) -> None:
    requests = [
        request("POST", path, first, "application/json", {}),
        request("POST", path, second, media_type, query),
        request("PUT", f"{path}/a", second, media_type, query),
        request("PATCH", f"{path}/a", second, media_type, query),
        request("PATCH", f"{path}/a/status", second, media_type, query),
        request("GET", path, b"", "", query),
        request("DELETE", f"{path}/a", second, media_type, query),
    ]
    for sent, received in zip(requests, answers_within_limits(requests), strict=True):
        assert b"see the server's log" not in received.body, (sent, received)  # type: ignore[operator]


@settings(max_examples=settings().max_examples // 2)
@given(body=st.binary(max_size=60), media_type=st.sampled_from(MEDIA_TYPES))
def test_no_noise_makes_the_server_fail(body: bytes, media_type: str) -> None:
    requests = [
        request(method, path, body, media_type, {"fieldManager": "a"})
        for method in ("POST", "PATCH", "DELETE")
        for path in (CONFIG_MAPS, f"{CONFIG_MAPS}/a")
    ]
    for received in answers_within_limits(requests):
        assert received.status < 500, received.body
