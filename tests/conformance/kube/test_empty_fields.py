"""Lists and maps that were sent empty: a built-in kind does not keep them, a custom one does."""

from tests.conformance.kube.api import CONFIG_MAPS, WIDGETS, Api, Document, config_map, widget
from tests.conformance.kube.pod_templates import filled

EMPTY_METADATA: Document = {"labels": {}, "annotations": {}, "finalizers": []}


async def test_what_is_empty_in_a_built_in_kind_is_not_there(api: Api, namespace: str) -> None:
    body = {**config_map(), "data": {}, "binaryData": {}}
    body["metadata"] |= EMPTY_METADATA
    created = await api.client.create(CONFIG_MAPS, body, namespace=namespace)
    assert not created.keys() & {"data", "binaryData"}
    assert not created["metadata"].keys() & {*EMPTY_METADATA, "managedFields"}


async def test_what_is_emptied_in_a_built_in_kind_is_gone(api: Api, namespace: str) -> None:
    await api.client.create(CONFIG_MAPS, config_map(a="1"), namespace=namespace)
    patch = {"data": {"a": None}, "metadata": {"labels": {}}}
    patched = await api.client.patch(CONFIG_MAPS, "one", patch, namespace=namespace)
    assert "data" not in patched
    assert "labels" not in patched["metadata"]


async def test_a_template_keeps_empty_structs_and_not_empty_lists(api: Api, namespace: str) -> None:
    empty: Document = {"nodeSelector": {}, "tolerations": [], "imagePullSecrets": []}
    volumes = [{"name": "v", "emptyDir": {}}]
    found = await filled(api, namespace, affinity={}, volumes=volumes, **empty)
    assert not found.keys() & empty.keys()
    assert (found["affinity"], found["volumes"]) == ({}, volumes)


async def test_what_is_empty_in_a_custom_resource_stays_but_for_its_metadata(
    api: Api, namespace: str
) -> None:
    body = widget(settings={}, tags=[], free={"a": {}})
    body["metadata"] |= EMPTY_METADATA
    created = await api.client.create(WIDGETS, body, namespace=namespace)
    assert created["spec"] == {"size": 1, "settings": {}, "tags": [], "free": {"a": {}}}
    assert not created["metadata"].keys() & EMPTY_METADATA.keys()
