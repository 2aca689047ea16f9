"""What the trash must have for an image of any form before the image goes."""

import json
from datetime import timedelta
from typing import Any

import pytest

from lading.kernel.digests import Digest
from lading.kernel.errors import Malformed
from lading.kernel.references import Reference
from lading.kernel.values import replace
from lading.ports import registry as registries
from lading.ports.registry import Manifest
from lading.pruning.engine.trash import trash as trash_module
from lading.pruning.engine.trash.trash import (
    NotWhole,
    Trash,
    TrashSettings,
    read_whole,
)
from tests.pruning.builders import NOW, REGISTRY
from tests.pruning.memory_registry import MemoryRegistry

PLACE = Reference(registry=REGISTRY, repository="team/app")
SETTINGS = TrashSettings(registry=REGISTRY)
LATER = NOW + timedelta(days=1)
RECORD = (
    b'{"repository":"team/app","group":"g","tags":{},"manifests":{},"configs":[],"reason":"",'
    b'"deletedAt":"2026-11-01T00:00:00Z","expiresAt":"2026-11-08T00:00:00Z"}'
)


async def put(registry: MemoryRegistry, document: dict[str, Any]) -> set[str]:
    """The blobs that are in the trash for it, without those of its record."""
    content = json.dumps(document).encode()
    manifest = Manifest(media_type="", digest=Digest.of(content), content=content)
    before = set(registry.data)
    await Trash(registry, SETTINGS).put(
        "team/app", "group", [manifest], tags={}, reason="", now=NOW
    )
    return registry.repositories[SETTINGS.repository].blobs & before


@pytest.mark.parametrize(
    "document",
    [
        {"fsLayers": [{"blobSum": "{}"}], "schemaVersion": 1},
        {"config": {"digest": "{}"}},
        {"layers": [{"digest": "{}", "mediaType": "application/vnd.oci.image.layer.v1.tar"}]},
        {"blobs": [{"digest": "{}"}]},
        {"mediaType": "x/y", "layers": [], "somewhere": [{"else": "{}"}]},
    ],
    ids=["schema 1", "configuration", "layer", "artifact", "unknown form"],
)
async def test_the_blobs_of_every_form_of_manifest_are_there(document: dict[str, Any]) -> None:
    registry = MemoryRegistry()
    blob = str((await registry.push_blob(PLACE, b"content")).digest)
    assert await put(registry, json.loads(json.dumps(document).replace("{}", blob))) == {blob}


async def test_a_layer_that_is_elsewhere_is_not_asked_for() -> None:
    layer = {"digest": str(Digest.of(b"x")), "mediaType": "application/x.foreign.diff.tar.gzip"}
    registry = MemoryRegistry()
    blob = str((await registry.push_blob(PLACE, b"content")).digest)
    assert await put(registry, {"config": {"digest": blob}, "layers": [layer]}) == {blob}


async def test_an_image_without_one_of_its_blobs_stays() -> None:
    with pytest.raises(NotWhole, match="does not have blob"):
        await put(MemoryRegistry(), {"config": {"digest": str(Digest.of(b"x"))}})


