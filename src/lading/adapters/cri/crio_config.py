"""CRI-O's drop-in folder, as far as pins are concerned: who sets them, and our one file.

CRI-O reads every file of the folder and of those in it, whatever its suffix, in the order of their
names; a list in a later file replaces the list of an earlier one.
"""

import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import tomli_w

from lading import files
from lading.ports.cri import CannotPin

OUR_FILE = "zz-lading-pinned-images.conf"
HEADER = "# Written by Lading, which replaces this file whenever its pins change.\n"
_HEADER_BYTES = HEADER.encode()
"""Files are compared as bytes: one that is not UTF-8 must not stop the node."""
OPENSHIFT_FILE = "50-pinned-images"
"""Where OpenShift's machine-config-daemon keeps the pins of the same PinnedImageSets."""


class CrioConfig:
    def __init__(self, *, main_file: Path, drop_in_folder: Path) -> None:
        self._main_file = main_file
        self._folder = drop_in_folder
        self._our_file = drop_in_folder / OUR_FILE

    def refusal(self) -> CannotPin | None:
        """Why our file must not be written; each reason names the file that stands in the way."""
        rival = self._folder / OPENSHIFT_FILE
        if rival.exists():
            return CannotPin(
                f"{rival} is managed by OpenShift's machine-config-daemon, which pins the same"
                " sets; two writers would undo each other. Stop one of them"
            )
        if self._our_file.exists() and not self._our_file.read_bytes().startswith(_HEADER_BYTES):
            return CannotPin(f"{self._our_file} exists and was not written by Lading; remove it")
        for file in self._files():
            if self._place(file) > (OUR_FILE,) and _pins_in(file) is not None:
                return CannotPin(
                    f"{file} sets pinned_images and is read after {OUR_FILE}, so it would replace"
                    " our pins. Rename it"
                )
        return None

    def written(self) -> set[str]:
        """What our file names now, ours and others'."""
        return set(_pins_in(self._our_file) or ())

    def write(self, images: Collection[str]) -> bool:
        """Makes these our pins, beside those in force without us; says whether it changed."""
        before = self._our_file.read_bytes() if self._our_file.exists() else b""
        after = self._content(images).encode() if images else b""
        if before == after:
            return False
        if after:
            self._replace(after)
        else:
            self._our_file.unlink()
        return True

    def _content(self, images: Collection[str]) -> str:
        pinned = sorted({*images, *self._pinned_by_others()})
        table = {"crio": {"image": {"pinned_images": pinned}}}
        return HEADER + tomli_w.dumps(table, multiline_strings=False)

    def _pinned_by_others(self) -> list[str]:
        """The list of the last file that has one: the one in force without ours."""
        lists = [_pins_in(file) for file in (self._main_file, *self._files())]
        return next((found for found in reversed(lists) if found is not None), [])

    def _files(self) -> list[Path]:
        others = (file for file in self._folder.rglob("*") if file != self._our_file)
        return sorted((file for file in others if file.is_file()), key=self._place)

    def _place(self, file: Path) -> tuple[str, ...]:
        """Sorts as CRI-O walks: a folder is read where its name stands."""
        return file.relative_to(self._folder).parts

    def _replace(self, content: bytes) -> None:
        """The temporary file is beside the folder: inside, CRI-O would read it."""
        beside = self._folder.parent
        files.write_atomically(self._our_file, content, temporary_folder=beside)


def _pins_in(file: Path) -> list[str] | None:
    """What the file sets, or None; a file that CRI-O cannot read either sets nothing."""
    try:
        document: Any = tomllib.loads(file.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return None
    for key in ("crio", "image"):
        document = document.get(key)
        if not isinstance(document, dict):
            return None
    pins = document.get("pinned_images")
    return [pin for pin in pins if isinstance(pin, str)] if isinstance(pins, list) else None
