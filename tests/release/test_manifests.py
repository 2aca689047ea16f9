"""A release names its image by digest everywhere; a tag is refused."""

import shutil
from pathlib import Path

import pytest
import yaml

from release import manifests
from release.manifests import Mutable, ReleasedImage

DEPLOY = Path(__file__).parents[2] / "deploy"
DIGEST = f"sha256:{'ab' * 32}"
IMAGE = ReleasedImage(name="registry.example.com:5000/team/lading", digest=DIGEST)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DEPLOY, tmp_path / "deploy"))


def test_an_image_by_digest_is_accepted() -> None:
    assert ReleasedImage.parse(f"registry.example.com:5000/team/lading@{DIGEST}") == IMAGE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "registry.example.com/lading",
        "registry.example.com/lading:0.1.0",
        f"registry.example.com/lading:0.1.0@{DIGEST}",
        "registry.example.com/lading@sha256:short",
        f"registry.example.com/lading@{DIGEST} ",
        f"@{DIGEST}",
    ],
)
def test_anything_else_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert manifests.main(str(DEPLOY), text) == 2
    assert "expected IMAGE=REGISTRY/lading@sha256:..." in capsys.readouterr().err


def test_the_manifests_name_the_digest_that_was_given(folder: Path) -> None:
    assert list(manifests.mutable_images(folder)), "a checkout has no digest yet"
    assert manifests.main(str(folder), f"{IMAGE.name}@{DIGEST}") == 0
    document = yaml.safe_load((folder / manifests.KUSTOMIZATION).read_text())
    assert document["images"] == [{"name": "lading", "newName": IMAGE.name, "digest": DIGEST}]
    assert (
        document["resources"]
        == yaml.safe_load((DEPLOY / manifests.KUSTOMIZATION).read_text())["resources"]
    )
    image = yaml.safe_load((folder / manifests.VALUES).read_text())["image"]
    assert (image["repository"], image["digest"]) == (IMAGE.name, DIGEST)
    assert list(manifests.mutable_images(folder)) == []


def test_a_second_digest_replaces_the_first(folder: Path) -> None:
    manifests.name_image(folder, ReleasedImage(name="a/b", digest=f"sha256:{'cd' * 32}"))
    manifests.name_image(folder, IMAGE)
    for name in (manifests.KUSTOMIZATION, manifests.VALUES):
        text = (folder / name).read_text()
        assert text.count(DIGEST) == 1
        assert "cd" * 32 not in text


@pytest.mark.parametrize("place", ["base/controller.yaml", "cri-o/agent.yaml"])
def test_a_tag_in_any_manifest_is_refused(folder: Path, place: str) -> None:
    file = folder / place
    container = "spec:\n  containers:\n    - name: x\n      image: example.com/x:1\n"
    file.write_text(f"{file.read_text()}---\n{container}")
    with pytest.raises(Mutable, match=f"not named by a digest: {place}: example.com/x:1"):
        manifests.name_image(folder, IMAGE)


def test_a_tag_in_another_kustomization_is_refused(folder: Path) -> None:
    file = folder / "cri-o" / "kustomization.yaml"
    file.write_text(f"{file.read_text()}images:\n  - name: lading\n    newTag: '2'\n")
    with pytest.raises(Mutable, match=r"cri-o/kustomization\.yaml"):
        manifests.name_image(folder, IMAGE)
