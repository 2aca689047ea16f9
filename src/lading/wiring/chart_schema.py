"""The schema of the chart's values, made of the values themselves. Pure.

An object takes the keys that values.yaml has and no other, so that a typing error is an error. What
the type of a default does not say is in `_BY_PATH` and `_BY_KEY`.
"""

from collections.abc import Iterable
from typing import Any

from lading.kernel.feature_gates import Gate
from lading.wiring.chart_workloads import RUNTIMES

_EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - a value that a user may choose
_PORT = {"type": "integer", "minimum": 1, "maximum": 65535}
_NAME = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}
_NAMESPACE = {"type": "string", "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$", "maxLength": 63}
_SECRET = {"type": "string", "pattern": "^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$", "maxLength": 253}
_FOLDER = {"type": "string", "pattern": "^(/[A-Za-z0-9._-]+)+$"}
_LABELS = {"type": "object", "additionalProperties": {"type": "string"}}
_ARGUMENTS = {"type": "array", "items": {"type": "string", "minLength": 1}}
_OBJECTS = {"type": "array", "items": {"type": "object"}}
_PULL_SECRET = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {"name": _SECRET},
}
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
    "image.repository": {"type": "string", "pattern": r"^([^\s@]+/)?[^\s@:/]+$"},  # without tag
    "image.tag": {"type": "string", "pattern": "^([A-Za-z0-9_][A-Za-z0-9._-]{0,127})?$"},
    "image.digest": {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
    "image.pullPolicy": {"enum": ["", "Always", "IfNotPresent", "Never"]},
    "controller.replicas": {"type": "integer", "minimum": 0, "maximum": 5},
    "agent.namespace": _NAMESPACE,
    "agent.metricsPort": _PORT,
    "agent.kubeletPort": _PORT,
    "agent.metricsHost": {"enum": ["127.0.0.1", _EVERY_ADDRESS]},  # the probes ask 127.0.0.1
    "agent.maxUnavailable": {
        "type": ["integer", "string"],
        "minimum": 1,
        "pattern": "^(100|[1-9][0-9]?)%$",
    },
    "monitoring.interval": {"type": "string", "pattern": "^[1-9][0-9]*[smh]$"},
}
_BY_KEY: dict[str, dict[str, Any]] = {
    "resources": {"type": "object"},
    "nodeSelector": _LABELS,
    "labels": _LABELS,
    "annotations": _LABELS,
    "tolerations": _OBJECTS,
    "imagePullSecrets": {"type": "array", "items": _PULL_SECRET},
    "from": _OBJECTS,
    "pullSecrets": {"type": "array", "items": _SECRET, "uniqueItems": True},
    "extraArgs": _ARGUMENTS,
}
_MAY_BE_NULL = {"priorityClassName"}
"""Scalars with a default that a user may remove with null; empty ones may be removed too."""


def schema(values: dict[str, Any], gates: Iterable[Gate]) -> dict[str, Any]:
    known = {gate.name: {"type": "boolean", "default": gate.default} for gate in gates}
    made = _object(values, "")
    made["properties"]["featureGates"] = _closed(known)
    made["properties"]["global"] = {"type": "object"}  # Helm sets it in every chart
    return {"$schema": "https://json-schema.org/draft-07/schema#", **made}


def _object(values: dict[str, Any], path: str) -> dict[str, Any]:
    """Helm removes a key that is null; without its default a template would write `<nil>`."""
    made = _closed({key: _of(value, f"{path}{key}", key) for key, value in values.items()})
    needed = (key for key, value in values.items() if _is_needed(key, value, made["properties"]))
    return {**made, "required": list(needed)}


def _is_needed(key: str, value: object, properties: dict[str, Any]) -> bool:
    if isinstance(value, dict):
        return bool(value) and "properties" in properties[key]
    return value != "" and not isinstance(value, list) and key not in _MAY_BE_NULL


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
