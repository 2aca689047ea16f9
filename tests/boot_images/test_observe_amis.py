"""What EC2 is asked, how often, and what follows for machine sets on AWS."""

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from lading.adapters.clock import VirtualClock
from lading.api.machine import MachineSet
from lading.api.machineconfiguration.boot_image_history import SetBy
from lading.api.openshift_config import Infrastructure
from lading.boot_images import plan
from lading.boot_images.observe import Observer
from lading.boot_images.platforms import aws
from lading.boot_images.platforms.types import AmiFacts
from lading.boot_images.types import BootImageSettings, PatchMachineSet, SaveHistory
from lading.ports import kube
from lading.ports.ec2 import Ami, Ec2Error
from tests.boot_images import streams
from tests.boot_images.histories import written
from tests.boot_images.streams import AMI, AMI_OLD
from tests.boot_images.worlds import NAMESPACE, NOW, configuration, golden, machine_set, observed

REGION = "us-east-1"
INTERVAL = timedelta(minutes=10)
PRODUCT = "01234567-89ab-cdef-0123-456789abcdef"


@dataclass
class Ec2InMemory:
    images: dict[tuple[str, str], Ami] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    regions: set[str] = field(default_factory=set)
    is_down: bool = False

    async def image(self, region: str, ami: str) -> Ami | None:
        self.asked.append(ami)
        self.regions.add(region)
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


class NoSecrets:
    async def get(self, resource: object, name: str, namespace: str) -> Any:
        raise kube.NotFound(name)


@dataclass
class Observing:
    """What a controller observes of machine sets on AWS, with a clock that the test moves."""

    ec2: Ec2InMemory | None
    clock: VirtualClock = field(default_factory=VirtualClock)

    def __post_init__(self) -> None:
        api: Any = NoSecrets()
        self._observer = Observer(api, self.clock, BootImageSettings(), self.ec2)

    async def amis(self, *machine_sets: MachineSet, **facts: Any) -> dict[str, AmiFacts]:
        sets = machine_sets or (machine_set(value=aws_spec()),)
        return dict((await self._observer.complete(observed(*sets, **facts))).amis)

    async def later(self) -> dict[str, AmiFacts]:
        await self.clock.advance(INTERVAL.total_seconds())
        return await self.amis()


async def test_an_owner_is_asked_for_once() -> None:
    ec2 = Ec2InMemory({(REGION, AMI_OLD): ami()})
    world = Observing(ec2)
    assert await world.amis() == await world.later() == {AMI_OLD: AmiFacts(ami=ami())}
    assert ec2.asked == [AMI_OLD]


async def test_a_failed_request_is_repeated_after_the_interval() -> None:
    ec2 = Ec2InMemory(is_down=True)
    world = Observing(ec2)
    for _ in range(2):
        assert await world.amis() == {AMI_OLD: AmiFacts(problem="EC2 does not answer")}
    assert ec2.asked == [AMI_OLD]
    ec2.is_down = False
    ec2.images[REGION, AMI_OLD] = ami()
    assert await world.later() == {AMI_OLD: AmiFacts(ami=ami())}


async def test_the_images_of_a_product_are_asked_for_again() -> None:
    old, new = product_image(AMI_OLD, "9.6.20260101-0"), product_image("ami-1", "9.8.20260428-0")
    ec2 = Ec2InMemory({(REGION, AMI_OLD): old})
    world = Observing(ec2)
    assert (await world.amis())[AMI_OLD].product_images == (old,)
    ec2.images[REGION, "ami-1"] = new
    assert (await world.later())[AMI_OLD].product_images == (old, new)


async def test_only_enrolled_machine_sets_on_aws_are_asked_for_and_only_if_allowed() -> None:
    ec2 = Ec2InMemory()
    sets = (
        machine_set("a", aws_spec(), metadata={"labels": {"a": "b"}}),
        machine_set("b", aws_spec("ami-2", placement={}), metadata={"labels": {"a": "b"}}),
        machine_set("c", metadata={"labels": {"a": "b"}}),
        machine_set("d", aws_spec(ami={"filters": [{}]}), metadata={"labels": {"a": "b"}}),
        machine_set("e", aws_spec("ami-3")),
    )
    selector = {"matchLabels": {"a": "b"}}
    config = {"mode": "MatchSelector", "matchSelector": selector}
    enrolled = (configuration(managedBootImageConfig=config),)
    aws_status = {"platformStatus": {"aws": {"region": "eu-west-1"}}}
    cluster = msgspec.convert({"metadata": {}, "status": aws_status}, Infrastructure)
    facts: dict[str, Any] = {"configurations": enrolled, "infrastructure": cluster}
    assert set(await Observing(ec2).amis(*sets, **facts)) == {AMI_OLD, "ami-2"}
    assert sorted(ec2.regions) == ["eu-west-1", REGION]
    assert await Observing(None).amis(*sets, **facts) == {}


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
