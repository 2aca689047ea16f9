"""The documents about the API itself: health, version, discovery, OpenAPI."""

import platform
from typing import Any

import msgspec

from lading.ports.http import Request, Response
from lading.servers.kube import answers, builtins, discovery, negotiation, openapi
from lading.servers.kube.resources import Registry

Document = dict[str, Any]

_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


class Pages:
    """Makes each document once, and again when the registry has changed."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._epoch = registry.epoch
        self._made: dict[tuple[str, bool], Response | None] = {}

    def page(self, request: Request) -> Response | None:
        """The answer when the path is one of these, else None."""
        if self._epoch != self._registry.epoch:
            self._made.clear()
            self._epoch = self._registry.epoch
        root, *rest = request.path.strip("/").split("/")
        match root, rest:
            case "livez" | "healthz" | "readyz", []:
                return Response(status=200, headers={"content-type": "text/plain"}, body=b"ok")
            case "version", []:
                version = msgspec.json.format(msgspec.json.encode(_version()), indent=2)
                return Response(status=200, headers={"content-type": answers.JSON}, body=version)
            case "openapi", _:
                wanted = _wants_protobuf(request.headers.get("accept", ""))
                return self._kept(request.path, wanted)
            case ("api", [] | [_]) | ("apis", [] | [_] | [_, _]):
                wanted = _wants_aggregated(request.headers.get("accept", ""))
                return self._kept(request.path, wanted)
            case _:
                return None

    def _kept(self, path: str, special: bool) -> Response | None:
        if (path, special) not in self._made:
            make = _openapi if path.startswith("/openapi") else _discovery
            made = make(path.strip("/").split("/"), self._registry, special)
            if made is None:
                return None
            self._made[path, special] = made
        return self._made[path, special]


def _discovery(parts: list[str], registry: Registry, aggregated: bool) -> Response | None:
    if len(parts) == 1 and aggregated:
        found = discovery.aggregated(registry, core=parts[0] == "api")
        form = f"g={discovery.AGGREGATED_GROUP};v=v2;as={discovery.AGGREGATED_KIND}"
        return _json(found, content_type=f"{answers.JSON};{form}")
    match parts:
        case ["api"]:
            return _json(discovery.core_versions())
        case ["apis"]:
            return _json(discovery.groups(registry))
        case ["api", version] if registry.group_exists("", version):
            return _json(discovery.resources(registry, "", version))
        case ["apis", group] if registry.group_exists(group):
            return _json(discovery.group(registry, group))
        case ["apis", group, version] if registry.group_exists(group, version):
            return _json(discovery.resources(registry, group, version))
        case _:
            return None


def _wants_aggregated(accept: str) -> bool:
    return negotiation.wants(
        accept, group=discovery.AGGREGATED_GROUP, version="v2", kind=discovery.AGGREGATED_KIND
    )


def _openapi(parts: list[str], registry: Registry, protobuf: bool) -> Response | None:
    match parts[1:]:
        case ["v2"] if protobuf:
            headers = {"content-type": _PROTOBUF.replace("@", ".")}
            return Response(status=200, headers=headers, body=openapi.version_2_protobuf())
        case ["v2"]:
            return _json(openapi.version_2(registry))
        case ["v3"]:
            return _json(openapi.index(registry))
        case ["v3", "api", version] if registry.group_exists("", version):
            return _json(openapi.document(registry, "", version))
        case ["v3", "apis", group, version] if registry.group_exists(group, version):
            return _json(openapi.document(registry, group, version))
        case _:
            return None


def _wants_protobuf(accept: str) -> bool:
    return accept.startswith(_PROTOBUF)


def _version() -> Document:
    full = builtins.kubernetes_version()
    major, minor, *_ = full.removeprefix("v").split(".")
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"v{full.removeprefix('v')}",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }


def _json(document: Document, *, content_type: str = answers.JSON) -> Response:
    headers = {"content-type": content_type, "vary": "Accept"}
    return Response(status=200, headers=headers, body=msgspec.json.encode(document))
