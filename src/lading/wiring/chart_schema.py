"""The schema of the chart's values, made of the values themselves. Pure.

An object takes the keys that values.yaml has and no other, so that a typing error is an error. An
empty object or list takes what Kubernetes takes there, as `_OPEN` says.
"""

from collections.abc import Iterable
from typing import Any

from lading.kernel.feature_gates import Gate
from lading.wiring.chart_workloads import RUNTIMES

_PORT = {"type": "integer", "minimum": 1, "maximum": 65535}
_NAME = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}
_NAMESPACE = {"type": "string", "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"}
_FOLDER = {"type": "string", "pattern": "^/"}
_LABELS = {"type": "object", "additionalProperties": {"type": "string"}}
_NAMES = {"type": "array", "items": {"type": "string", "minLength": 1}}
_OBJECTS = {"type": "array", "items": {"type": "object"}}
_POOL = {
    "type": "object",
    "required": ["name", "runtime", "nodeSelector"],
    "additionalProperties": False,
    "properties": {
        "name": {**_NAME, "maxLength": 40},
        "runtime": {"enum": list(RUNTIMES)},
        "nodeSelector": {**_LABELS, "minProperties": 1},
    },
}
_BY_PATH: dict[str, dict[str, Any]] = {
    "runtime": {"enum": list(RUNTIMES)},
    "nodePools": {"type": "array", "items": _POOL},
    "image.repository": {"type": "string", "minLength": 1},
    "image.digest": {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
    "image.pullPolicy": {"enum": ["", "Always", "IfNotPresent", "Never"]},
    "controller.replicas": {"type": "integer", "minimum": 0, "maximum": 5},
    "agent.namespace": _NAMESPACE,
    "agent.metricsPort": _PORT,
    "agent.kubeletPort": _PORT,
    "agent.maxUnavailable": {"type": ["integer", "string"]},
}
_BY_KEY: dict[str, dict[str, Any]] = {
    "resources": {"type": "object"},
    "nodeSelector": _LABELS,
    "labels": _LABELS,
    "annotations": _LABELS,
    "tolerations": _OBJECTS,
    "imagePullSecrets": _OBJECTS,
    "from": _OBJECTS,
    "pullSecrets": _NAMES,
    "extraArgs": _NAMES,
}


def schema(values: dict[str, Any], gates: Iterable[Gate]) -> dict[str, Any]:
    known = {gate.name: {"type": "boolean", "default": gate.default} for gate in gates}
    made = _object(values, "")
    made["properties"]["featureGates"] = _closed(known)
    made["properties"]["global"] = {"type": "object"}  # Helm sets it in every chart
    return {"$schema": "https://json-schema.org/draft-07/schema#", **made}


def _object(values: dict[str, Any], path: str) -> dict[str, Any]:
    return _closed({key: _of(value, f"{path}{key}", key) for key, value in values.items()})


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _of(value: object, path: str, key: str) -> dict[str, Any]:
    special = _BY_PATH.get(path) or _BY_KEY.get(key)
    if special is not None:
        return special
    if path.startswith("folders.") and isinstance(value, str):
        return _FOLDER
    match value:
        case bool():
            return {"type": "boolean"}
        case dict():
            return _object(value, f"{path}.")
        case int():
            return {"type": "integer"}
        case str():
            return {"type": "string"}
    raise ValueError(f"values.yaml: {path} needs an entry in the schema, it is {value!r}")