@pytest.mark.parametrize(
    "record",
    [
        b"garbage",
        b"[]",
        b'{"repository": "a", "group": "g"}',
        RECORD.replace(b"Z", b""),
        RECORD.replace(b'"manifests":{}', b'"manifests":{"garbage":"t"}'),
        RECORD.replace(b'"tags":{}', b'"tags":{"v1":"sha256:0"}'),
        RECORD.replace(b"team/app", b"team/../app"),
        RECORD.replace(b"team/app", b"team/app:v1"),
        RECORD.replace(b"team/app", b"lading-trash"),
        RECORD.replace(b'"manifests":{}', b'"manifests":{"sha256:%s":"../x"}' % (b"0" * 64)),
        RECORD.replace(b'"configs":[]', b'"configs":["../x"]'),
        RECORD.replace(b'"tags":{}', b'"tags":{"../x":"sha256:%s"}' % (b"0" * 64)),
        RECORD.replace(b'"tags":{}', b'"tags":{"v1@sha256:%s":"sha256:%s"}' % ((b"0" * 64,) * 2)),
    ],
    ids=[
        *("no JSON", "another form", "no times", "no time zone", "no digest", "a short digest"),
        *("no repository", "a tag as repository", "of the trash itself"),
        *("a path as tag in the trash", "a path as configuration", "no tag"),
        "a tag with a digest",
    ],
)
async def test_a_record_that_cannot_be_read_is_left_alone(record: bytes) -> None:
    """Any user who may push into the trash could stop every run with it."""
    registry = MemoryRegistry()
    trash = Trash(registry, SETTINGS)
    place = Reference(registry=REGISTRY, repository=SETTINGS.repository)
    for content in (RECORD, record):
        layer = await registry.push_blob(place, content)
        document = json.dumps({"layers": [{"digest": str(layer.digest)}]}).encode()
        manifest = Manifest(media_type="", digest=Digest.of(document), content=document)
        tag = f"record-20261101T000000Z-{layer.digest.encoded[:12]}"
        await registry.push_manifest(replace(place, tag=tag), manifest)
    found = await trash.records([SETTINGS.repository])
    assert [one.repository for _, one in found] == ["team/app"]
    assert await trash.expire(found, NOW + timedelta(days=3650)) == 1
    assert set(registry.repositories[SETTINGS.repository].tags) == {tag}


@pytest.mark.parametrize("template", ["{project}/trash", "trash"])
async def test_the_trash_of_a_project_is_about_its_own_repositories(template: str) -> None:
    """A member of `team` may push there, and not into the repositories of `prod`."""
    registry = MemoryRegistry()
    trash = Trash(registry, replace(SETTINGS, repository=template))
    name = trash.settings.repository_for("team/app")
    place = Reference(registry=REGISTRY, repository=name)
    for repository in (b"team/app", b"prod/app"):
        layer = await registry.push_blob(place, RECORD.replace(b"team/app", repository))
        document = json.dumps({"layers": [{"digest": str(layer.digest)}]}).encode()
        manifest = Manifest(media_type="", digest=Digest.of(document), content=document)
        tag = f"record-20261101T000000Z-{layer.digest.encoded[:12]}"
        await registry.push_manifest(replace(place, tag=tag), manifest)
    found = {record.repository for _, record in await trash.records([name])}
    assert found == ({"team/app", "prod/app"} if template == "trash" else {"team/app"})


async def pushed(registry: MemoryRegistry, document: dict[str, Any]) -> Manifest:
    content = json.dumps(document).encode()
    manifest = Manifest(media_type="", digest=Digest.of(content), content=content)
    await registry.push_manifest(PLACE.at(manifest.digest), manifest)
    return manifest


async def test_what_a_newer_record_holds_stays_when_the_older_one_is_over() -> None:
    registry = MemoryRegistry()
    manifest, trash = await pushed(registry, {"layers": []}), Trash(registry, SETTINGS)
    for now in (NOW, LATER):
        await trash.put("team/app", "group", [manifest], tags={}, reason="", now=now)
    records = await trash.records([SETTINGS.repository])
    assert await trash.expire(records, NOW + SETTINGS.period) == 1
    ((_, left),) = await trash.records([SETTINGS.repository])
    assert left.deleted_at == LATER
    assert registry.is_whole(SETTINGS.repository, str(manifest.digest))


class NoBrokenIndexes(MemoryRegistry):
    """Refuses to delete what an index of the repository holds, as some registries do."""

    async def delete(self, reference: Reference) -> bool:
        for manifest in self.repositories[reference.repository].manifests.values():
            held = json.loads(manifest.content).get("manifests", ())
            if str(reference.digest) in {entry["digest"] for entry in held}:
                raise registries.Denied("an index holds it", status=403)
        return await super().delete(reference)


