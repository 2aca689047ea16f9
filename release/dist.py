"""Makes a release in `dist/`: image, chart, manifests, wheel, sources, SBOM and checksums.

`python -m release.dist NAME [BASE]` uses the last commit. buildah or podman builds the image, which
is written as an OCI layout. With NAME@sha256:... the image exists already. The manifests and the
chart name the image by its digest. The same commit gives the same files, but for the image, byte
for byte.
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile

from release import manifests, sbom
from release.manifests import Mutable, ReleasedImage

ROOT = pathlib.Path(__file__).parents[1]
MANIFESTS = "lading-deploy.tar.gz"
BILL_OF_MATERIALS = "lading.cdx.json"
CHECKSUMS = "SHA256SUMS"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""The names of images for those of the kernel."""


class NoEngine(Exception):
    """No container engine is installed."""


def build(
    source: pathlib.Path, target: pathlib.Path, *, image: ReleasedImage, epoch_seconds: int
) -> None:
    """Makes all files but the image. Changes the source, which is a copy. Raises Mutable."""
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
    found = sbom.packages(sbom.LOCK.read_text(encoding="utf-8"))
    bill = json.dumps(sbom.document(sbom.project(), found), indent=2)
    (target / BILL_OF_MATERIALS).write_text(f"{bill}\n", encoding="utf-8")
    lines = [f"{_sha256(file)}  {file.name}\n" for file in sorted(target.iterdir())]
    (target / CHECKSUMS).write_text("".join(lines), encoding="utf-8")


def find_engine() -> str:
    if engine := shutil.which("buildah") or shutil.which("podman"):
        return engine
    raise NoEngine(
        "neither buildah nor podman is installed. Install one of them, or build "
        "deploy/Containerfile elsewhere and use IMAGE=REGISTRY/lading@sha256:... of that image"
    )


def build_image(
    source: pathlib.Path,
    target: pathlib.Path,
    *,
    engine: str,
    name: str,
    base: str,
    epoch_seconds: int,
) -> ReleasedImage:
    """Builds the image for the architecture of this machine, and writes it as an OCI layout."""
    version, machine = sbom.project().version, platform.machine()
    target.mkdir(exist_ok=True)
    file = target / f"lading-image-{version}-{ARCHITECTURES.get(machine, machine)}.tar"
    digest = file.with_suffix(".digest")
    commands = (
        [
            *("build", "--layers", f"--timestamp={epoch_seconds}", "--file=deploy/Containerfile"),
            *([f"--build-arg=BASE={base}"] if base else []),
            *(f"--tag={name}:{version}", "."),
        ],
        ["push", f"--digestfile={digest}", f"{name}:{version}", f"oci-archive:{file}:{version}"],
    )
    for command in commands:
        subprocess.run([engine, *command], cwd=source, stdout=sys.stderr, check=True)
    released = ReleasedImage(name=name, digest=digest.read_text(encoding="utf-8").strip())
    digest.unlink()
    return released


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


def main(image: str, base: str = "") -> int:
    target = ROOT / "dist"
    try:
        given = None if manifests.is_name(image) else ReleasedImage.parse(image)
        engine = "" if given else find_engine()
        shutil.rmtree(target, ignore_errors=True)
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder)
            _check_out(source)
            epoch_seconds = int(_git("log", "-1", "--format=%ct"))
            released = given or build_image(
                source,
                target,
                engine=engine,
                name=image,
                base=base,
                epoch_seconds=epoch_seconds,
            )
            build(source, target, image=released, epoch_seconds=epoch_seconds)
    except (Mutable, NoEngine) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    except subprocess.CalledProcessError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    print((target / CHECKSUMS).read_text(encoding="utf-8"), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
