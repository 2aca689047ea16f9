"""Carries out the plan of a node. Pulls are started and not waited for.

Server-side apply refuses a field that the CRD does not declare, and the CRD may belong to another
owner. So the CRD is read before the first status, and again after a status that failed.
"""

from typing import Any, Protocol, assert_never

import msgspec

from lading.api.machineconfiguration.machine_config_node import (
    MACHINE_CONFIG_NODE,
    MACHINE_CONFIG_NODES,
    MachineConfigNode,
    MachineConfigNodeStatus,
)
from lading.kernel.objects import Model, Object, Resource
from lading.kernel.values import replace
from lading.loop import pipeline
from lading.loop.reconciler import ReadYourWrites
from lading.pinned_images import claims
from lading.pinned_images.node.observe import NodeTools
from lading.pinned_images.node.status import DEGRADED, PROGRESSING
from lading.pinned_images.node.types import (
    CancelPull,
    ForgetImages,
    ResolveImages,
    StartPull,
    WriteHistory,
    WritePins,
    WriteStatus,
)
from lading.ports import cri, kube
from lading.ports.clock import Clock
from lading.ports.cri import Pin
from lading.ports.kube import Kube

NodeAction = StartPull | CancelPull | ResolveImages | ForgetImages | WritePins | WriteStatus
FIELD_MANAGER = "lading-agent"
OUR_CONDITIONS = (PROGRESSING, DEGRADED)
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
"""Of an entry of `pinnedImageSets`. The CRD of another owner may not declare them."""


class WritesStatus(Protocol):
    async def write(self, status: MachineConfigNodeStatus) -> None: ...


class NodeActions:
    def __init__(
        self,
        tools: NodeTools,
        clock: Clock,
        *,
        status: WritesStatus | None = None,
    ) -> None:
        """`status` is None without a cluster: then no status is planned."""
        self._tools = tools
        self._clock = clock
        self._status = status
        self.history = WriteHistory()

    async def apply(self, action: NodeAction) -> None:
        match action:
            case StartPull(key=key, spec=spec, new_bytes=new_bytes, free_bytes=free_bytes):
                self._tools.pulls.start(key, spec, new_bytes=new_bytes, free_bytes=free_bytes)
            case CancelPull(key=key, is_stalled=True, because=because):
                self._tools.pulls.abandon(key, because)
            case CancelPull(key=key):
                self._tools.pulls.cancel(key)
            case ResolveImages(keys=keys):
                self._tools.resolver.resolve(keys)
            case ForgetImages(wanted=wanted, unpinned=unpinned):
                self._tools.resolver.drop_except(wanted)
                self._tools.pulls.drop_history_except(unpinned)
            case WritePins(pins=pins):
                await self._write_pins(pins)
            case WriteStatus(status=status, problems=problems):
                assert self._status is not None, "a status is planned only if there is an object"
                await self._status.write(status)
                self.history = self.history.with_status(self._clock.now(), problems)
            case _:
                assert_never(action)

    async def _write_pins(self, pins: tuple[Pin, ...]) -> None:
        """The next reconcile observes the error."""
        error = delay = ""
        try:
            await self._tools.pins.write(pins)
        except cri.Transient as found:
            delay = str(found)
            raise
        except (cri.CriError, OSError) as found:
            error = str(found)
            raise
        finally:
            now = self._clock.now()
            self.history = replace(self.history, pins_at=now, pins_error=error, pins_delay=delay)


class StatusWriter:
    """Writes the status of the MachineConfigNode, and its annotation with claims."""

    def __init__(
        self, node_name: str, api: Kube, written: ReadYourWrites[MachineConfigNode]
    ) -> None:
        self._node_name = node_name
        self._kube = api
        self._written = written
        self._undeclared: frozenset[str] | None = None

    async def write(self, status: MachineConfigNodeStatus) -> None:
        """The annotation is written second: its claims were true when the status was written."""
        entries = status.pinned_image_sets
        undeclared = await self._undeclared_fields() if entries else frozenset()
        listed = claims.listed(entries, with_uid="uid" not in undeclared)
        shown = replace(status, pinned_image_sets=listed)
        try:
            written = await self._apply({}, status=status_body(shown, undeclared))
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
        self._written.add(written)
        return written

    async def _undeclared_fields(self) -> frozenset[str]:
        if self._undeclared is None:
            found = await self._kube.get(_DEFINITIONS, MACHINE_CONFIG_NODE.name)
            self._undeclared = OUR_FIELDS - _declared_fields(found)
        return self._undeclared


def status_body(status: MachineConfigNodeStatus, undeclared: frozenset[str]) -> dict[str, Any]:
    """The fields and conditions of the status that the agent owns."""
    whole = msgspec.to_builtins(status)
    return {
        "observedGeneration": status.observed_generation,
        "pinnedImageSets": [
            {name: value for name, value in entry.items() if name not in undeclared}
            for entry in whole.get("pinnedImageSets", ())
        ],
        "conditions": [one for one in whole.get("conditions", ()) if one["type"] in OUR_CONDITIONS],
    }


class _Version(Model, frozen=True, kw_only=True):
    name: str
    schema: dict[str, Any] = {}


class _Spec(Model, frozen=True, kw_only=True):
    versions: tuple[_Version, ...] = ()


class _Definition(Object, frozen=True, kw_only=True):
    """A CustomResourceDefinition with its schema."""

    spec: _Spec = _Spec()


_DEFINITIONS = Resource(
    group="apiextensions.k8s.io",
    version="v1",
    kind="CustomResourceDefinition",
    plural="customresourcedefinitions",
    namespaced=False,
    type=_Definition,
)


def _declared_fields(definition: _Definition) -> frozenset[str]:
    for version in definition.spec.versions:
        if version.name == MACHINE_CONFIG_NODES.version:
            root = version.schema.get("openAPIV3Schema", {})
            status = root.get("properties", {}).get("status", {})
            entries = status.get("properties", {}).get("pinnedImageSets", {})
            return frozenset(entries.get("items", {}).get("properties", {}))
    return frozenset()
