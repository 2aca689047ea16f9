"""Whether the kinds that Lading works on are in the cluster, and whose. Installs nothing."""

from lading.api import catalogue
from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS, CustomResourceDefinition
from lading.installation import plan
from lading.ports import kube
from lading.ports.kube import Kube


class NotInstalled(Exception):
    """A kind is not there, or not in the version that we need."""


async def require(api: Kube) -> tuple[str, ...]:
    """Returns what is to be said about kinds of others; raises when one cannot be worked with."""
    existing = await installed(api)
    missing = [one.name for one in catalogue.DEFINITIONS if one.name not in existing]
    if missing:
        raise NotInstalled(
            f"the cluster does not know {', '.join(missing)}; install them with "
            "`lading crds | kubectl apply --server-side -f -`"
        )
    unusable = [
        plan.foreign(one, existing[one.name])
        for one in catalogue.DEFINITIONS
        if one.versions[-1] not in plan.served(existing[one.name])
    ]
    if unusable:
        raise NotInstalled("; ".join(unusable))
    return plan.plan(catalogue.DEFINITIONS, existing).notes


async def installed(api: Kube) -> dict[str, CustomResourceDefinition]:
    """The definitions of our kinds that the cluster has, whoever put them there."""
    existing: dict[str, CustomResourceDefinition] = {}
    for definition in catalogue.DEFINITIONS:
        try:
            existing[definition.name] = await api.get(CUSTOM_RESOURCE_DEFINITIONS, definition.name)
        except kube.NotFound:
            continue
    return existing
