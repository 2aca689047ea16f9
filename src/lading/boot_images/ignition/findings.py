"""Why a stub cannot be translated, and what is lost where it can. Pure.

A finding names its reason and a JSON path, never a value: user data holds passwords and keys.
"""

from dataclasses import dataclass
from enum import StrEnum

FINDINGS_MAX = 20  # of each kind; a hostile stub must not fill a condition
Path = tuple[str | int, ...]


class Reason(StrEnum):
    """Why there is no translation."""

    NOT_JSON = "NotJSON"
    TOO_LARGE = "TooLarge"
    WRONG_TYPE = "WrongType"
    KEY_REPEATED = "KeyRepeated"
    KEY_CASE = "KeyCase"
    VALUE_REQUIRED = "ValueRequired"
    VERSION_MISSING = "VersionMissing"
    VERSION_UNSUPPORTED = "VersionUnsupported"
    NETWORKD = "NetworkdUnits"
    URL = "InvalidURL"
    HASH = "InvalidHash"
    COMPRESSION = "InvalidCompression"
    HEADERS = "HeadersNeedHTTP"
    PATH = "InvalidPath"
    MODE = "InvalidMode"
    OWNER = "OwnerByIdAndName"
    OVERWRITE = "OverwriteAndAppend"
    PATH_TWICE = "PathTwice"
    PATH_UNDER_LINK = "PathUnderLink"
    PATH_OF_UNIT = "PathOfUnit"
    LINK_TO_DIRECTORY = "HardLinkToDirectory"
    FILESYSTEM_UNDECLARED = "FilesystemUndeclared"
    FILESYSTEM_PATH = "FilesystemPathUnknown"
    FILESYSTEM = "InvalidFilesystem"
    LABEL = "InvalidLabel"
    GUID = "InvalidGUID"
    SECTORS = "PartitionInSectors"
    PARTITION = "InvalidPartition"
    RAID = "InvalidRaid"
    DUPLICATE = "Duplicate"
    UNIT_NAME = "InvalidUnitName"
    UNIT_CONTENTS = "InvalidUnitContents"
    USER_CREATE = "UserCreateConflict"

    @property
    def sentence(self) -> str:
        return _SENTENCES[self]


_SENTENCES = {
    Reason.NOT_JSON: "the user data is not a JSON object",
    Reason.TOO_LARGE: "the user data is larger than the platform accepts",
    Reason.WRONG_TYPE: "the value has another type than the specification names",
    Reason.KEY_REPEATED: "the object has a key twice",
    Reason.KEY_CASE: "a key differs from the specification in upper and lower case",
    Reason.VALUE_REQUIRED: "the value is required",
    Reason.VERSION_MISSING: "the specification version is missing or malformed",
    Reason.VERSION_UNSUPPORTED: "this specification version cannot be translated",
    Reason.NETWORKD: "specification 3 has no networkd units; write them as files",
    Reason.URL: "the URL is malformed or its scheme does not exist in specification 3",
    Reason.HASH: "the hash is not sha512- and 128 hexadecimal digits",
    Reason.COMPRESSION: "only gzip is supported",
    Reason.HEADERS: "HTTP headers need an http or https URL",
    Reason.PATH: "the path is not absolute",
    Reason.MODE: "the mode is not between 0 and 4095",
    Reason.OWNER: "the owner is named by id and by name; only one is allowed",
    Reason.OVERWRITE: "overwrite and append exclude each other",
    Reason.PATH_TWICE: "another entry has the same path",
    Reason.PATH_UNDER_LINK: "the path leads through a link of the same configuration",
    Reason.PATH_OF_UNIT: "a systemd unit of the same configuration has this path",
    Reason.LINK_TO_DIRECTORY: "a hard link cannot point to a directory",
    Reason.FILESYSTEM_UNDECLARED: "the file system is not declared",
    Reason.FILESYSTEM_PATH: "the mount path of the file system is not known; name it by its path",
    Reason.FILESYSTEM: "the file system is not valid",
    Reason.LABEL: "the label is too long or holds a colon",
    Reason.GUID: "the GUID is malformed",
    Reason.SECTORS: "size and start in sectors cannot be translated without the sector size",
    Reason.PARTITION: "the partitions overlap or their numbers, labels or existence conflict",
    Reason.RAID: "the array is not valid",
    Reason.DUPLICATE: "another entry has the same key",
    Reason.UNIT_NAME: "the name of a unit or drop-in has an unknown suffix",
    Reason.UNIT_CONTENTS: "the unit cannot be parsed",
    Reason.USER_CREATE: "create and the same settings of the user exclude each other",
}


class Loss(StrEnum):
    """What a translation does not keep; the stub still works."""

    UNKNOWN_KEYS = "unknown keys are dropped, as Ignition ignores them"
    REPLACED = "an earlier entry of the same key is dropped, as the later one wins"
    MODE_UNSET = "the mode is not set; 0 is written, which is what specification 2 means by that"
    CREATE_NOT_FORCED = "an existing matching file system is now kept instead of refused"
    VERSION_UNKNOWN = "this version of specification 3 is newer than the ones known here"


@dataclass(frozen=True, slots=True)
class Finding:
    what: Reason | Loss
    path: Path = ()

    def __str__(self) -> str:
        text = self.what.sentence if isinstance(self.what, Reason) else self.what.value
        return f"{shown(self.path)}: {text}" if self.path else text


class Unreadable(Exception):
    """The stub cannot be read or translated; carries every finding that was made, bounded."""

    def __init__(self, *findings: Finding) -> None:
        self.findings = findings
        super().__init__("; ".join(map(str, findings)))

    @property
    def reason(self) -> Reason:
        what = self.findings[0].what
        assert isinstance(what, Reason)
        return what


def shown(path: Path) -> str:
    """`storage.files[3].path`: only the keys of the specification are ever in a path."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")
