"""The images of a release come from the file in the layers of its image."""

import json

import pytest

from lading.kernel.errors import Malformed
from lading.pinned_images import release_payload
from lading.wiring.host import machine_platform
from tests.pinned_images.served_registry import ServedRegistry, served

__all__ = ["served"]
ETCD = f"quay.io/openshift/etcd@sha256:{'1' * 64}"
CLI = f"quay.io/openshift/cli@sha256:{'2' * 64}"


def image_references(*images: str, kind: str = "DockerImage") -> bytes:
    tags = [{"name": "a", "from": {"kind": kind, "name": image}} for image in images]
    return json.dumps({"kind": "ImageStream", "spec": {"tags": tags}}).encode()


async def images(served: ServedRegistry) -> tuple[str, ...]:
    return await release_payload.images(
        served.client, served.reference("release:v1"), machine_platform()
    )


async def test_the_release_and_every_image_of_it_are_returned(served: ServedRegistry) -> None:
    layers = [
        {release_payload.IMAGE_REFERENCES: image_references(CLI), "old": b""},
        {release_payload.IMAGE_REFERENCES: image_references(ETCD, CLI)},
        {"later": b"x" * 1000},
    ]
    release = await served.push("release:v1", layers)
    assert await images(served) == (release, ETCD, CLI)


async def test_a_file_that_a_later_layer_hides_is_not_there(served: ServedRegistry) -> None:
    layers = [
        {release_payload.IMAGE_REFERENCES: image_references(CLI)},
        {"release-manifests/.wh.image-references": b""},
    ]
    await served.push("release:v1", layers)
    with pytest.raises(Malformed, match="it has no release-manifests/image-references"):
        await images(served)


async def test_the_bytes_that_are_downloaded_are_bounded(
    served: ServedRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers = [
        {release_payload.IMAGE_REFERENCES: image_references(CLI)},
        {"noise": bytes(range(256)) * 8},
        {"small": b""},
    ]
    await served.push("release:v1", layers)
    monkeypatch.setattr(release_payload, "DOWNLOAD_BYTES_MAX", 200)
    with pytest.raises(Malformed, match="in its last 200 bytes of layers"):
        await images(served)


@pytest.mark.parametrize(
    "content",
    [
        b"no JSON",
        b"[]",
        b'{"kind": "List"}',
        image_references(),
        image_references(CLI, kind="ImageStreamTag"),
        image_references(""),
    ],
)
def test_a_file_of_another_form_is_refused(content: bytes) -> None:
    with pytest.raises(Malformed, match="release image"):
        release_payload.images_in(content, name="quay.io/release:v1")
