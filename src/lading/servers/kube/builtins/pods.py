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
_HTTP_GET: Document = {"path": "/", "scheme": "HTTP"}
_FIELD: Document = {"apiVersion": "v1"}
_RESOURCE: Document = {"divisor": "0"}
_TOKEN: Document = {"expirationSeconds": 3600}


def filled(spec: Document) -> Document:
    """The spec with its defaults; what has the wrong shape is left for validation to refuse."""
    whole = {**_SPEC, "securityContext": {}, **spec}
    for key in _CONTAINERS:
        if isinstance(spec.get(key), list):
            whole[key] = [_container(each) for each in spec[key]]
    if isinstance(spec.get("volumes"), list):
        whole["volumes"] = [_volume(each) for each in spec["volumes"]]
    if spec.get("serviceAccountName"):
        whole["serviceAccount"] = spec["serviceAccountName"]
    return whole


def completed(spec: Document) -> Document:
    """What a pod gets beside the defaults of a template: requests, and ports on its node."""
    on_host = spec.get("hostNetwork") is True
    return {
        key: [_completed(each, on_host=on_host) for each in value]
        if key in _CONTAINERS and isinstance(value, list)
        else value
        for key, value in spec.items()
    }


def _completed(container: Any, *, on_host: bool) -> Any:
    match container:
        case {"ports": list() as ports} if on_host:
            container = {**container, "ports": [_port_of_host(each) for each in ports]}
    return _requesting(container)


def _port_of_host(port: Any) -> Any:
    """In the network of its node a container's ports are those of the node."""
    match port:
        case {"containerPort": int() as number} if not port.get("hostPort"):
            return {**port, "hostPort": number}
    return port


def _requesting(container: Any) -> Any:
    """What a container may use is also what it asks for, unless it says otherwise."""
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
    if isinstance(whole.get("lifecycle"), dict):
        whole["lifecycle"] = {key: _handler(each) for key, each in whole["lifecycle"].items()}
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
    return {**_PROBE, **_with(_handler(probe), "grpc", {"service": ""})}


def _handler(handler: Any) -> Any:
    return _with(handler, "httpGet", _HTTP_GET)


def _variable(variable: Any) -> Any:
    if not isinstance(variable, dict) or "valueFrom" not in variable:
        return variable
    return {**variable, "valueFrom": _referring(variable["valueFrom"])}


def _referring(source: Any) -> Any:
    """What names a field of the pod, or a resource of a container."""
    return _with(_with(source, "fieldRef", _FIELD), "resourceFieldRef", _RESOURCE)


def _with(given: Any, key: str, defaults: Document) -> Any:
    """The object with the defaults of one of its fields, where it has that field."""
    if not isinstance(given, dict) or not isinstance(given.get(key), dict):
        return given
    return {**given, key: {**defaults, **given[key]}}


def _volume(volume: Any) -> Any:
    if not isinstance(volume, dict):
        return volume
    if volume.keys() <= {"name"}:
        return {**volume, "emptyDir": {}}
    whole = _with(volume, "hostPath", {"type": ""})
    if isinstance(whole.get("image"), dict):
        policy = _pull_policy(str(whole["image"].get("reference", "")))
        whole = _with(whole, "image", {"pullPolicy": policy})
    for kind in _WITH_FILE_MODE:
        whole = _with(whole, kind, {"defaultMode": _FILE_MODE})
    whole = _with_items(whole, "downwardAPI")
    if isinstance(whole.get("projected"), dict):
        whole["projected"] = _projected(whole["projected"])
    return whole


def _projected(projected: Document) -> Document:
    if not isinstance(projected.get("sources"), list):
        return projected
    sources = [_with(each, "serviceAccountToken", _TOKEN) for each in projected["sources"]]
    return {**projected, "sources": [_with_items(each, "downwardAPI") for each in sources]}


def _with_items(source: Any, key: str) -> Any:
    """Files that are made of what the pod says of itself."""
    files = source.get(key) if isinstance(source, dict) else None
    if not isinstance(files, dict) or not isinstance(files.get("items"), list):
        return source
    return {**source, key: {**files, "items": [_referring(each) for each in files["items"]]}}
