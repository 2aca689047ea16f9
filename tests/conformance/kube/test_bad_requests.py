"""What a user sees of a request that cannot be right; nothing is changed by any of them."""

import pytest

from tests.conformance.kube.api import CONFIG_MAPS, WIDGETS, Api, config_map, exists, widget

BODY_BYTES_MAX = 3 * 1024 * 1024


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'"text"',
        b'{"metadata": {"name": 7}}',
        b'{"data": {"a": 1}}',
        b'{"data": ["a"]}',
        b'{"apiVersion": "apps/v1"}',
    ],
)
async def test_a_body_that_cannot_be_read_is_refused(api: Api, namespace: str, body: bytes) -> None:
    answer = await api.call("POST", CONFIG_MAPS.path(namespace=namespace), body)
    assert answer.refusal[:2] == (400, "BadRequest")


async def test_a_custom_body_that_cannot_be_read_is_refused(api: Api, namespace: str) -> None:
    answer = await api.call("POST", WIDGETS.path(namespace=namespace), b'{"kind": "Widget", ')
    assert answer.refusal[:2] == (400, "BadRequest")


async def test_an_empty_body_is_explained(api: Api, namespace: str) -> None:
    answer = await api.call("POST", CONFIG_MAPS.path(namespace=namespace), b"")
    assert answer.refusal[0] in (400, 422)


async def test_a_custom_object_of_another_version_is_refused(api: Api, namespace: str) -> None:
    body = {**widget(), "apiVersion": "conformance.lading.example/v9"}
    answer = await api.call("POST", WIDGETS.path(namespace=namespace), body)
    code, reason, message = answer.refusal
    assert (code, reason) == (400, "BadRequest")
    assert message == (
        "the API version in the data (conformance.lading.example/v9) does not match the expected "
        "API version (conformance.lading.example/v1)"
    )


async def test_a_custom_object_of_another_kind_is_refused(api: Api, namespace: str) -> None:
    body = {**widget(), "kind": "Gizmo"}
    answer = await api.call("POST", WIDGETS.path(namespace=namespace), body)
    assert answer.refusal[0] in (400, 422)


async def test_an_object_that_is_too_big_is_refused(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    answer = await api.call("POST", path, config_map(a="x" * BODY_BYTES_MAX))
    code, reason, message = answer.refusal
    assert (code, reason) == (413, "RequestEntityTooLarge")
    assert message == f"Request entity too large: limit is {BODY_BYTES_MAX}"
    assert not await exists(api, CONFIG_MAPS, "one", namespace)


@pytest.mark.parametrize("depth", [11_000])
async def test_nesting_without_end_is_refused(api: Api, namespace: str, depth: int) -> None:
    free = b'{"a":' * depth + b"1" + b"}" * depth
    body = (
        b'{"apiVersion":"conformance.lading.example/v1","kind":"Widget",'
        b'"metadata":{"name":"one"},"spec":{"free":' + free + b"}}"
    )
    answer = await api.call("POST", WIDGETS.path(namespace=namespace), body)
    assert answer.refusal[0] == 400
    assert "exceeded max depth" in answer.refusal[2]
    assert not await exists(api, WIDGETS, "one", namespace)


async def test_a_patch_nested_without_end_is_refused(api: Api, namespace: str) -> None:
    created = await api.client.create(WIDGETS, widget(size=1), namespace=namespace)
    body = b'{"spec":' + b'{"a":' * 11_000 + b"1" + b"}" * 11_000 + b"}"
    path = WIDGETS.path(namespace=namespace, name="one")
    headers = {"content-type": "application/merge-patch+json"}
    assert (await api.call("PATCH", path, body, headers=headers)).refusal[0] == 400
    assert await api.client.get(WIDGETS, "one", namespace=namespace) == created


DOUBLED = b"\n".join(b"b%d: &b%d [*b%d, *b%d]" % (n + 1, n + 1, n, n) for n in range(60))
MERGED = b"\n".join(b"b%d: &b%d {<<: [*b%d, *b%d]}" % (n + 1, n + 1, n, n) for n in range(60))


@pytest.mark.parametrize(
    "aliases",
    [b"a: &a [*a, *a]", b"b0: &b0 [x]\n" + DOUBLED, b"b0: &b0 {x: y}\n" + MERGED],
    ids=["in itself", "doubled", "merged"],
)
@pytest.mark.parametrize(
    ("method", "content_type"),
    [("POST", "application/yaml"), ("PATCH", "application/apply-patch+yaml")],
)
async def test_yaml_that_unfolds_without_end_is_refused(
    api: Api, namespace: str, method: str, content_type: str, aliases: bytes
) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n" + aliases
    path = CONFIG_MAPS.path(namespace=namespace, name="one" if method == "PATCH" else "")
    headers = {"content-type": content_type}
    answer = await api.call(method, path, body, headers=headers, query={"fieldManager": "ann"})
    assert answer.refusal[:2] == (400, "BadRequest")
    assert not await exists(api, CONFIG_MAPS, "one", namespace)


async def test_yaml_may_repeat_a_part_of_itself(api: Api, namespace: str) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {a: &a text, b: *a}\n"
    path = CONFIG_MAPS.path(namespace=namespace)
    answer = await api.call("POST", path, body, headers={"content-type": "application/yaml"})
    assert answer.body["data"] == {"a": "text", "b": "text"}


@pytest.mark.parametrize(
    "path", ["/apis/absent.example/v1/things", "/api/v1/things", "/apis/apps/v9/daemonsets"]
)
async def test_a_kind_that_is_not_served_is_not_found(api: Api, path: str) -> None:
    answer = await api.call("GET", path)
    assert answer.status == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/api/v1/namespaces/default/configmaps"),
        ("POST", "/api/v1/namespaces/default/configmaps/one"),
        ("PATCH", "/api/v1/namespaces/default/configmaps"),
    ],
)
async def test_a_method_that_has_no_meaning_is_not_allowed(
    api: Api, method: str, path: str
) -> None:
    answer = await api.call(method, path, config_map())
    message = "the server does not allow this method on the requested resource"
    assert answer.refusal == (405, "MethodNotAllowed", message)


async def test_an_unknown_content_type_is_refused(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    answer = await api.call("POST", path, b"a=b", headers={"content-type": "text/csv"})
    code, reason, message = answer.refusal
    assert (code, reason) == (415, "UnsupportedMediaType")
    assert message.startswith("the body of the request was in an unknown format")


async def test_yaml_is_read_as_well(api: Api, namespace: str) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\ndata:\n  a: b\n"
    path = CONFIG_MAPS.path(namespace=namespace)
    answer = await api.call("POST", path, body, headers={"content-type": "application/yaml"})
    assert (answer.status, answer.body["data"]) == (201, {"a": "b"})
