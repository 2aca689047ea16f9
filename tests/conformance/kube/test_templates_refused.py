"""Pods that could not run, refused where they are written: in the template of a workload."""

import pytest

from lading.ports import kube
from tests.conformance.kube.api import Api, Document
from tests.conformance.kube.pod_templates import filled


def container(**more: object) -> list[Document]:
    return [{"name": "c", "image": "i", **more}]


def variable(**source: object) -> list[Document]:
    return container(env=[{"name": "A", **source}])


def probed(**probe: object) -> list[Document]:
    return container(livenessProbe=probe)


def mounting(*mounts: Document, **more: object) -> Document:
    mounted = container(volumeMounts=[{"name": "v", **mount} for mount in mounts], **more)
    return {"volumes": [{"name": "v"}], "containers": mounted}


CONTAINERS = {
    "env[0].name: Required value": container(env=[{"value": "x"}]),
    "must consist only of printable ASCII characters other than '='": container(
        env=[{"name": "a=b"}]
    ),
    "may not be specified when `value` is not empty": variable(
        value="x", valueFrom={"fieldRef": {"fieldPath": "metadata.name"}}
    ),
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`": variable(
        valueFrom={}
    ),
    "secretKeyRef.key: Required value": variable(valueFrom={"secretKeyRef": {"name": "s"}}),
    "envFrom[0].configMapRef.name: Required value": container(envFrom=[{"configMapRef": {}}]),
    "must specify one of: `configMapRef` or `secretRef`": container(envFrom=[{}]),
    'requests: Invalid value: "2": must be less than or equal to cpu limit of 1': container(
        resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}
    ),
    'requests[cpu]: Invalid value: "-2": must be greater than or equal to 0': container(
        resources={"requests": {"cpu": "-2"}}
    ),
    "must be a standard resource type or fully qualified": container(
        resources={"limits": {"disk": "1"}}
    ),
    "Limit must be set for non overcommitable resources": container(
        resources={"requests": {"example.com/gpu": "1"}}
    ),
    "livenessProbe: Required value: must specify a handler type": probed(),
    "tcpSocket: Forbidden: may not specify more than 1 handler type": probed(
        exec={"command": ["x"]}, tcpSocket={"port": 1}
    ),
    "exec.command: Required value": probed(exec={}),
    "port: Invalid value: 0: must be between 1 and 65535, inclusive": probed(tcpSocket={"port": 0}),
    "periodSeconds: Invalid value: -1": probed(tcpSocket={"port": 1}, periodSeconds=-1),
    "successThreshold: Invalid value: 2: must be 1": probed(
        tcpSocket={"port": 1}, successThreshold=2
    ),
    "lifecycle.preStop: Required value: must specify a handler type": container(
        lifecycle={"preStop": {}}
    ),
    'ports[1].name: Duplicate value: "a"': container(
        ports=[{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]
    ),
    "hostPort: Invalid value: 99999: must be between 1 and 65535": container(
        ports=[{"containerPort": 1, "hostPort": 99999}]
    ),
}


@pytest.mark.parametrize("problem", CONTAINERS)
async def test_a_container_that_could_not_run_is_refused(
    api: Api, namespace: str, problem: str
) -> None:
    with pytest.raises(kube.Invalid) as caught:
        await filled(api, namespace, containers=CONTAINERS[problem])
    assert problem in caught.value.message


PODS: dict[str, Document] = {
    "must match `containerPort` when `hostNetwork` is true": {
        "hostNetwork": True,
        "containers": container(ports=[{"containerPort": 1, "hostPort": 2}]),
    },
    'volumes[1].name: Duplicate value: "v"': {"volumes": [{"name": "v"}, {"name": "v"}]},
    "hostPath.path: Required value": {"volumes": [{"name": "v", "hostPath": {}}]},
    "must not contain '..'": {"volumes": [{"name": "v", "hostPath": {"path": "/a/../b"}}]},
    "secret.secretName: Required value": {"volumes": [{"name": "v", "secret": {}}]},
    "configMap.name: Required value": {"volumes": [{"name": "v", "configMap": {}}]},
    'mountPath: Invalid value: "/x": must be unique': mounting(
        {"mountPath": "/x"}, {"mountPath": "/x"}
    ),
    "Bidirectional mount propagation is available only to privileged containers": mounting(
        {"mountPath": "/x", "mountPropagation": "Bidirectional"}
    ),
    'nodeSelector: Invalid value: "a b"': {"nodeSelector": {"a b": "c"}},
    "value must be empty when `operator` is 'Exists'": {
        "tolerations": [{"key": "a", "operator": "Exists", "value": "x"}]
    },
    "operator must be Exists when `key` is empty": {"tolerations": [{"value": "a"}]},
    "effect must be 'NoExecute' when `tolerationSeconds` is set": {
        "tolerations": [{"key": "a", "tolerationSeconds": 3}]
    },
    'tolerations[0].key: Invalid value: "a b"': {"tolerations": [{"key": "a b"}]},
    'serviceAccountName: Invalid value: "Not_Good"': {"serviceAccountName": "Not_Good"},
    "must provide `dnsConfig` when `dnsPolicy` is None": {"dnsPolicy": "None"},
    "activeDeadlineSeconds in DaemonSet is not Supported": {"activeDeadlineSeconds": 5},
}


@pytest.mark.parametrize("problem", PODS)
async def test_a_pod_that_could_not_run_is_refused(api: Api, namespace: str, problem: str) -> None:
    with pytest.raises(kube.Invalid) as caught:
        await filled(api, namespace, **PODS[problem])
    assert problem in caught.value.message


async def test_a_privileged_container_may_pass_its_mounts_on(api: Api, namespace: str) -> None:
    spec = mounting(
        {"mountPath": "/x", "mountPropagation": "Bidirectional"},
        securityContext={"privileged": True},
    )
    assert (await filled(api, namespace, **spec))["containers"][0]["volumeMounts"]


async def test_an_image_that_is_a_volume_is_pulled_as_any_other(api: Api, namespace: str) -> None:
    images = ("app:1", "app")
    volumes = [{"name": f"v{n}", "image": {"reference": each}} for n, each in enumerate(images)]
    found = await filled(api, namespace, volumes=volumes)
    assert [each["image"]["pullPolicy"] for each in found["volumes"]] == ["IfNotPresent", "Always"]
