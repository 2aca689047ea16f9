"""What Amazon EC2 knows about machine images, cut down to what tells their owner.

Ec2Error      EC2 could not be asked, or refused to answer
"""

from typing import Protocol

import msgspec


class Ec2Error(Exception):
    """One sentence for people; it holds no credential."""


class Ami(msgspec.Struct, frozen=True, kw_only=True):
    """A machine image of one region."""

    id: str
    owner: str
    """The account that owns it."""
    name: str = ""
    description: str = ""
    architecture: str = ""
    """As EC2 names it: x86_64, arm64."""
    created_at: str = ""
    """In a form in which a later time sorts after an earlier one."""


class Ec2(Protocol):
    async def image(self, region: str, ami: str) -> Ami | None:
        """None where the region has no such image, or it is not visible to us."""

    async def images_of_product(self, region: str, owner: str, product: str) -> tuple[Ami, ...]:
        """The images of an owner with a name that ends with the product."""
