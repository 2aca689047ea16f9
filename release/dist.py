"""What a release consists of: image, chart, manifests, wheel, sources, bill of materials, sums.

`python -m release.dist NAME` makes it of the last commit, in `dist/`: also the image, as an OCI
layout. With NAME@sha256:... the image is one that an engine made after `deploy/Containerfile`. The
manifests and the chart, in the source archive too, name the image by its digest; without a name
there is no release. The same commit gives the same files on the same machine, byte for byte.
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

from release import image as release_image
from release import lock, manifests, oci, sbom
from release.manifests import Mutable, ReleasedImage

ROOT = pathlib.Path(__file__).parents[1]
MANIFESTS = "lading-deploy.tar.gz"
BILL_OF_MATERIALS = "lading.cdx.json"
CHECKSUMS = "SHA256SUMS"


def build(
    source: pathlib.Path, target: pathlib.Path, *, image: ReleasedImage, epoch_seconds: int
) -> None:
    """Of a copy of the repository, which is changed. Raises Mutable."""
    target.mkdir(exist_ok=True)
    manifests.name_image(source / "deploy", image)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", str(target)],
        cwd=source,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch_seconds)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    _archive(source / "deploy", target / MANIFESTS, epoch_seconds, name="deploy")
    chart = f"lading-{sbom.project().version}.tgz"
    _archive(source / "deploy" / "chart", target / chart, epoch_seconds, name="lading")
    found = lock.packages(sbom.LOCK.read_text(encoding="utf-8"))
    bill = json.dumps(sbom.document(sbom.project(), found), indent=2)
    (target / BILL_OF_MATERIALS).write_text(f"{bill}\n", encoding="utf-8")
    lines = [f"{_sha256(file)}  {file.name}\n" for file in sorted(target.iterdir())]
    (target / CHECKSUMS).write_text("".join(lines), encoding="utf-8")


def write_image(
    source: pathlib.Path, target: pathlib.Path, *, name: str, epoch_seconds: int
) -> ReleasedImage:
    """The image of this machine's architecture, as an OCI layout in one file."""
    made = release_image.build(source, epoch_seconds=epoch_seconds)
    target.mkdir(exist_ok=True)
    version = sbom.project().version
    file = target / f"lading-image-{version}-{oci.architecture()}.tar"
    oci.write_layout(made, file, tag=version)
    return ReleasedImage(name=name, digest=made.digest)


def _archive(folder: pathlib.Path, target: pathlib.Path, epoch_seconds: int, *, name: str) -> None:
    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mtime = epoch_seconds
        member.mode = 0o755 if member.isdir() else 0o644
        return member

    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.add(folder, arcname=name, filter=plain)
    target.write_bytes(gzip.compress(content.getvalue(), mtime=epoch_seconds))


def _sha256(file: pathlib.Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _check_out(target: pathlib.Path) -> None:
    content = _git("archive", "HEAD")
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        archive.extractall(target, filter="data")


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=True).stdout  # noqa: S607


def main(image: str) -> int:
    target = ROOT / "dist"
    try:
        given = None if manifests.is_name(image) else ReleasedImage.parse(image)
        shutil.rmtree(target, ignore_errors=True)
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder)
            _check_out(source)
            epoch_seconds = int(_git("log", "-1", "--format=%ct"))
            released = given or write_image(source, target, name=image, epoch_seconds=epoch_seconds)
            build(source, target, image=released, epoch_seconds=epoch_seconds)
    except Mutable as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    print((target / CHECKSUMS).read_text(encoding="utf-8"), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
