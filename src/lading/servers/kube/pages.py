"""The documents about the API itself: health, version, discovery, OpenAPI."""

import platform
from typing import Any

import msgspec

from lading.ports.http import Request, Response
from lading.servers.kube import answers, builtins, discovery, negotiation, openapi
from lading.servers.kube.resources import Registry

Document = dict[str, Any]

_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


def page(request: Request, registry: Registry) -> Response | None:
    """The answer when the path is one of these, else None."""
    parts = request.path.strip("/").split("/")
    match parts:
        case ["livez" | "healthz" | "readyz"]:
            return Response(status=200, headers={"content-type": "text/plain"}, body=b"ok")
        case ["version"]:
            return _json(_version())
        case ["openapi", *rest]:
            return _openapi(request, rest, registry)
        case ["api"] | ["api", _] | ["apis"] | ["apis", _] | ["apis", _, _]:
            return _discovery(request, parts, registry)
        case _:
            return None


def _discovery(request: Request, parts: list[str], registry: Registry) -> Response | None:
    accept = request.headers.get("accept", "")
    if len(parts) == 1 and _wants_aggregated(accept):
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


def _openapi(request: Request, rest: list[str], registry: Registry) -> Response | None:
    match rest:
        case ["v2"]:
            if _wants_protobuf(request.headers.get("accept", "")):
                headers = {"content-type": _PROTOBUF.replace("@", ".")}
                return Response(status=200, headers=headers, body=openapi.version_2_protobuf())
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
