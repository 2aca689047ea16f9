"""Pulling into the embedded runtime: what is on disk and listed afterwards, and after failures."""

import asyncio
import hashlib
import json
from pathlib import Path

import pytest

from lading.adapters.cri.client import CriClient
from lading.embedded.cri.core import EmbeddedRuntime
from lading.kernel import manifests
from lading.kernel.digests import Digest
from lading.ports import cri, registry
from lading.ports.cri import ImageSpec
from lading.ports.registry import Manifest
from tests.embedded.cri.conftest import new_runtime
from tests.embedded.cri.memory_registry import PIECE_BYTES, MemoryRegistry

LAYER = bytes(range(256)) * 1024  # 256 KiB, sixteen pieces


def blob_files(root: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (root / "blobs" / "sha256").iterdir()}


def partial_files(root: Path) -> list[Path]:
    return list((root / "ingest").iterdir())


async def test_every_stored_blob_has_the_digest_that_it_is_named_by(
    runtime: EmbeddedRuntime, registry: MemoryRegistry, root: Path
) -> None:
    registry.add_image("r.io/a:1", layers=(LAYER, b"second"))
    await runtime.pull(ImageSpec(image="r.io/a:1"))
    stored = blob_files(root)
    assert len(stored) == 4, "manifest, configuration and two layers"
    for name, content in stored.items():
        assert hashlib.sha256(content).hexdigest() == name
    assert partial_files(root) == []


