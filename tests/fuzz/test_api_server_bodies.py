"""Any JSON or YAML body is stored or refused by the embedded API server; it never fails."""

import asyncio
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lading.ports.http import Request, Response
from tests.embedded.kube.cluster import CONFIG_MAPS, DEFINITIONS, TOKEN, Cluster, definition
from tests.fuzz import harness, inputs

DAEMON_SET = {
    "apiVersion": "apps/v1",
    "kind": "DaemonSet",
    "metadata": {"name": "a", "labels": {"app": "a"}, "annotations": {"b": "c"}},
    "spec": {
        "selector": {"matchLabels": {"app": "a"}},
        "template": {
            "metadata": {"labels": {"app": "a"}},
            "spec": {
                "containers": [
                    {
                        "name": "main",
                        "image": "image:1",
                        "ports": [{"containerPort": 80, "protocol": "TCP"}],
                        "env": [{"name": "A", "value": "1"}],
                        "resources": {"limits": {"memory": "1Gi"}},
                    }
                ]
            },
        },
    },
}
CONFIG_MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "finalizers": ["example.com/one"]},
    "data": {"key": "value"},
}
WIDGET = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "a"},
    "spec": {"size": 1, "tags": ["x"], "parts": [{"name": "p"}]},
}
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
EXAMPLES: list[tuple[str, Any]] = [
    (CONFIG_MAPS, CONFIG_MAP),
    (WIDGETS, WIDGET),
    ("/apis/apps/v1/namespaces/default/daemonsets", DAEMON_SET),
    (DEFINITIONS, {**definition(plural="others"), "kind": "CustomResourceDefinition"}),
]
PATCHES = [
    [{"op": "add", "path": "/data/x", "value": "1"}, {"op": "test", "path": "/data/x"}],
    {"data": {"key": None, "other": "1"}, "metadata": {"labels": {"a": "b"}}},
]
FAILURE = b"see the server's log"
"""An unexpected error says so. The code says little: kube-apiserver refuses bodies with 500."""
PATCH_TYPES = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
]


def check(*requests: Request) -> None:
    answers: list[Response] = []
    harness.check(lambda: answers.extend(asyncio.run(answered(requests))), refusals=())
    for answer in answers:
        assert isinstance(answer.body, bytes)
        assert FAILURE not in answer.body, answer.body


async def answered(requests: tuple[Request, ...]) -> list[Response]:
    cluster = Cluster()
    await cluster.create(DEFINITIONS, definition())
    await cluster.create(CONFIG_MAPS, {"metadata": {"name": "there"}, "data": {"key": "value"}})
    answers = [await cluster.core(request) for request in requests]
    await cluster.core.close()
    return answers


def sent(method: str, path: str, media_type: str, body: bytes, **query: str) -> Request:
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": media_type}
    return Request(method=method, path=path, query=tuple(query.items()), headers=headers, body=body)


@pytest.mark.parametrize(("path", "document"), EXAMPLES, ids=[path for path, _ in EXAMPLES])
@given(data=st.data())
def test_any_json_body_is_stored_or_refused(path: str, document: Any, data: st.DataObject) -> None:
    body = data.draw(inputs.mangled(inputs.documents(document).map(inputs.as_json)))
    json = "application/json"
    strict = {"fieldValidation": "Strict"}
    check(
        sent("POST", path, json, body),
        sent("PUT", f"{path}/a", json, body, **strict),
        sent("DELETE", f"{path}/a", json, body),
    )


@pytest.mark.parametrize(("path", "document"), EXAMPLES, ids=[path for path, _ in EXAMPLES])
@given(data=st.data())
def test_any_yaml_body_is_stored_or_refused(path: str, document: Any, data: st.DataObject) -> None:
    body = data.draw(inputs.mangled(inputs.documents(document).map(inputs.as_yaml)))
    apply = {"fieldManager": "fuzz", "force": "true"}
    check(
        sent("POST", path, "application/yaml", body),
        sent("PATCH", f"{path}/a", "application/apply-patch+yaml", body, **apply),
        sent("PATCH", f"{path}/b", "application/apply-patch+yaml", body, **apply),
    )


@given(patch=inputs.mangled(st.sampled_from(PATCHES).flatmap(inputs.documents).map(inputs.as_json)))
@example(patch=b"[" * 100_000)
@example(patch=b'{"data": {"a": ' + b"1" * 5_000 + b"}}")
def test_any_patch_is_applied_or_refused(patch: bytes) -> None:
    path = f"{CONFIG_MAPS}/there"
    check(*(sent("PATCH", path, media_type, patch) for media_type in PATCH_TYPES))


@pytest.mark.parametrize(
    "body",
    [
        b"- " * 1_000_000,
        b"[" * 1_000_000,
        b"? " * 1_000_000,
        b"a: &a [*a]",
        b"a: &a [x, x]\nb: &b [*a, *a]\n"
        + b"".join(b"%c: &%c [*%c, *%c]\n" % (n, n, n - 1, n - 1) for n in range(99, 123)),
        b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {1: x, true: y, 1.5: z}",
        b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {~: x}",
        b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: !!set {x, y}",
        b"metadata: !!timestamp x",
        b"metadata: !!bool x",
        b"metadata: {name: .inf}",
        b"metadata: {name: " + b"1" * 5_000 + b"}",
    ],
    ids=range(12),
)
def test_hostile_yaml_is_refused_or_stored(body: bytes) -> None:
    check(
        sent("POST", CONFIG_MAPS, "application/yaml", body),
        sent("PATCH", f"{CONFIG_MAPS}/a", "application/apply-patch+yaml", body, fieldManager="f"),
    )
