"""Unknown fields: refused, warned about, or dropped, as the request asks."""

import pytest

from lading.ports import kube
from tests.conformance.kube.api import (
    CONFIG_MAPS,
    WIDGETS,
    Api,
    config_map,
    exists,
    in_namespace,
    widget,
)

UNKNOWN = {**config_map(a="1"), "extra": 1}


async def test_strict_refuses_and_names_the_field(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    answer = await api.call("POST", path, UNKNOWN, query={"fieldValidation": "Strict"})
    message = (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: '
        'strict decoding error: unknown field "extra"'
    )
    assert answer.refusal == (400, "BadRequest", message)
    assert not await exists(api, CONFIG_MAPS, "one", namespace)


@pytest.mark.parametrize("query", [{}, {"fieldValidation": "Warn"}])
async def test_warn_is_what_happens_by_itself(
    api: Api, namespace: str, query: dict[str, str]
) -> None:
    answer = await api.call("POST", CONFIG_MAPS.path(namespace=namespace), UNKNOWN, query=query)
    assert answer.status == 201
    assert answer.warning == '299 - "unknown field \\"extra\\""'
    assert "extra" not in answer.body


async def test_ignore_says_nothing(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    answer = await api.call("POST", path, UNKNOWN, query={"fieldValidation": "Ignore"})
    assert (answer.status, answer.warning) == (201, "")
    assert "extra" not in answer.body


async def test_custom_objects_are_checked_at_every_depth(api: Api, namespace: str) -> None:
    body = widget(parts=[{"name": "x", "colour": "red"}], shape="round")
    path = WIDGETS.path(namespace=namespace)
    answer = await api.call("POST", path, body, query={"fieldValidation": "Strict"})
    message = (
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: '
        'unknown field "spec.parts[0].colour", unknown field "spec.shape"'
    )
    assert answer.refusal == (400, "BadRequest", message)
    warned = await api.call("POST", path, body)
    assert warned.status == 201
    assert 'unknown field \\"spec.parts[0].colour\\"' in warned.warning
    assert 'unknown field \\"spec.shape\\"' in warned.warning


async def test_a_strict_patch_is_refused(api: Api, namespace: str) -> None:
    before = await api.client.create(WIDGETS, widget(), namespace=namespace)
    patch = {"spec": {"shape": "round"}}
    with pytest.raises(kube.Invalid, match=r'unknown field "spec\.shape"') as caught:
        await api.client.patch(
            WIDGETS, "one", patch, namespace=namespace, field_validation="Strict"
        )
    assert caught.value.code == 422
    assert await api.client.get(WIDGETS, "one", namespace=namespace) == before


async def test_an_apply_of_an_unknown_field_is_refused_when_strict(
    api: Api, namespace: str
) -> None:
    body = {**in_namespace(config_map(), namespace), "extra": 1}
    with pytest.raises(kube.KubeError, match=r"\.extra: field not declared in schema"):
        await api.client.apply(CONFIG_MAPS, body, field_manager="ann", field_validation="Strict")
    assert not await exists(api, CONFIG_MAPS, "one", namespace)


async def test_an_unknown_kind_of_validation_is_refused(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    answer = await api.call("POST", path, UNKNOWN, query={"fieldValidation": "Often"})
    code, reason, message = answer.refusal
    assert (code, reason) == (422, "Invalid")
    assert 'fieldValidation: Unsupported value: "Often"' in message
