"""What a container must keep: a name and an image, ports, environment, resources, probes."""

import re
from collections.abc import Iterator

from lading.servers.kube.builtins import amounts, volume_checks
from lading.servers.kube.schema import causes, names
from lading.servers.kube.schema.causes import Cause
from lading.servers.kube.schema.nodes import Document

PORT_MAX = 65535
_NOT_A_PORT = f"must be between 1 and {PORT_MAX}, inclusive"
_VARIABLE = re.compile(r"[ -<>-~]+")
_NOT_A_VARIABLE = (
    "a valid environment variable name must consist only of printable ASCII characters other "
    "than '='"
)
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_WITH_KEY = ("configMapKeyRef", "secretKeyRef")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_COUNTS = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)


def problems(container: Document, field: str, volumes: set[str]) -> Iterator[Cause]:
    image = container.get("image") or ""
    if not image:
        yield causes.required(f"{field}.image")
    elif image != image.strip():
        detail = "must not have leading or trailing whitespace"
        yield causes.invalid(f"{field}.image", image, detail)
    yield from _ports(container.get("ports") or [], f"{field}.ports")
    yield from _environment(container, field)
    yield from amounts.resources(container.get("resources") or {}, f"{field}.resources")
    yield from volume_checks.mounts(container, field, volumes)
    yield from _handlers(container, field)


def _ports(ports: list[Document], field: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        place, name = f"{field}[{index}]", port.get("name") or ""
        if name in seen:
            yield causes.duplicate(f"{place}.name", name)
        seen |= {name} - {""}
        if not port.get("containerPort"):
            yield causes.required(f"{place}.containerPort")
        for key in ("containerPort", "hostPort"):
            number = port.get(key) or 0
            if number and not 0 < number <= PORT_MAX:
                yield causes.invalid(f"{place}.{key}", number, _NOT_A_PORT)


def _environment(container: Document, field: str) -> Iterator[Cause]:
    for index, variable in enumerate(container.get("env") or ()):
        yield from _variable(variable, f"{field}.env[{index}]")
    for index, source in enumerate(container.get("envFrom") or ()):
        given = [key for key in ("configMapRef", "secretRef") if source.get(key) is not None]
        if not given:
            detail = "must specify one of: `configMapRef` or `secretRef`"
            yield causes.invalid(f"{field}.envFrom", "", detail)
        for key in given:
            if not source[key].get("name"):
                yield causes.required(f"{field}.envFrom[{index}].{key}.name")


def _variable(variable: Document, field: str) -> Iterator[Cause]:
    name, source = variable.get("name") or "", variable.get("valueFrom")
    if not name:
        yield causes.required(f"{field}.name")
    elif not _VARIABLE.fullmatch(name):
        yield causes.invalid(f"{field}.name", name, _NOT_A_VARIABLE)
    if source is None:
        return
    given = [key for key in _SOURCES if source.get(key) is not None]
    place = f"{field}.valueFrom"
    if not given:
        listed = ", ".join(f"`{key}`" for key in _SOURCES[:-1])
        detail = f"must specify one of: {listed} or `{_SOURCES[-1]}`"
        yield causes.invalid(place, "", detail)
    elif variable.get("value"):
        yield causes.invalid(place, "", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        detail = "may not have more than one field specified at a time"
        yield causes.invalid(place, "", detail)
    for key in given:
        if key in _WITH_KEY:
            yield from _key(source[key], f"{place}.{key}")


def _key(source: Document, field: str) -> Iterator[Cause]:
    name = source.get("name") or ""
    for sentence in names.dns_1123_subdomain(name):
        yield causes.invalid(f"{field}.name", name, sentence)
    if not source.get("key"):
        yield causes.required(f"{field}.key")


def _handlers(container: Document, field: str) -> Iterator[Cause]:
    for key in _PROBES:
        probe = container.get(key)
        if probe is not None:
            yield from _handler(probe, f"{field}.{key}")
            yield from amounts.negative(probe, _PROBE_COUNTS, f"{field}.{key}")
            if key != "readinessProbe" and (probe.get("successThreshold") or 1) > 1:
                count = probe["successThreshold"]
                yield causes.invalid(f"{field}.{key}.successThreshold", count, "must be 1")
    for key in ("postStart", "preStop"):
        handler = (container.get("lifecycle") or {}).get(key)
        if handler is not None:
            yield from _handler(handler, f"{field}.lifecycle.{key}")


def _handler(handler: Document, field: str) -> Iterator[Cause]:
    given = [key for key in _HANDLERS if handler.get(key) is not None]
    if not given:
        yield causes.required(field, "must specify a handler type")
    for key in given[1:]:
        yield causes.forbidden(f"{field}.{key}", "may not specify more than 1 handler type")
    if "exec" in given and not handler["exec"].get("command"):
        yield causes.required(f"{field}.exec.command")
    for key in ("httpGet", "tcpSocket", "grpc"):
        port = (handler.get(key) or {}).get("port")
        if isinstance(port, int) and not 0 < port <= PORT_MAX:
            yield causes.invalid(f"{field}.{key}.port", port, _NOT_A_PORT)
