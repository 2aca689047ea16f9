"""Registries that plans are made for, and what is kept of them."""

from typing import Any

from lading.pruning.engine.decisions import policy
from lading.pruning.engine.decisions.policy import Policy
from lading.pruning.engine.types import Inventory
from tests.pruning import builders
from tests.pruning.builders import REGISTRY, digest, image, registry_world, tag

GO = policy.parse({"policies": [{"repositories": ["**"], "keepTags": []}]})
"""A policy by which every tag goes that nothing else keeps."""


def keep(**entry: Any) -> Policy:
    return policy.parse({"policies": [{"repositories": ["**"], "keepTags": [entry]}]})


def sha_tag(subject: str, suffix: str = "") -> str:
    return digest(subject).replace(":", "-") + suffix


def versions(*tags: str, minutes: float | None = builders.OLD) -> Inventory:
    images = [image(name) for name in tags]
    return registry_world(images, team__app=[tag(name, name, minutes=minutes) for name in tags])


APP = f"{REGISTRY}/team/app"
CHAIN = registry_world(
    [
        image("outer", children="inner"),
        image("inner", children="arm"),
        image("arm", "l", config="c"),
        image("sig", "s", subject="arm"),
    ],
    team__app=[tag("v1", "outer")],
)


SIGNED = registry_world(
    [image("v1"), image("sig"), image("att"), image("sbom"), image("sig2")],
    team__app=[
        tag("v1", "v1"),
        tag(sha_tag("v1", ".sig"), "sig"),
        tag(sha_tag("v1", ".att"), "att"),
        tag(sha_tag("sig", ".sig"), "sig2"),
    ],
    signatures=[tag(sha_tag("v1", ".sbom"), "sbom")],
)