async def test_an_index_comes_in_after_what_it_holds_and_goes_before() -> None:
    registry = NoBrokenIndexes()
    child = await pushed(registry, {"layers": []})
    index = await pushed(registry, {"manifests": [{"digest": str(child.digest)}]})
    contents: dict[str, Manifest] = {}
    await read_whole(registry, PLACE.at(index.digest), contents)
    assert list(contents) == [str(child.digest), str(index.digest)]
    trash = Trash(registry, SETTINGS)
    await trash.put("team/app", "group", contents.values(), tags={}, reason="", now=NOW)
    assert await trash.expire(await trash.records([SETTINGS.repository]), LATER + SETTINGS.period)
    assert registry.repositories[SETTINGS.repository].manifests == {}


async def test_an_image_stays_when_its_tag_in_the_trash_names_another() -> None:
    registry = MemoryRegistry()
    image, other = [await pushed(registry, {"layers": [], "n": one}) for one in "12"]
    push = registry.push_manifest

    async def mixed_up(reference: Reference, manifest: Manifest) -> None:
        await push(reference, other if manifest == image else manifest)

    registry.push_manifest = mixed_up  # type: ignore[method-assign]
    with pytest.raises(NotWhole, match="is not in the trash"):
        await Trash(registry, SETTINGS).put(
            "team/app", "group", [image], tags={}, reason="", now=NOW
        )


def test_each_project_may_have_its_own_trash() -> None:
    settings = TrashSettings(registry=REGISTRY, repository="{project}/trash")
    assert settings.repository_for("team/app/web") == "team/trash"
    assert settings.is_trash("team/trash")
    assert not settings.is_trash("team/app")
    assert not settings.is_trash("other/team/trash")


@pytest.mark.parametrize(
    "name", ["", "{project}", "{project}-trash", "trash/{project}", "{name}/trash", "Trash", "a//b"]
)
def test_a_name_that_could_not_be_known_as_the_trash_is_refused(name: str) -> None:
    with pytest.raises(Malformed, match="trash repository"):
        TrashSettings(registry=REGISTRY, repository=name)


@pytest.mark.parametrize("name", ["trash", "a/b", "{project}/trash", "{project}/of-{project}"])
def test_the_trash_of_any_repository_is_known_as_such(name: str) -> None:
    settings = TrashSettings(registry=REGISTRY, repository=name)
    assert settings.is_trash(settings.repository_for("team/app"))
    assert not settings.is_trash("team/app")


async def test_an_image_stays_when_its_record_could_not_be_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry = MemoryRegistry()
    monkeypatch.setattr(trash_module, "RECORD_BYTES_MAX", 100)
    with pytest.raises(NotWhole, match="too large to be read"):
        await put(registry, {"layers": []})
    assert await Trash(registry, SETTINGS).records([SETTINGS.repository]) == []


async def test_a_record_that_is_too_large_stops_no_run() -> None:
    registry = MemoryRegistry()
    await put(registry, {"layers": []})

    async def too_large(*_arguments: Any, **_more: Any) -> bytes:
        raise registries.TooLarge("more than 16 MiB")

    registry.blob = too_large  # type: ignore[method-assign]
    assert await Trash(registry, SETTINGS).records([SETTINGS.repository]) == []


@pytest.mark.parametrize("tag", ["v1", "a b"])
@pytest.mark.parametrize("repository", ["team/app", "Team/App", "lading-trash"])
async def test_what_could_not_be_restored_does_not_go_into_the_trash(
    repository: str, tag: str
) -> None:
    trash = Trash(MemoryRegistry(), SETTINGS)
    asked = trash.put(repository, "g", [], tags={tag: str(Digest.of(b""))}, reason="", now=NOW)
    if (repository, tag) == ("team/app", "v1"):
        record = await asked
        assert await trash.records([SETTINGS.repository]) == [(SETTINGS.repository, record)]
    else:
        with pytest.raises(NotWhole, match="would not be read again"):
            await asked
