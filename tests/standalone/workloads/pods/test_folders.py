"""The volumes of pods on this machine."""

from pathlib import Path

from lading.standalone.workloads.pods import folders
from lading.standalone.workloads.pods.inputs import ProcessInputs


def inputs(root: Path, **files: bytes) -> ProcessInputs:
    own = root / "uid" / "containers" / "c"
    return ProcessInputs(
        arguments=(),
        own_folder=str(own),
        folders=(str(own / "v"), str(root / "uid" / "volumes" / "shared")),
        files={str(own / "v" / name): content for name, content in files.items()},
    )


def test_only_the_user_can_read_the_files(tmp_path: Path) -> None:
    folders.write(inputs(tmp_path, word=b"w"))
    file = tmp_path / "uid/containers/c/v/word"
    assert file.read_bytes() == b"w"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_the_next_start_has_the_files_of_now_and_what_was_left_in_shared_folders(
    tmp_path: Path,
) -> None:
    folders.write(inputs(tmp_path, old=b"1"))
    left = tmp_path / "uid/volumes/shared/left"
    left.write_bytes(b"x")
    folders.write(inputs(tmp_path, new=b"2"))
    assert [one.name for one in (tmp_path / "uid/containers/c/v").iterdir()] == ["new"]
    assert left.read_bytes() == b"x"


def test_the_volumes_of_pods_that_are_gone_are_removed(tmp_path: Path) -> None:
    for uid in ("a", "b", "c"):
        (tmp_path / uid / "volumes").mkdir(parents=True)
    folders.keep_only(tmp_path, {"a", "b"})
    folders.remove(tmp_path, "b")
    assert [one.name for one in tmp_path.iterdir()] == ["a"]
    folders.keep_only(tmp_path / "absent", ())
