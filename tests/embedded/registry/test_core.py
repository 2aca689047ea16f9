"""What is on the disk: the layout, what a crash leaves behind, and what never becomes a path."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lading.embedded import sample_images
from lading.embedded.registry import catalog
from lading.embedded.registry import layout as layouts
from lading.embedded.registry.core import RegistryCore
from lading.embedded.registry.faults import Code, Fault
from lading.embedded.sample_images import SampleImage
from lading.kernel.digests import Digest

NOW = datetime(2026, 1, 1, tzinfo=UTC)
IMAGE = sample_images.image([{"a": b"b"}])


def push_blob(core: RegistryCore, name: str, content: bytes) -> Digest:
    digest = Digest.of(content)
    session = core.uploads.start(name, NOW)
    with core.uploads.appending(name, session) as file:
        file.write(content)
    core.uploads.finish(name, session, digest)
    return digest


def push(core: RegistryCore, name: str, tag: str, image: SampleImage = IMAGE) -> None:
    for _, content in image.blobs:
        push_blob(core, name, content)
    manifest = image.manifest
    core.manifests.put(name, tag, manifest.content, media_type=manifest.media_type, tags=[])


def listing(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_an_image_lies_where_the_distribution_project_puts_it(
    core: RegistryCore, tmp_path: Path
) -> None:
    push(core, "team/app", "v1")
    digests = [descriptor.digest.encoded for descriptor, _ in IMAGE.blobs]
    manifest = IMAGE.digest.encoded
    base, repository = "docker/registry/v2", "docker/registry/v2/repositories/team/app"
    assert listing(tmp_path) == {
        *(f"{base}/blobs/sha256/{each[:2]}/{each}/data" for each in (*digests, manifest)),
        *(f"{repository}/_layers/sha256/{each}/link" for each in digests),
        f"{repository}/_manifests/revisions/sha256/{manifest}/link",
        f"{repository}/_manifests/tags/v1/current/link",
        f"{repository}/_manifests/tags/v1/index/sha256/{manifest}/link",
    }
    link = tmp_path / repository / "_manifests/tags/v1/current/link"
    assert link.read_text() == str(IMAGE.digest)


def test_the_same_content_in_two_repositories_is_stored_once(
    core: RegistryCore, tmp_path: Path
) -> None:
    push(core, "one", "v1")
    push(core, "two", "v1")
    stored = [path for path in listing(tmp_path) if path.endswith("/data")]
    assert len(stored) == len(IMAGE.blobs) + 1


def test_a_link_that_names_another_algorithm_is_followed(core: RegistryCore) -> None:
    stored = push_blob(core, "app", b"content")
    alias = Digest.of(b"content", "sha512")
    layouts.write_link(core.layout.layer_link("app", alias), stored)
    assert core.blobs.path("app", alias) == core.layout.blob(stored)


def test_an_upload_goes_on_after_a_restart(core: RegistryCore, tmp_path: Path) -> None:
    session = core.uploads.start("app", NOW)
    with core.uploads.appending("app", session) as file:
        file.write(b"first,")
    restarted = RegistryCore.on(tmp_path)
    assert restarted.uploads.size("app", session) == 6
    with restarted.uploads.appending("app", session) as file:
        file.write(b"second")
    digest = Digest.of(b"first,second")
    restarted.uploads.finish("app", session, digest)
    assert restarted.blobs.path("app", digest).read_bytes() == b"first,second"


def test_two_writers_of_one_upload_are_not_mixed(core: RegistryCore) -> None:
    session = core.uploads.start("app", NOW)
    with (
        core.uploads.appending("app", session),
        pytest.raises(Fault, match="another request"),
        core.uploads.appending("app", session),
    ):
        pass
    with core.uploads.appending("app", session) as file:
        file.write(b"x")
    assert core.uploads.size("app", session) == 1


def test_an_upload_is_not_closed_while_a_request_could_still_make_it_longer(
    core: RegistryCore,
) -> None:
    session, digest = core.uploads.start("app", NOW), Digest.of(b"verified")
    with core.uploads.appending("app", session) as upload:
        upload.write(b"verified")
        upload.file.flush()
        for written in (session, session.upper()):
            with pytest.raises(Fault, match="another request"):
                core.uploads.finish("app", written, digest)
    core.uploads.finish("app", session, digest)
    assert core.blobs.path("app", digest).read_bytes() == b"verified"


def test_a_blob_without_its_link_is_not_there_and_can_be_pushed_again(core: RegistryCore) -> None:
    digest = push_blob(core, "app", b"content")
    core.layout.layer_link("app", digest).unlink()
    assert not core.blobs.contains("app", digest)
    push_blob(core, "app", b"content")
    assert core.blobs.contains("app", digest)


def test_a_link_without_its_blob_is_not_there(core: RegistryCore) -> None:
    digest = push_blob(core, "app", b"content")
    core.layout.blob(digest).unlink()
    with pytest.raises(Fault) as caught:
        core.blobs.path("app", digest)
    assert caught.value.code is Code.BLOB_UNKNOWN


def test_a_tag_folder_without_its_link_is_no_tag(core: RegistryCore) -> None:
    push(core, "app", "v1")
    core.layout.tag_link("app", "v2").parent.mkdir(parents=True)
    assert catalog.tags(core.layout, "app") == ["v1"]


@pytest.mark.parametrize("content", ["", "sha256:half", "../../../etc/passwd", "\x00" * 300])
def test_a_damaged_link_is_like_none(core: RegistryCore, content: str) -> None:
    push(core, "app", "v1")
    core.layout.tag_link("app", "v1").write_text(content)
    with pytest.raises(Fault) as caught:
        core.manifests.get("app", "v1")
    assert caught.value.code is Code.MANIFEST_UNKNOWN


@pytest.mark.parametrize(
    "session", ["../../../app", "not-a-session", "", "00000000-0000-0000-0000-000000000000"]
)
def test_an_upload_that_is_none_is_unknown(core: RegistryCore, session: str) -> None:
    with pytest.raises(Fault) as caught:
        core.uploads.size("app", session)
    assert caught.value.code is Code.BLOB_UPLOAD_UNKNOWN


def test_z12_only_uploads_that_are_too_old_are_purged(core: RegistryCore) -> None:
    began = datetime.now(UTC)
    session = core.uploads.start("team/app", began)
    core.uploads.purge(began + timedelta(days=6))
    assert core.uploads.size("team/app", session) == 0
    core.uploads.purge(began + timedelta(days=8))
    with pytest.raises(Fault):
        core.uploads.size("team/app", session)


def test_a_repository_below_another_is_its_own(core: RegistryCore) -> None:
    push(core, "team", "v1")
    push(core, "team/app", "v2")
    assert catalog.repositories(core.layout) == ["team", "team/app"]
    assert catalog.tags(core.layout, "team") == ["v1"]
