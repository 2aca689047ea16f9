"""Images of every kind that a registry holds, to be pruned and restored."""

import json
from typing import Any

from lading.kernel import manifests
from lading.kernel.digests import Digest
from lading.ports.registry import Manifest
from tests.pruning.worlds import Shelf, World

HELM = "application/vnd.cncf.helm.config.v1+json"
FOREIGN = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"
DOCKER_CONFIG = "application/vnd.docker.container.image.v1+json"
ZSTD = "application/vnd.oci.image.layer.v1.tar+zstd"
SIGNATURE = "application/vnd.dev.cosign.simplesigning.v1+json"


async def push_all(shelf: Shelf, repository: str) -> dict[str, str]:
    """tag -> digest of everything that was pushed."""
    amd = await shelf.image(f"{repository}:amd", layers=[b"amd layer"])
    arm = await _zstd(shelf, repository)
    attestation = await shelf.image(
        f"{repository}:attestation",
        layers=[b"in-toto"],
        annotations={"vnd.docker.reference.type": "attestation-manifest"},
    )
    inner = await shelf.index(f"{repository}:inner", amd, arm, attestation)
    outer = await shelf.index(f"{repository}:outer", inner, amd)
    signed = await shelf.image(
        f"{repository}:sha256-{outer.digest.encoded}.sig", layers=[b"signature by tag"]
    )
    subject = shelf.entry(outer.digest, len(outer.content), outer.media_type)
    referrer = await shelf.image(
        f"{repository}:referrer", layers=[b"signature by subject"], subject=subject,
        artifactType=SIGNATURE,
    )  # fmt: skip
    chart = await _with_config(shelf, f"{repository}:chart", HELM, manifests.OCI_MANIFEST)
    foreign = await _foreign(shelf, repository)
    return {
        "amd": str(amd.digest),
        "arm": str(arm.digest),
        "attestation": str(attestation.digest),
        "inner": str(inner.digest),
        "outer": str(outer.digest),
        f"sha256-{outer.digest.encoded}.sig": str(signed.digest),
        "referrer": str(referrer.digest),
        "chart": str(chart.digest),
        "foreign": str(foreign.digest),
    }


async def _zstd(shelf: Shelf, repository: str) -> Manifest:
    name = f"{repository}:arm"
    layer = await shelf.admin.push_blob(shelf.at(name), b"\x28\xb5\x2f\xfd zstd")
    entry = shelf.entry(layer.digest, layer.size_bytes, ZSTD)
    return await _with_config(shelf, name, manifests.OCI_CONFIG, manifests.OCI_MANIFEST, entry)


async def _foreign(shelf: Shelf, repository: str) -> Manifest:
    layer = shelf.entry(Digest.of(b"a layer elsewhere"), 17, FOREIGN)
    layer["urls"] = ["https://layers.example.com/layer"]
    name = f"{repository}:foreign"
    return await _with_config(shelf, name, DOCKER_CONFIG, manifests.DOCKER_MANIFEST, layer)


async def _with_config(
    shelf: Shelf, name: str, config_type: str, media_type: str, *layers: dict[str, Any]
) -> Manifest:
    place = shelf.at(name)
    config = await shelf.admin.push_blob(place, json.dumps({"of": name}).encode())
    plain = await shelf.admin.push_blob(place, f"content of {name}".encode())
    own = shelf.entry(plain.digest, plain.size_bytes, manifests.OCI_LAYER_GZIP)
    if media_type == manifests.DOCKER_MANIFEST:
        own["mediaType"] = "application/vnd.docker.image.rootfs.diff.tar.gzip"
    document = {
        "schemaVersion": 2,
        "mediaType": media_type,
        "config": shelf.entry(config.digest, config.size_bytes, config_type),
        "layers": [own, *layers],
    }
    return await shelf.push(name, document, media_type)


async def check_all(world: World, repository: str, expected: dict[str, str]) -> None:
    shelf = world.shelf
    assert await shelf.tags(repository) == expected.keys()
    for tag, digest in expected.items():
        found = await world.registry.head(shelf.at(f"{repository}:{tag}"))
        assert found is not None
        assert str(found.digest) == digest
        assert await shelf.pullable(f"{repository}:{tag}"), f"{tag} cannot be pulled"
