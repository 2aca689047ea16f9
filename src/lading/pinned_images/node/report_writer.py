"""Writes the report of a node: the status of its MachineConfigNode, and the claims annotation.

Server-side apply refuses a field that the definition does not declare, so which of our additions
it has is asked before the first claim, and again after a write that failed.
"""

from typing import Any

from lading.api.machineconfiguration.machine_config_node import (
    MACHINE_CONFIG_NODE,
    MACHINE_CONFIG_NODES,
    MachineConfigNode,
    MachineConfigNodeStatus,
)
from lading.kernel.objects import Model, Object, Resource
from lading.kernel.values import replace
from lading.loop import pipeline
from lading.loop.read_your_writes import ReadYourWrites
from lading.pinned_images import claims
from lading.pinned_images.node import apply
from lading.ports import kube
from lading.ports.kube import Kube

FIELD_MANAGER = "lading-agent"
OUR_FIELDS = frozenset(
    {
        "uid",
        "imageCount",
        "presentImageCount",
        "missingBytes",
        "pullingImageCount",
        "pullAttempt",
        "nextPullTime",
    }
)
"""Of an entry; the definition of another owner need not have them."""


class ReportWriter:
    def __init__(
        self, node_name: str, api: Kube, reports: ReadYourWrites[MachineConfigNode]
    ) -> None:
        self._node_name = node_name
        self._kube = api
        self._reports = reports
        self._undeclared: frozenset[str] | None = None

    async def write(self, status: MachineConfigNodeStatus) -> None:
        """The annotation comes second: what it claims was true when the status was written."""
        entries = status.pinned_image_sets
        undeclared = await self._undeclared_fields() if entries else frozenset()
        listed = claims.listed(entries, with_uid="uid" not in undeclared)
        shown = replace(status, pinned_image_sets=listed)
        try:
            written = await self._apply({}, status=_without(undeclared, apply.status_body(shown)))
        except kube.KubeError:
            self._undeclared = None
            raise
        annotation = claims.annotation(entries, written.status)
        if annotation != written.metadata.annotations.get(claims.ANNOTATION, ""):
            annotated = {"annotations": {claims.ANNOTATION: annotation}} if annotation else {}
            await self._apply({"uid": written.metadata.uid, **annotated})

    async def _apply(self, metadata: dict[str, Any], **status: Any) -> MachineConfigNode:
        body = {
            "apiVersion": MACHINE_CONFIG_NODES.api_version,
            "kind": MACHINE_CONFIG_NODES.kind,
            "metadata": {"name": self._node_name, **metadata},
            **status,
        }
        with pipeline.precondition(f"MachineConfigNode {self._node_name}"):
            written = await self._kube.apply(
                MACHINE_CONFIG_NODES,
                body,
                field_manager=FIELD_MANAGER,
                force=True,
                subresource="status" if status else "",
            )
        self._reports.add(written)
        return written

    async def _undeclared_fields(self) -> frozenset[str]:
        if self._undeclared is None:
            found = await self._kube.get(_DEFINITIONS, MACHINE_CONFIG_NODE.name)
            self._undeclared = OUR_FIELDS - _declared_fields(found)
        return self._undeclared


class _Version(Model, frozen=True, kw_only=True):
    name: str
    schema: dict[str, Any] = {}


class _Spec(Model, frozen=True, kw_only=True):
    versions: tuple[_Version, ...] = ()


class _Definition(Object, frozen=True, kw_only=True):
    """A CustomResourceDefinition with its schema, which is too large to keep."""

    spec: _Spec = _Spec()


_DEFINITIONS = Resource(
    group="apiextensions.k8s.io",
    version="v1",
    kind="CustomResourceDefinition",
    plural="customresourcedefinitions",
    namespaced=False,
    type=_Definition,
)


def _without(undeclared: frozenset[str], body: dict[str, Any]) -> dict[str, Any]:
    entries = [
        {name: value for name, value in entry.items() if name not in undeclared}
        for entry in body["pinnedImageSets"]
    ]
    return {**body, "pinnedImageSets": entries}


def _declared_fields(definition: _Definition) -> frozenset[str]:
    for version in definition.spec.versions:
        if version.name == MACHINE_CONFIG_NODES.version:
            root = version.schema.get("openAPIV3Schema", {})
            status = root.get("properties", {}).get("status", {})
            entries = status.get("properties", {}).get("pinnedImageSets", {})
            return frozenset(entries.get("items", {}).get("properties", {}))
    return frozenset()
