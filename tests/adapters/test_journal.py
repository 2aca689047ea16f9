"""A journal on disk: bounded, and begun anew whatever is in the place of its file."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lading.adapters import journal
from lading.adapters.journal import FileJournal


def as_folder(path: Path) -> None:
    (path / "something").mkdir(parents=True)


def as_loop(path: Path) -> None:
    path.symlink_to(path)


def as_pipe(path: Path) -> None:
    os.mkfifo(path)


def as_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1024 * 1024 * 1024 * 1024)  # a sparse terabyte


def as_bytes(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 1000)


def as_deep(path: Path) -> None:
    path.write_bytes(b'["a",' + b"[" * 100_000)


@pytest.mark.parametrize("bad", [as_folder, as_loop, as_pipe, as_huge, as_bytes, as_deep])
def test_a_bad_file_is_a_fresh_start(bad: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "journal"
    bad(path)
    subject = FileJournal(path)
    assert subject.entries() == {}
    subject.put("a", 1)
    assert FileJournal(path).entries() == {"a": 1}


def test_a_link_at_the_name_of_a_journal_is_neither_read_nor_written_through(
    tmp_path: Path,
) -> None:
    outside, path = tmp_path / "outside", tmp_path / "journal"
    outside.write_bytes(b'["a",1]')
    path.symlink_to(outside)
    subject = FileJournal(path)
    assert subject.entries() == {}
    subject.put("b", 2)
    path.unlink()
    path.symlink_to(outside)
    with pytest.raises(OSError, match="symbolic links"):
        subject.put("c", 3)
    assert outside.read_bytes() == b'["a",1]'


def test_a_file_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    subject = FileJournal(path)
    subject.put("a", {"x": 1})
    subject.put("b", {"x": 2})
    path.write_bytes(path.read_bytes()[:-4])
    assert FileJournal(path).entries() == {"a": {"x": 1}}
    FileJournal(path).put("c", {"x": 3})
    assert FileJournal(path).entries() == {"a": {"x": 1}, "c": {"x": 3}}


def test_a_line_that_is_no_text_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b'["\xff", 1]\n["a", 1]')
    assert FileJournal(path).entries() == {"a": 1}


def test_a_full_journal_is_begun_anew_and_then_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "BYTES_MAX", 3 * len('\n["a",1]'))
    subject = FileJournal(tmp_path / "journal")
    for key in "abcde":
        subject.put(key, 1)
    assert set(subject.entries()) == {"d", "e"}
    assert set(FileJournal(tmp_path / "journal").entries()) == {"d", "e"}


def test_a_file_that_is_larger_than_a_journal_is_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its content must not fill the memory of an agent."""
    file = tmp_path / "journal"
    FileJournal(file).put("a", "x" * 200)
    monkeypatch.setattr(journal, "BYTES_MAX", 100)
    assert FileJournal(file).entries() == {}
    assert [path.name for path in tmp_path.iterdir()] == ["journal.unreadable"]


def test_a_note_that_is_larger_than_a_journal_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "BYTES_MAX", 100)
    subject = FileJournal(tmp_path / "journal")
    subject.put("a", "x" * 200)
    subject.put("b", 1)
    assert subject.entries() == {"b": 1}
