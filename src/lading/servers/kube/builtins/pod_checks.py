"""What the spec of a pod must keep, in a pod and in the template of a workload."""

from collections.abc import Iterable, Iterator

from lading.servers.kube.builtins import container_checks, metadata, volume_checks
from lading.servers.kube.schema import causes, names
from lading.servers.kube.schema.causes import Cause
from lading.servers.kube.schema.nodes import Document

DEADLINE_SECONDS_MAX = 2**31 - 1


def template(given: Document, field: str) -> Iterator[Cause]:
    """The pods of a workload: how they are marked, and what they are."""
    described = given.get("metadata") or {}
    yield from metadata.labels(described.get("labels"), f"{field}.labels")
    yield from metadata.annotations(described.get("annotations"), f"{field}.annotations")
    yield from problems(given.get("spec") or {}, f"{field}.spec")


def problems(spec: Document, field: str) -> Iterator[Cause]:
    volumes = spec.get("volumes") or []
    yield from volume_checks.problems(volumes, f"{field}.volumes")
    if not spec.get("containers"):
        yield causes.required(f"{field}.containers")
    yield from _containers(spec, field, {volume.get("name") or "" for volume in volumes})
    yield from metadata.labels(spec.get("nodeSelector"), f"{field}.nodeSelector")
    for index, each in enumerate(spec.get("tolerations") or ()):
        yield from toleration(each, f"{field}.tolerations[{index}]")
    yield from _gates(spec.get("schedulingGates") or (), f"{field}.schedulingGates")
    account = spec.get("serviceAccountName")
    for sentence in names.dns_1123_subdomain(account) if account else ():
        yield causes.invalid(f"{field}.serviceAccountName", account, sentence)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 0 < deadline <= DEADLINE_SECONDS_MAX:
        detail = f"must be between 1 and {DEADLINE_SECONDS_MAX}, inclusive"
        yield causes.invalid(f"{field}.activeDeadlineSeconds", deadline, detail)
    if spec.get("dnsPolicy") == "None" and not spec.get("dnsConfig"):
        detail = "must provide `dnsConfig` when `dnsPolicy` is None"
        yield causes.required(f"{field}.dnsConfig", detail)


def _containers(spec: Document, field: str, volumes: set[str]) -> Iterator[Cause]:
    seen: set[str] = set()
    for key in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(key) or ()):
            place, name = f"{field}.{key}[{index}]", container.get("name") or ""
            if name in seen:
                yield causes.duplicate(f"{place}.name", name)
            else:
                yield from metadata.part_name(name, f"{place}.name")
            seen |= {name} - {""}
            yield from container_checks.problems(container, place, volumes)
            yield from _ports_of_host(spec, container, place)


def _gates(given: Iterable[Document], field: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, gate in enumerate(given):
        name = gate.get("name") or ""
        for sentence in names.qualified_name(name):
            yield causes.invalid(f"{field}[{index}]", name, sentence)
        if name in seen:
            yield causes.duplicate(f"{field}[{index}]", name)
        seen.add(name)


def _ports_of_host(spec: Document, container: Document, field: str) -> Iterator[Cause]:
    """In the network of its node a container has no other ports than that node."""
    for index, port in enumerate(container.get("ports") or ()):
        wanted, own = port.get("hostPort"), port.get("containerPort")
        if spec.get("hostNetwork") and wanted and wanted != own:
            detail = "must match `containerPort` when `hostNetwork` is true"
            yield causes.invalid(f"{field}.ports[{index}].hostPort", wanted, detail)


def toleration(given: Document, field: str) -> Iterator[Cause]:
    key, operator, value = (given.get(each) or "" for each in ("key", "operator", "value"))
    effect = given.get("effect") or ""
    for sentence in names.qualified_name(key) if key else ():
        yield causes.invalid(f"{field}.key", key, sentence)
    if not key and operator != "Exists":
        detail = (
            "operator must be Exists when `key` is empty, which means "
            '"match all values and all keys"'
        )
        yield causes.invalid(f"{field}.operator", operator, detail)
    if given.get("tolerationSeconds") is not None and effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield causes.invalid(f"{field}.effect", effect, detail)
    if operator == "Exists" and value:
        detail = "value must be empty when `operator` is 'Exists'"
        yield causes.invalid(f"{field}.operator", value, detail)
