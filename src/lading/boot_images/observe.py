"""Reads what a pass over the machine sets of one API goes by. Writes nothing.

Most of it comes from caches. Secrets are read one by one and kept for a while: a watch would hold
every cloud credential of their namespace in memory.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TypeVar

import msgspec

from lading.api.cluster_api import MachineTemplate, TemplateKey, machine_templates
from lading.api.core import SECRETS, Secret
from lading.api.machine import MACHINE_SETS, MachineSet
from lading.boot_images import machine_specs, machines, rules, stubs
from lading.boot_images.platforms.types import Api
from lading.boot_images.types import CLONED_KINDS, BootImageSettings, UnreadSecret
from lading.boot_images.verdicts import Skipped
from lading.kernel.objects import Key, Resource
from lading.kernel.values import replace
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import Kube, Selection

AUTHORITY_NAME = "machine-config-server-ca"
T = TypeVar("T")


class SecretReader(msgspec.Struct):
    """Secrets as they were read last; each is read again after the interval."""

    kube: Kube
    clock: Clock
    interval: timedelta
    _read: dict[Key, tuple[datetime, Secret | UnreadSecret]] = {}

    async def read(self, keys: Iterable[Key]) -> Mapping[Key, Secret | UnreadSecret]:
        """Those that are no longer asked for are forgotten."""
        now = self.clock.now()
        kept: dict[Key, tuple[datetime, Secret | UnreadSecret]] = {}
        for key in sorted(set(keys)):
            known = self._read.get(key)
            is_fresh = known is not None and timedelta() <= now - known[0] < self.interval
            kept[key] = known if known and is_fresh else (now, await self._get(key))
        self._read = kept
        return {key: found for key, (_, found) in kept.items()}

    def forget(self, key: Key) -> None:
        """Reads it again in the next pass, because it was written."""
        self._read.pop(key, None)

    async def _get(self, key: Key) -> Secret | UnreadSecret:
        try:
            return await self.kube.get(SECRETS, key.name, namespace=key.namespace)
        except kube.NotFound:
            return UnreadSecret(message=f"Secret {key} does not exist", is_missing=True)
        except kube.Forbidden:
            return UnreadSecret(message=f"the controller may not read Secret {key}")


async def get_or_none(api: Kube, resource: Resource[T], name: str) -> T | None:
    """None where the object, or the whole kind, does not exist."""
    try:
        return await api.get(resource, name)
    except kube.NotFound:
        return None


async def templates(
    api: Kube, machine_sets: Iterable[MachineSet], *, namespaces_of_clones: Iterable[str] = ()
) -> dict[TemplateKey, MachineTemplate]:
    """The templates of the kinds and namespaces that the sets name: one list for each.

    Clones may be left where no machine set names their kind any more.
    """
    references = {machine_specs.template_reference(one)[:2] for one in machine_sets}
    references |= {(kind, one) for one in namespaces_of_clones for kind in CLONED_KINDS}
    found: dict[TemplateKey, MachineTemplate] = {}
    for kind, namespace in sorted(references):
        if kind.isalnum():
            for one in await _templates_of(api, kind, namespace):
                found[kind, namespace, one.metadata.name] = one
    return found


async def _templates_of(api: Kube, kind: str, namespace: str) -> list[MachineTemplate]:
    for version in machines.INFRASTRUCTURE_VERSIONS:
        resource = machine_templates(kind, version)
        try:
            listed = await machines.everything(api, resource, Selection(namespace=namespace))
        except kube.NotFound:
            continue
        except kube.Forbidden:
            return []
        return [replace(one, api_version=resource.api_version, kind=kind) for one in listed]
    return []


async def authorities(api: Kube, settings: BootImageSettings) -> dict[str, str]:
    """The machine sets of OpenShift's API by name, and which API is the authority for each."""
    found: dict[str, str] = {}
    for namespace in settings.machine_namespaces:
        try:
            listed = await machines.everything(api, MACHINE_SETS, Selection(namespace=namespace))
        except (kube.NotFound, kube.Forbidden):
            continue
        found |= {one.metadata.name: rules.authority_of(one) for one in listed}
    return found


def secrets_wanted(
    api: Api,
    machine_sets: Iterable[MachineSet],
    found: Mapping[TemplateKey, MachineTemplate],
) -> set[Key]:
    """Each stub and its managed copy, once for all machine sets that share it."""
    wanted: set[Key] = set()
    for one in machine_sets:
        try:
            machine = machine_specs.machine_spec(api, one, found)
        except Skipped:
            continue
        if machine.secret:
            wanted |= set(stubs.wanted(one.metadata.namespace, machine.secret))
    return wanted
