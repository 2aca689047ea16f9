"""Asks EC2 who owns the AMIs of machine sets, where an administrator lets us. Writes nothing.

The owner of an AMI never changes, so it is asked for once. The images of a Marketplace product
grow in number, and an answer that failed may come later: these are asked for again.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

import msgspec
import structlog

from lading.api.cluster_api import MachineTemplate, TemplateKey
from lading.api.machine import MachineSet
from lading.boot_images import machine_specs
from lading.boot_images.platforms import aws
from lading.boot_images.platforms.types import AmiFacts, Api
from lading.boot_images.verdicts import Skipped
from lading.ports.clock import Clock
from lading.ports.ec2 import Ec2, Ec2Error

log = structlog.get_logger(__name__)


def wanted(
    api: Api,
    machine_sets: Iterable[MachineSet],
    templates: Mapping[TemplateKey, MachineTemplate],
    *,
    region: str,
) -> set[tuple[str, str]]:
    """Region and AMI of each machine set on AWS; `region` is that of the cluster."""
    found: set[tuple[str, str]] = set()
    for one in machine_sets:
        try:
            machine = machine_specs.machine_spec(api, one, templates)
            if machine.platform is aws:
                present = aws.present(api, machine.value).image.reference
                found.add((aws.region_of(machine.value) or region, present))
        except Skipped:
            continue
    return found


class AmiReader(msgspec.Struct):
    """Without access to EC2 it knows nothing."""

    ec2: Ec2 | None
    clock: Clock
    interval: timedelta
    _known: dict[tuple[str, str], tuple[datetime, AmiFacts]] = {}

    async def read(self, amis: Iterable[tuple[str, str]]) -> dict[str, AmiFacts]:
        """By the id of the AMI; those that are no longer asked for are forgotten."""
        if self.ec2 is None:
            return {}
        now = self.clock.now()
        kept: dict[tuple[str, str], tuple[datetime, AmiFacts]] = {}
        for region, ami in sorted(set(amis)):
            known = self._known.get((region, ami))
            if known is None or not self._holds(known, now):
                known = now, await _facts(self.ec2, region, ami)
            kept[region, ami] = known
        self._known = kept
        return {ami: facts for (_, ami), (_, facts) in kept.items()}

    def _holds(self, known: tuple[datetime, AmiFacts], now: datetime) -> bool:
        read_at, facts = known
        is_final = facts.ami is not None and facts.ami.owner != aws.MARKETPLACE_OWNER
        return is_final or timedelta() <= now - read_at < self.interval


async def _facts(ec2: Ec2, region: str, ami: str) -> AmiFacts:
    try:
        found = await ec2.image(region, ami)
        if found is None or found.owner != aws.MARKETPLACE_OWNER:
            return AmiFacts(ami=found)
        product = aws.product_of(found)
        others = await ec2.images_of_product(region, found.owner, product) if product else ()
        return AmiFacts(ami=found, product_images=others)
    except Ec2Error as error:
        log.warning("EC2 request failed", region=region, ami=ami, error=str(error))
        return AmiFacts(problem=str(error))
