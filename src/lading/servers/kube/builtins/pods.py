"""The defaults of a pod's spec, the same in a pod and in the template of a workload."""

from typing import Any

from lading.servers.kube.schema.nodes import Document

_SPEC: Document = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
}
_CONTAINER: Document = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_PROBE: Document = {
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_CONTAINERS = ("initContainers", "containers")
_FILE_MODE = 0o644
_WITH_FILE_MODE = ("configMap", "secret", "projected", "downwardAPI")


def filled(spec: Document) -> Document:
    """The spec with its defaults; what has the wrong shape is left for validation to refuse."""
    whole = {**_SPEC, "securityContext": {}, **spec}
    for key in _CONTAINERS:
        if isinstance(spec.get(key), list):
            whole[key] = [_container(each) for each in spec[key]]
    if isinstance(spec.get("volumes"), list):
        whole["volumes"] = [_volume(each) for each in spec["volumes"]]
    return whole


def with_requests(spec: Document) -> Document:
    """What a container of a pod may use is also what it asks for, unless it says otherwise."""
    return {
        key: [_requesting(each) for each in value]
        if key in _CONTAINERS and isinstance(value, list)
        else value
        for key, value in spec.items()
    }


def _requesting(container: Any) -> Any:
    match container:
        case {"resources": {"limits": dict() as limits, **others}} if limits:
            asked = others.get("requests") or {}
            if isinstance(asked, dict):
                resources = {**others, "limits": limits, "requests": {**limits, **asked}}
                return {**container, "resources": resources}
    return container


def _container(container: Any) -> Any:
    if not isinstance(container, dict):
        return container
    whole = {**_CONTAINER, "resources": {}, **container}
    whole.setdefault("imagePullPolicy", _pull_policy(str(container.get("image", ""))))
    for key in _PROBES:
        if isinstance(whole.get(key), dict):
            whole[key] = _probe(whole[key])
    if isinstance(whole.get("env"), list):
        whole["env"] = [_variable(each) for each in whole["env"]]
    return whole


def _pull_policy(image: str) -> str:
    """Always for what may move: the tag `latest`, or no tag and no digest."""
    if "@" in image:
        return "IfNotPresent"
    _, colon, tag = image.rpartition("/")[2].partition(":")
    return "IfNotPresent" if colon and tag != "latest" else "Always"


def _probe(probe: Document) -> Document:
    whole = {**_PROBE, **probe}
    if isinstance(whole.get("httpGet"), dict):
        whole["httpGet"] = {"path": "/", "scheme": "HTTP", **whole["httpGet"]}
    return whole


def _variable(variable: Any) -> Any:
    source = variable.get("valueFrom") if isinstance(variable, dict) else None
    if not isinstance(source, dict) or not isinstance(source.get("fieldRef"), dict):
        return variable
    reference = {"apiVersion": "v1", **source["fieldRef"]}
    return {**variable, "valueFrom": {**source, "fieldRef": reference}}


def _volume(volume: Any) -> Any:
    if not isinstance(volume, dict):
        return volume
    if volume.keys() <= {"name"}:
        return {**volume, "emptyDir": {}}
    whole = dict(volume)
    for kind in _WITH_FILE_MODE:
        if isinstance(whole.get(kind), dict):
            whole[kind] = {"defaultMode": _FILE_MODE, **whole[kind]}
    if isinstance(whole.get("hostPath"), dict):
        whole["hostPath"] = {"type": "", **whole["hostPath"]}
    return whole
