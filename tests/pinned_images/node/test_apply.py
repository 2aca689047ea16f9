"""Where an agent writes what it holds, by what the definition of MachineConfigNodes declares."""

from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
import pytest

from lading.adapters.clock import VirtualClock
from lading.api.machineconfiguration.machine_config_node import (
    MACHINE_CONFIG_NODE,
    MACHINE_CONFIG_NODES,
    MachineConfigNode,
    MachineConfigNodeStatus,
    NodePinnedImageSet,
)
from lading.kernel.conditions import Condition, Truth
from lading.kernel.objects import Resource
from lading.kernel.values import replace
from lading.loop.informer import Informer
from lading.loop.reconciler import ReadYourWrites
from lading.pinned_images import claims
from lading.pinned_images.node import apply
from lading.pinned_images.node.apply import StatusWriter
from lading.pinned_images.reasons import ConditionType
from lading.ports import kube
from lading.ports.kube import Kube

STATUS = MachineConfigNodeStatus(
    pinned_image_sets=(
        NodePinnedImageSet(name="s", uid="u", current_generation=1, desired_generation=1),
    )
)


@dataclass
class Api:
    """Stores one MachineConfigNode, and drops or refuses the uid as another's definition does."""

    declares_uid: bool
    is_strict: bool = False
    definition_reads: int = 0
    stored: dict[str, Any] = field(default_factory=lambda: {"name": "n", "uid": "n"})
    status: dict[str, Any] = field(default_factory=dict)

    async def get(self, resource: Resource[Any], name: str) -> Any:
        self.definition_reads += 1
        manifest = MACHINE_CONFIG_NODE.manifest() if self.declares_uid else {"spec": {}}
        return msgspec.convert(manifest, resource.type)

    async def apply(self, resource: object, body: dict[str, Any], **_: object) -> MachineConfigNode:
        self.stored |= body["metadata"]
        self.status = body.get("status", self.status)
        has_uid = any("uid" in one for one in self.status.get("pinnedImageSets", ()))
        if has_uid and self.is_strict and not self.declares_uid:
            raise kube.Invalid("unknown field uid")
        spec = {"node": {"name": "n"}, "pool": {"name": "worker"}}
        shown = {"metadata": self.stored, "spec": spec, "status": self.status}
        return msgspec.convert(shown, MachineConfigNode)


def writer(api: Api) -> StatusWriter:
    reports = ReadYourWrites(Informer(MACHINE_CONFIG_NODES), VirtualClock())
    return StatusWriter("n", cast("Kube", api), reports)


@pytest.mark.parametrize("declares_uid", [True, False])
async def test_the_uid_is_in_the_status_where_it_is_declared_and_else_in_the_annotation(
    declares_uid: bool,
) -> None:
    api = Api(declares_uid)
    await writer(api).write(STATUS)
    assert (api.status["pinnedImageSets"][0].get("uid") == "u") is declares_uid
    assert (claims.ANNOTATION in api.stored.get("annotations", {})) is not declares_uid


async def test_fields_that_another_definition_does_not_declare_are_not_sent() -> None:
    """Server-side apply would refuse the whole status."""
    api = Api(declares_uid=False)
    (entry,) = STATUS.pinned_image_sets
    counted = replace(
        entry,
        image_count=2,
        present_image_count=1,
        missing_bytes=5,
        pulling_image_count=1,
        pull_attempt=2,
        next_pull_time="2026-01-01T00:00:00Z",
    )
    await writer(api).write(replace(STATUS, pinned_image_sets=(counted,)))
    assert api.status["pinnedImageSets"] == [
        {"name": "s", "currentGeneration": 1, "desiredGeneration": 1}
    ]


def test_every_field_beyond_the_design_is_known_as_our_own() -> None:
    of_the_design = {
        "name",
        "currentGeneration",
        "desiredGeneration",
        "lastFailedGeneration",
        "lastFailedGenerationErrors",
    }
    fields = {one.encode_name for one in msgspec.structs.fields(NodePinnedImageSet)}
    assert fields - of_the_design == apply.OUR_FIELDS


async def test_the_definition_is_read_once_and_again_after_a_refused_write() -> None:
    api = Api(declares_uid=True)
    agent = writer(api)
    await agent.write(STATUS)
    await agent.write(STATUS)
    assert api.definition_reads == 1
    api.declares_uid, api.is_strict = False, True
    with pytest.raises(kube.Invalid):
        await agent.write(STATUS)
    await agent.write(STATUS)
    assert "uid" not in api.status["pinnedImageSets"][0]
    assert api.definition_reads == 2


def test_only_our_own_conditions_are_written() -> None:
    found = tuple(
        Condition(type=type_, status=Truth.TRUE, reason="Because")
        for type_ in ("Updated", ConditionType.SETS_PROGRESSING, ConditionType.SETS_DEGRADED)
    )
    body = apply.status_body(MachineConfigNodeStatus(conditions=found), frozenset())
    assert [one["type"] for one in body["conditions"]] == [
        ConditionType.SETS_PROGRESSING,
        ConditionType.SETS_DEGRADED,
    ]
