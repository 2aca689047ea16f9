"""Reads facts that no cache has: the decision, the owner of the kind, the age of the cluster."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TypeVar

import msgspec

from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.core import CONFIG_MAPS, LEASES, ConfigMap
from lading.api.definitions import OWNER, OWNER_LABEL
from lading.api.imageregistry import IMAGE_PRUNER, PruneRun, StoredImagePruner
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SET
from lading.api.openshift_config import ClusterVersion
from lading.kernel import conditions
from lading.kernel.errors import UNREADABLE
from lading.kernel.objects import Object, Resource
from lading.ports import kube
from lading.ports.kube import Kube
from lading.pruning.operator.types import DECISION_NAME, ClusterHistory

T = TypeVar("T", bound=Object)
DECISION_KEY = "decision"
LEASE_NAME = "lading-controller"


async def decision(api: Kube, namespace: str) -> str | None:
    found = await _found(api, CONFIG_MAPS, DECISION_NAME, namespace)
    return None if found is None else found.data.get(DECISION_KEY, "")


async def kind_is_foreign(api: Kube) -> bool:
    """Whether the kind belongs to another owner; False if its definition cannot be read."""
    found = await _found(api, CUSTOM_RESOURCE_DEFINITIONS, IMAGE_PRUNER.name)
    return found is not None and found.metadata.labels.get(OWNER_LABEL) != OWNER


async def history(api: Kube, namespace: str, version: ClusterVersion | None) -> ClusterHistory:
    lease = await _found(api, LEASES, LEASE_NAME, namespace)
    own = await _found(api, CUSTOM_RESOURCE_DEFINITIONS, IMAGE_PRUNER.name)
    other = await _found(api, CUSTOM_RESOURCE_DEFINITIONS, PINNED_IMAGE_SET.name)
    if other is not None and other.metadata.labels.get(OWNER_LABEL) != OWNER:
        other = None
    past = (version.status.history or ()) if version and version.status else ()
    return ClusterHistory(
        first_start=_created(lease),
        other_kinds_since=_created(other),
        pruner_kind_since=_created(own),
        openshift_versions=len({one.version for one in past}),
    )


def reports(pruner: StoredImagePruner | None, report_map: ConfigMap | None) -> tuple[PruneRun, ...]:
    """The reports of Jobs in the status and in the ConfigMap, without those that are malformed."""
    found: Mapping[str, PruneRun] = {
        one.name: one for one in (*_of_status(pruner), *_of_map(report_map))
    }
    return tuple(found[name] for name in sorted(found))


def _of_status(pruner: StoredImagePruner | None) -> Iterator[PruneRun]:
    entries = pruner.status.get("lastRun") if pruner is not None else None
    for one in entries if isinstance(entries, list) else ():
        try:
            yield msgspec.convert(one, PruneRun)
        except msgspec.ValidationError:
            continue


def _of_map(report_map: ConfigMap | None) -> Iterator[PruneRun]:
    for text in (report_map.data if report_map is not None else {}).values():
        try:
            yield msgspec.json.decode(text, type=PruneRun)
        except UNREADABLE:
            continue


def _created(one: Object | None) -> datetime | None:
    return conditions.instant(one.metadata.creation_timestamp) if one is not None else None


async def _found(api: Kube, resource: Resource[T], name: str, namespace: str = "") -> T | None:
    try:
        return await api.get(resource, name, namespace=namespace)
    except (kube.NotFound, kube.Forbidden):
        return None
