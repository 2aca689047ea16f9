"""One request as the verbs see it: its user, its target in the API and its options."""

from collections.abc import Mapping

import msgspec

from lading.embedded.kube import status
from lading.embedded.kube.authentication import User
from lading.embedded.kube.resources import Registry, Resource
from lading.embedded.kube.schema import causes

FIELD_MANAGER_CHARACTERS_MAX = 128  # kube-apiserver's limit
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A collection, an object, or a subresource of an object."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class NoSuchPath(Exception):
    """Nothing is served at the path; the answer is plain text."""


def target(path: str, registry: Registry) -> Target:
    """Reads `/api/v1/...` and `/apis/GROUP/VERSION/...`."""
    group, version, rest = _group_version(path)
    if not registry.group_exists(group, version):
        raise NoSuchPath(path)
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    resource = registry.find(group, version, rest[0])
    if resource is None or len(rest) > 3 or not _scope_fits(resource, namespace, rest):
        raise status.no_such_resource()
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    if subresource and subresource not in resource.subresources:
        if resource.custom:
            raise status.not_found(group=resource.group, plural=resource.plural, name=name)
        raise status.no_such_resource()
    return Target(resource=resource, namespace=namespace, name=name, subresource=subresource)


def _group_version(path: str) -> tuple[str, str, list[str]]:
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        return "", parts[1], parts[2:]
    if parts[0] == "apis" and len(parts) > 3:
        return parts[1], parts[2], parts[3:]
    raise NoSuchPath(path)


def _scope_fits(resource: Resource, namespace: str, rest: list[str]) -> bool:
    """A name needs a namespace in the path if, and only if, the kind is namespaced."""
    if namespace:
        return resource.namespaced
    return not resource.namespaced or len(rest) == 1


class Call(msgspec.Struct, frozen=True, kw_only=True):
    target: Target
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    user: User
    warnings: list[str] = []
    """Sent to the client in Warning headers."""

    @property
    def resource(self) -> Resource:
        return self.target.resource

    def flag(self, name: str) -> bool:
        return self.query.get(name, "") not in ("", "0", "false", "False")

    def number(self, name: str) -> int:
        text = self.query.get(name, "")
        if not text:
            return 0
        try:
            return int(text)
        except ValueError:
            message = f'strconv.ParseInt: parsing "{text}": invalid syntax'
            raise status.bad_request(message) from None


class WriteOptions(msgspec.Struct, frozen=True, kw_only=True):
    dry_run: bool
    manager: str
    field_validation: str
    force: bool


def write_options(call: Call, kind: str) -> WriteOptions:
    """The options of a create, update or patch; error messages name them `kind`."""
    dry_run = is_dry_run(call, kind)
    validation = call.query.get("fieldValidation", "")
    if validation not in _VALIDATIONS:
        cause = causes.not_supported("fieldValidation", validation, _VALIDATIONS)
        raise status.invalid_options(kind, [cause])
    return WriteOptions(
        dry_run=dry_run,
        manager=_manager(call, kind),
        field_validation=validation or "Warn",
        force=call.flag("force"),
    )


def is_dry_run(call: Call, kind: str) -> bool:
    return check_dry_run([call.query["dryRun"]] if "dryRun" in call.query else [], kind)


def check_dry_run(asked: list[str], kind: str) -> bool:
    if any(each != "All" for each in asked):
        cause = causes.not_supported("dryRun", asked, ["All"])
        raise status.invalid_options(kind, [cause])
    return bool(asked)


def _manager(call: Call, kind: str) -> str:
    """The field manager of the query, or else the name in the User-Agent header."""
    named = call.query.get("fieldManager", "")
    if len(named) > FIELD_MANAGER_CHARACTERS_MAX:
        cause = causes.too_long("fieldManager", FIELD_MANAGER_CHARACTERS_MAX)
        raise status.invalid_options(kind, [cause])
    if named:
        return named
    agent = call.headers.get("user-agent", "").partition("/")[0]
    return agent[:FIELD_MANAGER_CHARACTERS_MAX] or "unknown"


def revision_of(text: str) -> int:
    """Reads a resourceVersion option; 0 and "" are the same to the caller."""
    if not text:
        return 0
    if not text.isascii() or not text.isdigit():
        raise status.bad_request(
            f'invalid resource version: resourceVersion: Invalid value: "{text}": '
            f'strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    return int(text)
