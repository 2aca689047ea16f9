"""New file systems of a given size, each in a file of the host."""

import pathlib
import subprocess


def mount_new(image: pathlib.Path, mount_point: pathlib.Path, *, size_bytes: int) -> None:
    """An empty ext4. The file is sparse: it takes only the space of what is written."""
    with image.open("wb") as file:
        file.truncate(size_bytes)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    mount_point.mkdir()
    subprocess.run(["mount", "-o", "loop", image, mount_point], check=True)
