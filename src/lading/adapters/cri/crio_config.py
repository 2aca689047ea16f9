"""CRI-O's drop-in folder, as far as pins are concerned: who sets them, and our one file.

CRI-O reads every file of the folder and of those in it, whatever its suffix, in the order of their
names; a list in a later file replaces the list of an earlier one. So our file repeats the list that
is in force without it. Which pins are ours, and of which sets, is in comments of the file itself:
there is no second file that could be lost or differ.
"""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import tomli_w

from lading import files
from lading.kernel.errors import UNREADABLE
from lading.ports.cri import CannotPin, Image, Pin

OUR_FILE = "zz-lading-pinned-images.conf"
HEADER = "# Written by Lading, which replaces this file whenever its pins change.\n"
RECORD_PREFIX = "# lading: "
_HEADER_BYTES = HEADER.encode()
"""Files are compared as bytes: one that is not UTF-8 must not stop the node."""
OPENSHIFT_FILE = "50-pinned-images"
"""Where OpenShift's machine-config-daemon keeps the pins of the same PinnedImageSets."""


class PinRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One pin of ours in our file."""

    image: str
    image_id: str
    owners: tuple[str, ...]
    tags: tuple[str, ...] = ()
    """Further names by which it is pinned."""
    released: bool = False
    """No longer in the list; it stays recorded until CRI-O has let it go."""

    @property
    def pin(self) -> Pin:
        return Pin(image=self.image, image_id=self.image_id, owners=self.owners)


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
                    f"{file} sets pinned_images and is read after {OUR_FILE}, so it replaces the"
                    f" pins of Lading. Rename it so that it sorts before {OUR_FILE}"
                )
        return None

    def records(self) -> tuple[PinRecord, ...]:
        """Our pins, and those that CRI-O may not have let go yet."""
        lines = self._our_content().decode(errors="replace").splitlines()
        return tuple(
            record
            for line in lines
            if line.startswith(RECORD_PREFIX)
            and (record := _record(line.removeprefix(RECORD_PREFIX))) is not None
        )

    def is_outdated(self) -> bool:
        """Our file is damaged, or it hides a change of the list that is in force without it."""
        return self._our_content() != self._content(self.records())

    def write(self, records: Iterable[PinRecord]) -> bool:
        """Makes these our pins; returns whether CRI-O must read its configuration again."""
        before, after = self._our_content(), self._content(tuple(records))
        if before == after:
            return False
        pinned_before = self._pinned_now()
        if after:
            self._replace(after)
        else:
            self._our_file.unlink()
        return pinned_before != self._pinned_now()

    def is_pinned_by_others(self, image: Image) -> bool:
        names = (*image.repo_tags, *image.repo_digests)
        return any(_fits(pattern, name) for pattern in self._pinned_by_others() for name in names)

    def _our_content(self) -> bytes:
        """Empty when there is no file, or it is not ours."""
        try:
            content = self._our_file.read_bytes()
        except FileNotFoundError:
            return b""
        return content if content.startswith(_HEADER_BYTES) else b""

    def _content(self, records: tuple[PinRecord, ...]) -> bytes:
        """Empty: there is nothing to record, so there must be no file."""
        if not records:
            return b""
        lines = [f"{RECORD_PREFIX}{msgspec.json.encode(record).decode()}\n" for record in records]
        ours = {name for one in records if not one.released for name in (one.image, *one.tags)}
        table = {"crio": {"image": {"pinned_images": sorted({*ours, *self._pinned_by_others()})}}}
        text = "".join((HEADER, *lines, tomli_w.dumps(table, multiline_strings=False)))
        return text.encode()

    def _pinned_now(self) -> list[str] | None:
        """The list in force; None when our file cannot be read."""
        if not self._our_content():
            return sorted(self._pinned_by_others())
        ours = _pins_in(self._our_file)
        return None if ours is None else sorted(ours)

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
    except (OSError, *UNREADABLE):
        return None
    for key in ("crio", "image"):
        document = document.get(key)
        if not isinstance(document, dict):
            return None
    pins = document.get("pinned_images")
    return [pin for pin in pins if isinstance(pin, str)] if isinstance(pins, list) else None


def _record(text: str) -> PinRecord | None:
    """A damaged record is none: the list without it is outdated, and is written anew."""
    try:
        return msgspec.json.decode(text, type=PinRecord)
    except UNREADABLE:
        return None


def _fits(pattern: str, name: str) -> bool:
    """As CRI-O compares: `*word*` and `word*` are found anywhere in the name, others are equal."""
    pattern, name = pattern.lower(), name.lower()
    if not pattern.endswith("*"):
        return pattern == name
    return pattern.removeprefix("*").removesuffix("*") in name
