"""A data folder and its secrets belong to one user; what others own or can write is refused."""

import os
import stat
from pathlib import Path

import pytest

from lading.embedded import data_folder
from lading.embedded.data_folder import UnsafeFile

PLANTED = "a-token-that-another-user-knows"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mode", [0o755, 0o700, 0o777])
def test_an_empty_folder_of_ours_is_closed(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(mode)
    data_folder.prepare(folder)
    assert mode_of(folder) == 0o700


def test_a_new_folder_is_closed_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        data_folder.prepare(tmp_path / "data")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "data") == 0o700


def test_a_used_folder_that_others_could_read_is_closed(tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").touch()
    tmp_path.chmod(0o755)
    data_folder.prepare(tmp_path)
    assert mode_of(tmp_path) == 0o700


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_used_folder_that_others_could_write_is_refused(tmp_path: Path, mode: int) -> None:
    (tmp_path / "admin-token").write_text(PLANTED)
    tmp_path.chmod(mode)
    with pytest.raises(UnsafeFile, match="can be written by other users"):
        data_folder.prepare(tmp_path)


def as_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)


def test_a_folder_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_another_user(monkeypatch)
    with pytest.raises(UnsafeFile, match="belongs to the user with the ID"):
        data_folder.prepare(tmp_path)


def test_a_secret_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "admin-token"
    made = data_folder.secret(path)
    assert len(made) > 40
    assert mode_of(path) == 0o600
    assert data_folder.secret(path) == made


def test_a_secret_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "admin-token").write_text(PLANTED)
    as_another_user(monkeypatch)
    with pytest.raises(UnsafeFile, match="belongs to the user"):
        data_folder.secret(tmp_path / "admin-token")


def test_an_empty_secret_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.touch(mode=0o600)
    assert len(data_folder.secret(file)) > 40


def test_a_secret_that_others_can_write_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "admin-token"
    path.write_text(PLANTED)
    path.chmod(0o666)
    with pytest.raises(UnsafeFile, match="can be written by other users"):
        data_folder.secret(path)


def test_a_link_to_somewhere_else_is_no_secret(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text(PLANTED)
    (tmp_path / "admin-token").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        data_folder.secret(tmp_path / "admin-token")
