"""What EC2 is asked, how often, and what follows for machine sets on AWS."""

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from lading.adapters.clock import VirtualClock
from lading.api.machineconfiguration.boot_image_history import SetBy
from lading.boot_images import amis, plan
from lading.boot_images.amis import AmiReader
from lading.boot_images.platforms import aws
from lading.boot_images.platforms.types import AmiFacts, Api
from lading.boot_images.types import BootImageSettings, PatchMachineSet, SaveHistory
from lading.ports.ec2 import Ami, Ec2Error
from tests.boot_images import streams
from tests.boot_images.histories import written
from tests.boot_images.streams import AMI, AMI_OLD
from tests.boot_images.worlds import NAMESPACE, NOW, golden, machine_set, observed

REGION = "us-east-1"
INTERVAL = timedelta(minutes=10)
PRODUCT = "01234567-89ab-cdef-0123-456789abcdef"


@dataclass
class Ec2InMemory:
    images: dict[tuple[str, str], Ami] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    is_down: bool = False

    async def image(self, region: str, ami: str) -> Ami | None:
        self.asked.append(ami)
        if self.is_down:
            raise Ec2Error("EC2 does not answer")
        return self.images.get((region, ami))

    async def images_of_product(self, region: str, owner: str, product: str) -> tuple[Ami, ...]:
        self.asked.append(product)
        return tuple(one for one in self.images.values() if one.name.endswith(product))


def ami(id_: str = AMI_OLD, owner: str = aws.OWNER, **facts: str) -> Ami:
    return Ami(**{"id": id_, "owner": owner, "architecture": "x86_64", **facts})


def product_image(id_: str, release: str) -> Ami:
    return ami(id_, aws.MARKETPLACE_OWNER, name=f"rhcos-{PRODUCT}", description=f"RHCOS {release}")


def aws_spec(id_: str = AMI_OLD, **fields: Any) -> dict[str, Any]:
    secret = {"name": "worker-user-data"}
    spec = {"kind": "AWSMachineProviderConfig", "ami": {"id": id_}, "userDataSecret": secret}
    return {**spec, "placement": {"region": REGION}, **fields}


async def test_an_owner_is_asked_for_once() -> None:
    clock, ec2 = VirtualClock(), Ec2InMemory({(REGION, AMI_OLD): ami()})
    reader = AmiReader(ec2, clock, INTERVAL)
    for _ in range(3):
        assert await reader.read([(REGION, AMI_OLD)]) == {AMI_OLD: AmiFacts(ami=ami())}
        await clock.advance(INTERVAL.total_seconds())
    assert ec2.asked == [AMI_OLD]


async def test_what_is_not_known_is_asked_for_again() -> None:
    clock, ec2 = VirtualClock(), Ec2InMemory(is_down=True)
    reader = AmiReader(ec2, clock, INTERVAL)
    for _ in range(2):
        found = await reader.read([(REGION, AMI_OLD)])
        assert found == {AMI_OLD: AmiFacts(problem="EC2 does not answer")}
    assert ec2.asked == [AMI_OLD]
    ec2.is_down = False
    ec2.images[REGION, AMI_OLD] = ami()
    await clock.advance(INTERVAL.total_seconds())
    assert await reader.read([(REGION, AMI_OLD)]) == {AMI_OLD: AmiFacts(ami=ami())}


async def test_the_images_of_a_product_are_asked_for_again() -> None:
    old, new = product_image(AMI_OLD, "9.6.20260101-0"), product_image("ami-1", "9.8.20260428-0")
    clock, ec2 = VirtualClock(), Ec2InMemory({(REGION, AMI_OLD): old})
    reader = AmiReader(ec2, clock, INTERVAL)
    assert (await reader.read([(REGION, AMI_OLD)]))[AMI_OLD].product_images == (old,)
    ec2.images[REGION, "ami-1"] = new
    await clock.advance(INTERVAL.total_seconds())
    assert (await reader.read([(REGION, AMI_OLD)]))[AMI_OLD].product_images == (old, new)


async def test_without_access_nothing_is_known() -> None:
    assert await AmiReader(None, VirtualClock(), INTERVAL).read([(REGION, AMI_OLD)]) == {}


def test_the_region_of_a_machine_spec_comes_before_that_of_the_cluster() -> None:
    sets = [
        machine_set("a", aws_spec()),
        machine_set("b", aws_spec("ami-2", placement={})),
        machine_set("c"),
        machine_set("d", {"kind": "AWSMachineProviderConfig", "ami": {"filters": [{}]}}),
    ]
    found = amis.wanted(Api.MACHINE, sets, {}, region="eu-west-1")
    assert found == {(REGION, AMI_OLD), ("eu-west-1", "ami-2")}


def test_an_ami_that_ec2_proves_is_replaced_without_a_list_of_trusted_ones() -> None:
    world = observed(machine_set(value=aws_spec()))
    assert patches(world) == []
    proven = observed(machine_set(value=aws_spec()), amis={AMI_OLD: AmiFacts(ami=ami())})
    ((_, patch),) = patches(proven)
    assert patch["value"] == {"id": AMI}


def patches(world: Any) -> list[tuple[Any, ...]]:
    found = plan.plan(world, BootImageSettings(), NOW, namespace=NAMESPACE).actions
    return [tuple(one.operations) for one in found if isinstance(one, PatchMachineSet)]


NEW = "ami-0aaaaaaaaaaaaaaa1"


@pytest.mark.parametrize("with_facts", [True, False], ids=["EC2 is asked", "EC2 is asked no more"])
def test_a_product_is_never_replaced_by_an_image_that_is_not_of_it(with_facts: bool) -> None:
    """Also where we set the present image: without EC2 we know only that it was a product's."""
    old = product_image(AMI_OLD, "9.6.20260101-0")
    new = product_image(NEW, "9.8.20260301-0")
    stream = streams_with_release()
    facts = {one.id: AmiFacts(ami=one, product_images=(old, new)) for one in (old, new)}
    world = observed(machine_set(value=aws_spec()), amis=facts, golden=stream)
    actions = plan.plan(world, BootImageSettings(), NOW, namespace=NAMESPACE).actions
    saves = [one for one in actions if isinstance(one, SaveHistory)]
    assert saves[-1].spec.details[-1].set_by is SetBy.LADING_MARKETPLACE
    for action in actions:
        world = written(world, action)
    after = observed(
        machine_set(value=aws_spec(NEW)),
        amis=facts if with_facts else {},
        golden=stream,
        histories=world.histories,
    )
    assert patches(after) == []


def test_a_current_image_of_a_product_is_not_taken_for_one_of_the_stream() -> None:
    new = product_image(NEW, "9.8.20260301-0")
    facts = {NEW: AmiFacts(ami=new, product_images=(new,))}
    one = machine_set(value=aws_spec(NEW))
    world = observed(one, amis=facts, golden=streams_with_release())
    actions = plan.plan(world, BootImageSettings(), NOW, namespace=NAMESPACE).actions
    (save,) = (each for each in actions if isinstance(each, SaveHistory))
    assert [each.set_by for each in save.spec.details] == [SetBy.OTHER]


def streams_with_release() -> Any:
    value = streams.stream()
    value["architectures"]["x86_64"]["artifacts"]["aws"] = {"release": "9.8.20260428-0"}
    return golden(stream=json.dumps(value))
