"""What a runtime does with an image for another platform that is named by its own digest.

The results are the table in docs/runtime-classes.md; a runtime that changes its mind fails here.
"""

import dataclasses
import pathlib
import secrets

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.cri.client import CriClient
from lading.adapters.registry import client as registry_client
from lading.embedded import sample_images
from lading.kernel import manifests, platforms, references
from lading.ports import cri
from lading.ports.cri import ImageSpec
from lading.wire import calls
from tests.real.bed import registry, runtime

FILE_BYTES = 100_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    keeps_compressed_layers: bool
    unpacks: bool


FETCHED_AND_UNPACKED = Outcome(keeps_compressed_layers=True, unpacks=True)
FETCHED_ONLY = Outcome(keeps_compressed_layers=True, unpacks=False)
UNPACKED_ONLY = Outcome(keeps_compressed_layers=False, unpacks=True)

CONTAINERD = pytest.mark.components("containerd", "registry")
CRIO = pytest.mark.components("cri-o", "registry")


@pytest.mark.parametrize(
    ("fixture", "platform", "expected"),
    [
        pytest.param("containerd_2_3", "linux/arm64", FETCHED_AND_UNPACKED, marks=CONTAINERD),
        pytest.param("containerd_2_3", "linux/s390x", FETCHED_AND_UNPACKED, marks=CONTAINERD),
        pytest.param("containerd_2_3", "windows(10.0.17763)/amd64", FETCHED_ONLY, marks=CONTAINERD),
        pytest.param("containerd_1_7", "linux/arm64", FETCHED_AND_UNPACKED, marks=CONTAINERD),
        pytest.param(
            "containerd_1_7", "windows(10.0.17763)/amd64", FETCHED_AND_UNPACKED, marks=CONTAINERD
        ),
        pytest.param("containerd_1_6", "linux/arm64", FETCHED_AND_UNPACKED, marks=CONTAINERD),
        pytest.param(
            "containerd_1_6", "windows(10.0.17763)/amd64", FETCHED_AND_UNPACKED, marks=CONTAINERD
        ),
        pytest.param("crio_1_36", "linux/arm64", UNPACKED_ONLY, marks=CRIO),
        pytest.param("crio_1_36", "windows(10.0.17763)/amd64", UNPACKED_ONLY, marks=CRIO),
    ],
)
async def test_a_foreign_image_named_by_digest(
    fixture: str,
    platform: str,
    expected: Outcome,
    registry_3_1: registry.Registry,
    request: pytest.FixtureRequest,
) -> None:
    running: runtime.Runtime = request.getfixturevalue(fixture)
    marker = f"marker-{secrets.token_hex(8)}"
    sample = sample_images.image(
        [{marker: secrets.token_bytes(FILE_BYTES)}], platform=platforms.parse(platform)
    )
    name = references.parse(f"{registry_3_1.host}/foreign/{marker}:1")
    async with (
        registry_client.connect(SystemClock()) as pushing,
        calls.channel_to(running.endpoint) as channel,
    ):
        await sample_images.push(pushing, name, sample_images.index([sample]))
        client = CriClient(channel)
        with pytest.raises(cri.NoMatchingPlatform):
            await client.pull(ImageSpec(image=str(name)))
        image_id = await client.pull(ImageSpec(image=str(name.at(sample.digest))))
        assert image_id in {image.id for image in await client.images()}
    assert outcome(running.root, sample, marker) == expected


def outcome(root: pathlib.Path, sample: sample_images.SampleImage, marker: str) -> Outcome:
    manifest = manifests.parse(sample.manifest.content)
    assert isinstance(manifest, manifests.ImageManifest)
    (layer,) = manifest.layers
    return Outcome(
        keeps_compressed_layers=any(root.rglob(layer.digest.encoded)),
        unpacks=any(root.rglob(marker)),
    )
