"""Machine images of Amazon EC2 and their owners.

Ec2Error      EC2 did not answer, or refused
"""

from typing import Protocol

import msgspec


class Ec2Error(Exception):
    """One sentence for people, without credentials."""


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
    """As EC2 writes it. A later time sorts after an earlier one."""


class Ec2(Protocol):
    async def image(self, region: str, ami: str) -> Ami | None:
        """None if the region has no such image that the account can see."""

    async def images_of_product(self, region: str, owner: str, product: str) -> tuple[Ami, ...]:
        """The images of an owner with a name that ends with the product."""