async def test_a_layer_shared_by_two_images_is_fetched_and_stored_once(
    runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    registry.add_image("r.io/a:1", layers=(LAYER, b"a"))
    registry.add_image("r.io/b:1", layers=(LAYER, b"b"))
    await asyncio.gather(
        runtime.pull(ImageSpec(image="r.io/a:1")), runtime.pull(ImageSpec(image="r.io/b:1"))
    )
    assert registry.bytes_served < 2 * len(LAYER)
    await runtime.remove(ImageSpec(image="r.io/a:1"))
    assert await runtime.image(ImageSpec(image="r.io/b:1")) is not None
    assert (await runtime.filesystems()).images[0].used_bytes > len(LAYER)


async def test_removing_the_last_user_of_a_blob_frees_its_bytes(
    runtime: EmbeddedRuntime, registry: MemoryRegistry, root: Path
) -> None:
    before = (await runtime.filesystems()).images[0]
    registry.add_image("r.io/a:1", layers=(LAYER,))
    await runtime.pull(ImageSpec(image="r.io/a:1"))
    during = (await runtime.filesystems()).images[0]
    assert during.used_bytes - before.used_bytes >= len(LAYER)
    await runtime.remove(ImageSpec(image="r.io/a:1"))
    after = (await runtime.filesystems()).images[0]
    assert blob_files(root) == {}
    assert during.used_bytes - after.used_bytes >= len(LAYER)
    assert after.inodes_used == before.inodes_used


async def test_a_lost_connection_is_continued_where_it_broke(
    runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    registry.add_image("r.io/a:1", layers=(LAYER,))
    registry.fail_blobs_after_bytes = 5 * PIECE_BYTES
    with pytest.raises(cri.RegistryUnavailable, match="connection was lost"):
        await runtime.pull(ImageSpec(image="r.io/a:1"))
    assert await runtime.images() == ()
    registry.fail_blobs_after_bytes = None
    registry.offsets.clear()
    await runtime.pull(ImageSpec(image="r.io/a:1"))
    assert 5 * PIECE_BYTES in registry.offsets


async def test_a_partial_download_survives_a_restart_of_the_service(
    root: Path, registry: MemoryRegistry
) -> None:
    registry.add_image("r.io/a:1", layers=(LAYER,))
    registry.fail_blobs_after_bytes = 7 * PIECE_BYTES
    first = new_runtime(root, registry)
    with pytest.raises(cri.RegistryUnavailable):
        await first.pull(ImageSpec(image="r.io/a:1"))
    first.close()
    registry.fail_blobs_after_bytes = None
    registry.offsets.clear()
    second = new_runtime(root, registry)
    await second.pull(ImageSpec(image="r.io/a:1"))
    assert 7 * PIECE_BYTES in registry.offsets
    assert len(await second.images()) == 1
    second.close()


async def test_a_spoilt_partial_download_is_thrown_away_and_fetched_whole(
    runtime: EmbeddedRuntime, registry: MemoryRegistry, root: Path
) -> None:
    registry.add_image("r.io/a:1", layers=(LAYER,))
    registry.fail_blobs_after_bytes = 5 * PIECE_BYTES
    with pytest.raises(cri.RegistryUnavailable):
        await runtime.pull(ImageSpec(image="r.io/a:1"))
    partial = root / "ingest" / f"sha256-{Digest.of(LAYER).encoded}"
    partial.write_bytes(b"spoilt" + partial.read_bytes()[6:])
    registry.fail_blobs_after_bytes = None
    await runtime.pull(ImageSpec(image="r.io/a:1"))
    assert blob_files(root)[Digest.of(LAYER).encoded] == LAYER
    assert partial_files(root) == []


async def test_a_user_that_no_system_has_does_not_spoil_the_list(
    cri_client: CriClient, registry: MemoryRegistry
) -> None:
    registry.add_image("r.io/a:1", user="9" * 5000)
    await cri_client.pull(ImageSpec(image="r.io/a:1"))
    (image,) = await cri_client.images()
    assert (image.uid, image.username) == (None, "9" * 5000)


async def test_a_blob_with_the_wrong_bytes_is_rejected_and_not_kept(
    runtime: EmbeddedRuntime, registry: MemoryRegistry, root: Path
) -> None:
    registry.add_image("r.io/a:1", layers=(LAYER,))
    registry.blobs[Digest.of(LAYER)] = LAYER[:-1] + b"!"
    with pytest.raises(cri.ContentRejected):
        await runtime.pull(ImageSpec(image="r.io/a:1"))
    assert await runtime.images() == ()
    assert Digest.of(LAYER).encoded not in blob_files(root)
    assert partial_files(root) == []


@pytest.mark.parametrize("content", [LAYER[:-1], LAYER + b"more"])
async def test_a_blob_of_the_wrong_length_is_rejected_and_not_kept(
    runtime: EmbeddedRuntime, registry: MemoryRegistry, root: Path, content: bytes
) -> None:
    registry.add_image("r.io/a:1", layers=(LAYER,))
    registry.blobs[Digest.of(LAYER)] = content
    with pytest.raises(cri.ContentRejected, match=f"not {len(LAYER)} bytes"):
        await runtime.pull(ImageSpec(image="r.io/a:1"))
    assert partial_files(root) == []


async def test_an_image_that_does_not_fit_is_refused_before_anything_is_fetched(
    root: Path, registry: MemoryRegistry
) -> None:
    registry.add_image("r.io/a:1", layers=(LAYER,))
    runtime = new_runtime(root, registry, capacity_bytes=len(LAYER))
    with pytest.raises(cri.NoSpace, match="no space left on device"):
        await runtime.pull(ImageSpec(image="r.io/a:1"))
    assert (registry.bytes_served, blob_files(root), await runtime.images()) == (0, {}, ())
    runtime.close()


async def test_two_pulls_that_fit_only_one_at_a_time_never_exceed_the_capacity(
    root: Path, registry: MemoryRegistry
) -> None:
    registry.add_image("r.io/a:1", layers=(LAYER,))
    registry.add_image("r.io/b:1", layers=(LAYER[::-1],))
    capacity_bytes = len(LAYER) * 3 // 2
    runtime = new_runtime(root, registry, capacity_bytes=capacity_bytes)
    outcomes = await asyncio.gather(
        runtime.pull(ImageSpec(image="r.io/a:1")),
        runtime.pull(ImageSpec(image="r.io/b:1")),
        return_exceptions=True,
    )
    assert any(isinstance(outcome, cri.NoSpace) for outcome in outcomes)
    assert sum(len(content) for content in blob_files(root).values()) <= capacity_bytes
    runtime.close()


async def test_leftovers_of_a_failed_pull_make_room_for_another_image(
    root: Path, registry: MemoryRegistry
) -> None:
    registry.add_image("r.io/a:1", layers=(LAYER,))
    registry.add_image("r.io/b:1", layers=(LAYER[::-1],))
    runtime = new_runtime(root, registry, capacity_bytes=len(LAYER) * 3 // 2)
    registry.fail_blobs_after_bytes = len(LAYER) - PIECE_BYTES
    with pytest.raises(cri.RegistryUnavailable):
        await runtime.pull(ImageSpec(image="r.io/a:1"))
    registry.fail_blobs_after_bytes = None
    await runtime.pull(ImageSpec(image="r.io/b:1"))
    runtime.close()


async def test_a_cancelled_pull_leaves_no_image_and_can_be_taken_up_again(
    runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    registry.add_image("r.io/a:1", layers=(LAYER,))
    registry.stalls = True
    pull = asyncio.create_task(runtime.pull(ImageSpec(image="r.io/a:1")))
    await registry.stalled.wait()
    pull.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pull
    assert await runtime.images() == ()
    registry.stalls = False
    await runtime.pull(ImageSpec(image="r.io/a:1"))
    assert len(await runtime.images()) == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("busybox", "names no registry"),
        ("r.io/UPPER", "path component"),
        ("", "repository is empty"),
    ],
)
async def test_a_name_that_cannot_be_pulled_is_refused_with_the_reason(
    runtime: EmbeddedRuntime, name: str, message: str
) -> None:
    with pytest.raises(cri.InvalidReference, match=message):
        await runtime.pull(ImageSpec(image=name))


@pytest.mark.parametrize("name", ["busybox", "r.io/UPPER", ""])
async def test_what_cannot_be_pulled_is_no_error_to_ask_for_or_to_remove(
    runtime: EmbeddedRuntime, registry: MemoryRegistry, name: str
) -> None:
    """So that `crictl inspecti busybox` says that there is no such image, as on containerd."""
    registry.add_image("r.io/busybox:latest")
    await runtime.pull(ImageSpec(image="r.io/busybox"))
    assert await runtime.image(ImageSpec(image=name)) is None
    assert await runtime.inspect(ImageSpec(image=name)) is None
    await runtime.remove(ImageSpec(image=name))
    assert len(await runtime.images()) == 1


async def test_indexes_nested_without_end_are_refused(
    runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    inner = registry.add_image()
    for _ in range(5):
        inner = registry.add_index("r.io/deep:1", (inner, None))
    with pytest.raises(cri.ContentRejected, match="nested deeper"):
        await runtime.pull(ImageSpec(image="r.io/deep:1"))


async def test_a_manifest_that_is_no_manifest_is_refused(
    runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    content = b"[]"
    manifest = Manifest(
        media_type=manifests.OCI_MANIFEST, digest=Digest.of(content), content=content
    )
    registry.manifests[manifest.digest] = manifest
    registry.tag("r.io/bad:1", manifest)
    with pytest.raises(cri.ContentRejected, match="not a valid manifest"):
        await runtime.pull(ImageSpec(image="r.io/bad:1"))


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (registry.Unauthorized("401"), cri.Unauthorized),
        (registry.Denied("403"), cri.Unauthorized),
        (registry.TooManyRequests("429"), cri.RegistryUnavailable),
        (registry.NoProgress("stalled"), cri.RegistryUnavailable),
        (registry.DigestMismatch("wrong"), cri.ContentRejected),
    ],
)
async def test_what_the_registry_says_becomes_the_runtimes_error(
    runtime: EmbeddedRuntime,
    registry: MemoryRegistry,
    raised: registry.RegistryError,
    expected: type[cri.CriError],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def refuse(reference: object) -> Manifest:
        raise raised

    monkeypatch.setattr(registry, "manifest", refuse)
    with pytest.raises(expected):
        await runtime.pull(ImageSpec(image="r.io/a:1"))


async def test_inspection_shows_the_configuration_and_the_manifest(
    runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    manifest = registry.add_image("r.io/a:1", user="1002")
    await runtime.pull(ImageSpec(image="r.io/a:1"))
    inspection = await runtime.inspect(ImageSpec(image="r.io/a:1"))
    assert inspection is not None
    info = json.loads(inspection.info["info"])
    assert info["manifestDigest"] == str(manifest.digest)
    assert info["imageSpec"]["config"]["User"] == "1002"


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
async def test_an_image_is_found_and_removed_by_its_id_whatever_made_its_digests(
    runtime: EmbeddedRuntime, registry: MemoryRegistry, algorithm: str
) -> None:
    registry.algorithm = algorithm
    registry.add_image("r.io/a:1")
    image_id = await runtime.pull(ImageSpec(image="r.io/a:1"))
    assert image_id.startswith(f"{algorithm}:")
    found = await runtime.image(ImageSpec(image=image_id))
    assert found is not None
    assert found.repo_tags == ("r.io/a:1",)
    await runtime.remove(ImageSpec(image=image_id))
    assert await runtime.images() == ()
