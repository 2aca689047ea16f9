"""The kinds that are served, and the kinds of other owners. Installs nothing.

A kind is served if it can be listed. If the list is forbidden the kind counts as served, because
the informer reports the missing right.
"""

from collections.abc import Iterable
from typing import Any

from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS, CustomResourceDefinition
from lading.api.definitions import Definition
from lading.installation import plan
from lading.kernel.objects import Resource
from lading.loop.component_runner import FoundKinds
from lading.loop.feature import Kind
from lading.ports import kube
from lading.ports.kube import Kube, Selection

_NO_OBJECT = "-"  # many agents ask at once, so the answer has no objects


async def find(api: Kube, kinds: Iterable[Kind]) -> FoundKinds:
    served: dict[Kind, Resource[Any]] = {}
    missing: list[str] = []
    for kind in kinds:
        resource = await _served(api, kind)
        if resource is None:
            missing.append(await _described(api, kind))
        else:
            served[kind] = resource
    return FoundKinds(served=served, missing=tuple(missing))


async def foreign(api: Kube, definitions: Iterable[Definition]) -> tuple[str, ...]:
    """A sentence for each of our kinds that another owner installed."""
    existing = await installed(api, definitions)
    return plan.plan(definitions, existing).foreign


async def installed(
    api: Kube, definitions: Iterable[Definition]
) -> dict[str, CustomResourceDefinition]:
    """The definitions of our kinds that the cluster has, and that may be read."""
    found = {one.name: await _definition(api, one.name) for one in definitions}
    return {name: one for name, one in found.items() if one is not None}


async def _served(api: Kube, kind: Kind) -> Resource[Any] | None:
    namespace = next(iter(kind.namespaces), "")
    name = next(iter(kind.names), _NO_OBJECT)  # the right may be restricted to this name
    selection = Selection(namespace=namespace, field_selector=f"metadata.name={name}")
    for resource in kind.candidates():
        try:
            await api.page(resource, selection)
        except kube.NotFound:
            continue
        except kube.Forbidden:
            return resource
        return resource
    return None


async def _described(api: Kube, kind: Kind) -> str:
    needed = f"{kind.name} {' or '.join(kind.versions)}"
    definition = await _definition(api, kind.name)
    if definition is None:
        return needed
    offered = ", ".join(sorted(plan.served(definition))) or "no version"
    return f"{needed} ({offered} is served)"


async def _definition(api: Kube, name: str) -> CustomResourceDefinition | None:
    try:
        return await api.get(CUSTOM_RESOURCE_DEFINITIONS, name)
    except (kube.NotFound, kube.Forbidden):
        return None
