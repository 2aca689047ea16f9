"""What people write into the pods of their manifests: sources of values, handlers, volumes."""

import contextlib
from collections.abc import AsyncIterator

import pytest

from lading.ports import kube
from tests.conformance.kube.api import CONFIG_MAPS, PODS, Api, Document, config_map
from tests.conformance.kube.kinds import RUNTIME_CLASSES
from tests.conformance.kube.pod_templates import filled

FROM_FIELD = {"fieldRef": {"fieldPath": "metadata.name"}}
FROM_LIMIT = {"resourceFieldRef": {"resource": "limits.cpu", "containerName": "c"}}
FIELD_FILLED = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}
LIMIT_FILLED = {"resourceFieldRef": {**FROM_LIMIT["resourceFieldRef"], "divisor": "0"}}


async def test_values_of_the_environment_are_completed(api: Api, namespace: str) -> None:
    env = [{"name": "A", "valueFrom": FROM_FIELD}, {"name": "B", "valueFrom": FROM_LIMIT}]
    container = {"name": "c", "image": "i", "env": env}
    found = await filled(api, namespace, containers=[container])
    sources = [each["valueFrom"] for each in found["containers"][0]["env"]]
    assert sources == [FIELD_FILLED, LIMIT_FILLED]


async def test_an_account_is_known_by_its_old_name_too(api: Api, namespace: str) -> None:
    found = await filled(api, namespace, serviceAccountName="robot")
    assert found["serviceAccount"] == "robot"


async def test_a_null_in_a_map_or_a_list_is_an_empty_value(api: Api, namespace: str) -> None:
    body = {**config_map(), "data": {"a": None}}
    body["metadata"] = {"name": "one", "labels": {"app": None}, "annotations": None}
    created = await api.client.create(CONFIG_MAPS, body, namespace=namespace)
    assert created["data"] == {"a": ""}
    assert created["metadata"]["labels"] == {"app": ""}
    assert "annotations" not in created["metadata"]
    container = {"name": "c", "image": "i", "args": [None, "b"]}
    found = await filled(api, namespace, containers=[container])
    assert found["containers"][0]["args"] == ["", "b"]


async def test_an_image_that_is_a_volume_is_pulled_as_any_other(api: Api, namespace: str) -> None:
    images = ("app:1", "app")
    volumes = [{"name": f"v{n}", "image": {"reference": each}} for n, each in enumerate(images)]
    found = await filled(api, namespace, volumes=volumes)
    assert [each["image"]["pullPolicy"] for each in found["volumes"]] == ["IfNotPresent", "Always"]


async def running(api: Api, namespace: str) -> Document:
    spec = {"containers": [{"name": "c", "image": "i"}], "tolerations": [{"key": "mine"}]}
    body = {"metadata": {"name": "p"}, "spec": spec}
    return await api.client.create(PODS, body, namespace=namespace)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"terminationGracePeriodSeconds": 1}, "pod updates may not change fields other than"),
        ({"tolerations": []}, "existing toleration can not be modified"),
    ],
)
async def test_a_pod_that_runs_stays_as_it_is(
    api: Api, namespace: str, change: Document, message: str
) -> None:
    await running(api, namespace)
    with pytest.raises(kube.Invalid, match=message):
        await api.client.patch(PODS, "p", {"spec": change}, namespace=namespace)


async def test_what_every_pod_tolerates_comes_back(api: Api, namespace: str) -> None:
    created = await running(api, namespace)
    change = {"spec": {"tolerations": created["spec"]["tolerations"][:1]}}
    patched = await api.client.patch(PODS, "p", change, namespace=namespace)
    assert patched["spec"]["tolerations"] == created["spec"]["tolerations"]


@contextlib.asynccontextmanager
async def kata(api: Api, name: str) -> AsyncIterator[None]:
    scheduling = {"nodeSelector": {"kata": "yes"}, "tolerations": [{"key": "kata"}]}
    overhead = {"podFixed": {"memory": "120Mi"}}
    body = {"metadata": {"name": name}, "handler": "kata"}
    await api.client.create(
        RUNTIME_CLASSES, {**body, "overhead": overhead, "scheduling": scheduling}
    )
    try:
        yield
    finally:
        await api.client.delete(RUNTIME_CLASSES, name)


def of_class(name: str, **spec: object) -> Document:
    containers = [{"name": "c", "image": "i"}]
    return {
        "metadata": {"name": "p"},
        "spec": {"containers": containers, "runtimeClassName": name, **spec},
    }


async def test_a_pod_runs_where_and_as_its_runtime_class_says(
    api: Api, namespace: str, unique: str
) -> None:
    async with kata(api, unique):
        body = of_class(unique, nodeSelector={"zone": "a"})
        spec = (await api.client.create(PODS, body, namespace=namespace))["spec"]
    assert spec["overhead"] == {"memory": "120Mi"}
    assert spec["nodeSelector"] == {"zone": "a", "kata": "yes"}
    assert spec["tolerations"][-1] == {"key": "kata"}


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"overhead": {"memory": "1Mi"}}, "pod rejected: Pod's Overhead doesn't match"),
        ({"nodeSelector": {"kata": "no"}}, "conflict: runtimeClass.scheduling.nodeSelector"),
    ],
)
async def test_a_pod_that_contradicts_its_runtime_class_is_rejected(
    api: Api, namespace: str, unique: str, spec: Document, why: str
) -> None:
    async with kata(api, unique):
        with pytest.raises(kube.Forbidden) as caught:
            await api.client.create(PODS, of_class(unique, **spec), namespace=namespace)
    assert why in caught.value.message
