"""All files of a release, made of a copy of this repository."""

import hashlib
import json
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

from release import dist, sbom
from release.manifests import ReleasedImage

ROOT = Path(__file__).parents[2]
DIGEST = f"sha256:{'ab' * 32}"
IMAGE = ReleasedImage(name="registry.example.com/lading", digest=DIGEST)
PARTS = ("deploy", "requirements", "src", "pyproject.toml", "README.md", "LICENSE")


def made(folder: Path) -> Path:
    source, target = folder / "source", folder / "dist"
    source.mkdir(parents=True)
    for name in PARTS:
        part = ROOT / name
        ignored = shutil.ignore_patterns("__pycache__")
        if part.is_dir():
            shutil.copytree(part, source / name, ignore=ignored)
        else:
            shutil.copy(part, source / name)
    dist.build(source, target, image=IMAGE, epoch_seconds=1_700_000_000)
    return target


def images(archive: Path) -> list[list[dict[str, str]]]:
    """Of every kustomization that names some."""
    with tarfile.open(archive) as opened:
        files = [one for one in opened if one.name.endswith("/kustomization.yaml")]
        documents = [yaml.safe_load(opened.extractfile(one) or b"") for one in files]
    return [one["images"] for one in documents if "images" in one]


def test_everything_names_the_digest_that_was_given(tmp_path: Path) -> None:
    target = made(tmp_path)
    version = sbom.project().version
    archives = [target / dist.MANIFESTS, target / f"lading-{version}.tar.gz"]
    for archive in archives:
        assert images(archive) == [[{"name": "lading", "newName": IMAGE.name, "digest": DIGEST}]]
    with tarfile.open(target / f"lading-{version}.tgz") as chart:
        names = chart.getnames()
        values = yaml.safe_load(chart.extractfile("lading/values.yaml") or b"")
    assert {"lading/Chart.yaml", "lading/templates/controller.yaml"} <= set(names)
    assert values["image"]["digest"] == DIGEST
    (wheel,) = target.glob("*.whl")
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".yaml")]
    bill = json.loads((target / dist.BILL_OF_MATERIALS).read_text())
    assert "pkg:pypi/numpy@" in str(bill["components"])
    sums = dict(line.split()[::-1] for line in (target / dist.CHECKSUMS).read_text().splitlines())
    assert sums.keys() == {one.name for one in target.iterdir()} - {dist.CHECKSUMS}
    for name, expected in sums.items():
        assert hashlib.sha256((target / name).read_bytes()).hexdigest() == expected


def test_the_same_source_gives_the_same_files(tmp_path: Path) -> None:
    first, second = made(tmp_path / "a"), made(tmp_path / "b")
    assert (first / dist.CHECKSUMS).read_text() == (second / dist.CHECKSUMS).read_text()


@pytest.mark.parametrize("image", ["", "registry.example.com/lading:0.1.0"])
def test_without_a_digest_there_is_no_release(
    image: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dist.main(image) == 2
    assert "expected IMAGE=REGISTRY/lading@sha256:..." in capsys.readouterr().err


ENGINE = f"""#!/bin/sh
echo "$@" >> {{log}}
for word in "$@"; do
  case "$word" in
    --digestfile=*) printf {DIGEST} > "${{word#*=}}";;
    oci-archive:*) file="${{word#*:}}"; printf image > "${{file%:*}}";;
  esac
done
"""


def test_an_engine_builds_the_image_and_its_digest_is_the_one_of_the_release(
    tmp_path: Path,
) -> None:
    log, engine, target = tmp_path / "log", tmp_path / "buildah", tmp_path / "dist"
    engine.write_text(ENGINE.replace("{log}", str(log)))
    engine.chmod(0o755)
    released = dist.build_image(
        tmp_path,
        target,
        engine=str(engine),
        name=IMAGE.name,
        base="mirror.example.com/python@sha256:00",
        epoch_seconds=7,
    )
    assert released == IMAGE
    (file,) = target.iterdir()
    assert file.read_text() == "image"
    build, push = log.read_text().splitlines()
    assert build.startswith("build --layers --timestamp=7 --file=deploy/Containerfile ")
    assert " --build-arg=BASE=mirror.example.com/python@sha256:00 " in build
    assert push.endswith(f"oci-archive:{file}:{sbom.project().version}")


def test_without_an_engine_the_last_release_stays_and_the_error_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(dist, "ROOT", tmp_path)
    (tmp_path / "dist").mkdir()
    assert dist.main(IMAGE.name) == 2
    assert (tmp_path / "dist").exists()
    assert "neither buildah nor podman is installed" in capsys.readouterr().err
