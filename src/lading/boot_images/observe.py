"""Reads the facts about machine sets that no cache holds. Writes nothing.

Secrets are read one by one and kept for a while: a watch would hold every cloud credential of their
namespace in memory. EC2 is asked in the same way, only if an administrator allows it.
"""

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

import structlog

from lading.api.cluster_api import CLUSTERS, MachineTemplate, TemplateKey, machine_templates
from lading.api.core import SECRETS, Secret
from lading.api.machine import MACHINE_SETS, MachineSet
from lading.boot_images import machine_specs, machines, rules, stubs, templates
from lading.boot_images.machine_specs import MachineSpec
from lading.boot_images.platforms import aws
from lading.boot_images.platforms.types import AmiFacts, Api, CurrentImage
from lading.boot_images.release import Release
from lading.boot_images.types import (
    CLONED_KINDS,
    BootImageSettings,
    ObservedMachineSets,
    UnreadSecret,
)
from lading.boot_images.verdicts import NotUpdated, Why
from lading.kernel.objects import Key, Resource
from lading.kernel.values import replace
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.ec2 import Ec2, Ec2Error
from lading.ports.kube import Kube, Selection

AUTHORITY_NAME = "machine-config-server-ca"
K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")

log = structlog.get_logger(__name__)


class _KeptReads(Generic[K, V]):
    """The last answer for each key. An answer that is not final is read again after a while."""

    def __init__(
        self,
        read: Callable[[K], Awaitable[V]],
        clock: Clock,
        interval: timedelta,
        is_final: Callable[[V], bool] = lambda _: False,
    ) -> None:
        self._read = read
        self._clock = clock
        self._interval = interval
        self._is_final = is_final
        self._kept: dict[K, tuple[datetime, V]] = {}

    async def get(self, keys: Iterable[K]) -> dict[K, V]:
        """Forgets every other key."""
        now = self._clock.now()
        kept: dict[K, tuple[datetime, V]] = {}
        for key in dict.fromkeys(keys):
            known = self._kept.get(key)
            kept[key] = known if known and self._holds(known, now) else (now, await self._read(key))
        self._kept = kept
        return {key: found for key, (_, found) in kept.items()}

    def forget(self, key: K) -> None:
        self._kept.pop(key, None)

    def forget_all(self) -> None:
        self._kept.clear()

    def _holds(self, known: tuple[datetime, V], now: datetime) -> bool:
        read_at, found = known
        return self._is_final(found) or timedelta() <= now - read_at < self._interval


