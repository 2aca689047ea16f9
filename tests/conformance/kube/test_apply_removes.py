"""Server-side apply that gives something up: the last field of a map, a map, a null."""

from typing import Any

import pytest

from lading.ports import kube
from tests.conformance.kube.api import CONFIG_MAPS, WIDGETS, Api, Document, in_namespace, managers
from tests.conformance.kube.applying import apply, apply_widget


async def test_a_map_goes_with_the_last_of_its_fields(api: Api, namespace: str) -> None:
    await apply(api, namespace, "ann", a="1")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
    left = await api.client.apply(CONFIG_MAPS, in_namespace(body, namespace), field_manager="ann")
    assert "data" not in left
    assert "managedFields" not in left["metadata"]


async def test_a_map_stays_while_another_manager_has_a_field_in_it(
    api: Api, namespace: str
) -> None:
    await apply_widget(api, namespace, "ann", settings={"a": "1"})
    await apply_widget(api, namespace, "bob", settings={"b": "1"})
    left = await apply_widget(api, namespace, "ann")
    assert left["spec"]["settings"] == {"b": "1"}
    assert "settings" not in (await apply_widget(api, namespace, "bob"))["spec"]


async def test_an_emptied_map_of_a_built_in_kind_is_gone_and_still_owned(
    api: Api, namespace: str
) -> None:
    await apply(api, namespace, "ann", a="1")
    left = await apply(api, namespace, "ann")
    assert "data" not in left
    assert managers(left) == {"ann": {"f:data": {}}}


async def test_a_map_is_emptied_by_one_who_shares_it_without_a_conflict(
    api: Api, namespace: str
) -> None:
    await apply(api, namespace, "ann", a="1")
    await apply(api, namespace, "bob")
    left = await apply(api, namespace, "ann")
    assert managers(left) == {"ann": {"f:data": {}}, "bob": {"f:data": {}}}


async def refused(api: Api, namespace: str, **spec: Any) -> None:
    before = await api.client.get(WIDGETS, "one", namespace=namespace)
    with pytest.raises(kube.Invalid, match='in body must be of type object: "null"') as caught:
        await apply_widget(api, namespace, "ann", **spec)
    assert caught.value.causes[0].field == f"spec.{next(iter(spec))}"
    assert await api.client.get(WIDGETS, "one", namespace=namespace) == before


async def test_a_map_of_a_custom_resource_is_given_up_whole_not_emptied(
    api: Api, namespace: str
) -> None:
    await apply_widget(api, namespace, "ann", settings={"a": "1"})
    await refused(api, namespace, settings={})
    assert "settings" not in (await apply_widget(api, namespace, "ann"))["spec"]


async def test_a_null_cannot_be_applied_to_a_custom_resource(api: Api, namespace: str) -> None:
    await apply_widget(api, namespace, "ann", size=2)
    await refused(api, namespace, settings=None)


async def test_a_null_applied_to_a_built_in_kind_is_an_empty_text(api: Api, namespace: str) -> None:
    body: Document = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "one", "namespace": namespace},
        "data": {"a": None},
    }
    applied = await api.client.apply(CONFIG_MAPS, body, field_manager="ann")
    assert applied["data"] == {"a": ""}
