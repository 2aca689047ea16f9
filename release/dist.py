"""What a release consists of: wheel, source archive, manifests, bill of materials, checksums.

`python -m release.dist NAME@sha256:...` makes it of the last commit, in `dist/`. The manifests, in
the source archive too, name the image by the digest that was given; without one there is no
release. The same commit and image give the same files, byte for byte.
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

from release import lock, manifests, sbom
from release.manifests import Mutable, ReleasedImage

ROOT = pathlib.Path(__file__).parents[1]
MANIFESTS = "lading-deploy.tar.gz"
BILL_OF_MATERIALS = "lading.cdx.json"
CHECKSUMS = "SHA256SUMS"


def build(
    source: pathlib.Path, target: pathlib.Path, *, image: ReleasedImage, epoch_seconds: int
) -> None:
    """Of a copy of the repository, which is changed. Raises Mutable."""
    manifests.name_image(source / "deploy", image)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", str(target)],
        cwd=source,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch_seconds)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    _archive(source / "deploy", target / MANIFESTS, epoch_seconds)
    found = lock.packages(sbom.LOCK.read_text(encoding="utf-8"))
    bill = json.dumps(sbom.document(sbom.project(), found), indent=2)
    (target / BILL_OF_MATERIALS).write_text(f"{bill}\n", encoding="utf-8")
    lines = [f"{_sha256(file)}  {file.name}\n" for file in sorted(target.iterdir())]
    (target / CHECKSUMS).write_text("".join(lines), encoding="utf-8")


def _archive(folder: pathlib.Path, target: pathlib.Path, epoch_seconds: int) -> None:
    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mtime = epoch_seconds
        member.mode = 0o755 if member.isdir() else 0o644
        return member

    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.add(folder, arcname=folder.name, filter=plain)
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
        released = ReleasedImage.parse(image)
        shutil.rmtree(target, ignore_errors=True)
        with tempfile.TemporaryDirectory() as folder:
            _check_out(pathlib.Path(folder))
            epoch_seconds = int(_git("log", "-1", "--format=%ct"))
            build(pathlib.Path(folder), target, image=released, epoch_seconds=epoch_seconds)
    except Mutable as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    print((target / CHECKSUMS).read_text(encoding="utf-8"), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