class Observer:
    """Completes what the caches know, with the API server and EC2.

    A preview reads every machine set as if it were enrolled, and looks for no clone.
    """

    def __init__(
        self,
        api: Kube,
        clock: Clock,
        settings: BootImageSettings,
        ec2: Ec2 | None,
        *,
        is_preview: bool = False,
    ) -> None:
        self._api = api
        self._settings = settings
        self._ec2 = ec2
        self._is_preview = is_preview
        interval = settings.secrets_interval
        self._clock = clock
        self._in_use_read_at: datetime | None = None
        self._resumed: frozenset[str] = frozenset()
        self._secrets = _KeptReads(self._read_secret, clock, interval)
        self._amis = _KeptReads(self._read_ami, clock, interval, _is_final)

    def forget_secret(self, key: Key) -> None:
        """Reads the Secret again, because it was written."""
        self._secrets.forget(key)

    async def complete(self, observed: ObservedMachineSets) -> ObservedMachineSets:
        observed = await self._with_templates(observed)
        enrolment = rules.EVERY_MACHINE_SET
        if not self._is_preview:
            enrolment = rules.enrolment(observed.configurations)
        resumed = frozenset(one.spec.resumed_time for one in observed.histories) - {""}
        if resumed != self._resumed:  # a person who resumes updates has often edited a stub
            self._resumed = resumed
            self._secrets.forget_all()
        golden, sets = Release(observed), observed.machine_sets
        if any(
            enrolment.includes(observed.api, one) and golden.needs_machines(one) for one in sets
        ):
            observed = replace(observed, machine_images=await self._machine_images(observed))
        secrets: set[Key] = set()
        amis: set[tuple[str, str]] = set()
        for one in observed.machine_sets:
            machine = machine_specs.machine_spec(observed.api, one, observed.templates)
            if enrolment.includes(observed.api, one) and isinstance(machine, MachineSpec):
                if machine.secret:
                    secrets |= stubs.wanted(one.metadata.namespace, machine.secret)
                amis |= _ami_of(machine, observed)
        answered = await self._amis.get(sorted(amis) if self._ec2 else ())
        return replace(
            observed,
            secrets=await self._secrets.get(sorted(secrets)),
            amis={ami: facts for (_, ami), facts in answered.items()},
        )

    async def _with_templates(self, observed: ObservedMachineSets) -> ObservedMachineSets:
        if observed.api is not Api.CLUSTER:
            return observed
        namespaces = () if self._is_preview else self._settings.cluster_api_namespaces
        sets = observed.machine_sets
        observed = replace(
            observed,
            templates=await read_templates(self._api, sets, namespaces_of_clones=namespaces),
            other_machine_sets=await _authorities(self._api, self._settings),
            cluster_pause=await self._cluster_pause(rules.cluster_name(observed, self._settings)),
        )
        unused = templates.may_be_unused(observed)
        now, before = self._clock.now(), self._in_use_read_at
        is_early = before is not None and now - before < self._settings.templates_interval
        if not unused or self._is_preview or is_early:
            return observed
        self._in_use_read_at = now
        kinds = {kind for kind, _, _ in unused}
        # Not from a cache: it may lag behind, and a clone in use must not be deleted.
        in_use = await machines.templates_in_use(self._api, self._settings, kinds)
        return replace(observed, templates_in_use=in_use)

    async def _cluster_pause(self, name: str) -> NotUpdated | None:
        """Read before every plan: `clusterctl move` pauses a Cluster and moves its objects."""
        for namespace in self._settings.cluster_api_namespaces if name else ():
            try:
                found = await machines.get_served(self._api, CLUSTERS, name, namespace)
            except kube.Forbidden:
                message = f"the controller may not read Cluster {namespace}/{name}"
                return NotUpdated(Why.FORBIDDEN, message)
            if found is not None and rules.is_paused(found):
                return NotUpdated(Why.PAUSED, f"Cluster {namespace}/{name} is paused")
        return None

    async def _machine_images(self, observed: ObservedMachineSets) -> dict[str, str]:
        name = rules.cluster_name(observed, self._settings)
        found = await machines.made(self._api, self._settings, cluster_name=name)
        return {one.node: one.image for one in found if one.node}

    async def _read_secret(self, key: Key) -> Secret | UnreadSecret:
        try:
            return await self._api.get(SECRETS, key.name, namespace=key.namespace)
        except kube.NotFound:
            return UnreadSecret(message=f"Secret {key} does not exist", is_missing=True)
        except kube.Forbidden:
            return UnreadSecret(message=f"the controller may not read Secret {key}")

    async def _read_ami(self, key: tuple[str, str]) -> AmiFacts:
        region, ami = key
        assert self._ec2 is not None
        try:
            found = await self._ec2.image(region, ami)
            if found is None or found.owner != aws.MARKETPLACE_OWNER:
                return AmiFacts(ami=found)
            product = aws.product_of(found)
            if not product:
                return AmiFacts(ami=found)
            others = await self._ec2.images_of_product(region, found.owner, product)
            return AmiFacts(ami=found, product_images=others)
        except Ec2Error as error:
            log.warning("EC2 request failed", region=region, ami=ami, error=str(error))
            return AmiFacts(problem=str(error))


def _is_final(facts: AmiFacts) -> bool:
    """The owner of an AMI never changes. A Marketplace product gets new images."""
    return facts.ami is not None and facts.ami.owner != aws.MARKETPLACE_OWNER


def _ami_of(machine: MachineSpec, observed: ObservedMachineSets) -> set[tuple[str, str]]:
    """Region and id of the AMI, on AWS."""
    image = machine_specs.current_image(observed.api, machine)
    if machine.platform is not aws or not isinstance(image, CurrentImage):
        return set()
    region = aws.region_of(machine.value) or rules.region(observed)
    return {(region, image.image.reference)}


async def get_or_none(api: Kube, resource: Resource[T], name: str) -> T | None:
    """None if the object, or its kind, does not exist."""
    try:
        return await api.get(resource, name)
    except kube.NotFound:
        return None


async def read_templates(
    api: Kube, machine_sets: Iterable[MachineSet], *, namespaces_of_clones: Iterable[str] = ()
) -> dict[TemplateKey, MachineTemplate]:
    """The templates of the kinds and namespaces that the sets name, with one list for each.

    Clones may be of kinds that no machine set names any more.
    """
    references = {templates.reference_of(one)[:2] for one in machine_sets}
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


async def _authorities(api: Kube, settings: BootImageSettings) -> dict[str, str]:
    """The authoritative API of each machine set of OpenShift's API, by name."""
    found: dict[str, str] = {}
    for namespace in settings.machine_namespaces:
        try:
            listed = await machines.everything(api, MACHINE_SETS, Selection(namespace=namespace))
        except (kube.NotFound, kube.Forbidden):
            continue
        found |= {one.metadata.name: rules.authority_of(one) for one in listed}
    return found
