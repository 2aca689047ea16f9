"""Why a stub cannot be translated, and what is lost where it can. Pure.

A finding names its reason and a JSON path, never a value: user data holds passwords and keys.
"""

from enum import StrEnum

import msgspec

FINDINGS_MAX = 20  # of each kind; a hostile stub must not fill a condition
Path = tuple[str | int, ...]


class RejectionReason(StrEnum):
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
    RejectionReason.NOT_JSON: "the user data is not a JSON object",
    RejectionReason.TOO_LARGE: "the user data is larger than the platform accepts",
    RejectionReason.WRONG_TYPE: "the value has another type than the specification names",
    RejectionReason.KEY_REPEATED: "the object has a key twice",
    RejectionReason.KEY_CASE: "a key differs from the specification in upper and lower case",
    RejectionReason.VALUE_REQUIRED: "the value is required",
    RejectionReason.VERSION_MISSING: "the specification version is missing or malformed",
    RejectionReason.VERSION_UNSUPPORTED: "this specification version cannot be translated",
    RejectionReason.NETWORKD: "specification 3 has no networkd units; write them as files",
    RejectionReason.URL: "the URL is malformed or its scheme does not exist in specification 3",
    RejectionReason.HASH: "the hash is not sha512- and 128 hexadecimal digits",
    RejectionReason.COMPRESSION: "only gzip is supported",
    RejectionReason.HEADERS: "HTTP headers need an http or https URL",
    RejectionReason.PATH: "the path is not absolute",
    RejectionReason.MODE: "the mode is not between 0 and 4095",
    RejectionReason.OWNER: "the owner is named by id and by name; only one is allowed",
    RejectionReason.OVERWRITE: "overwrite and append exclude each other",
    RejectionReason.PATH_TWICE: "another entry has the same path",
    RejectionReason.PATH_UNDER_LINK: "the path leads through a link of the same configuration",
    RejectionReason.PATH_OF_UNIT: "a systemd unit of the same configuration has this path",
    RejectionReason.LINK_TO_DIRECTORY: "a hard link cannot point to a directory",
    RejectionReason.FILESYSTEM_UNDECLARED: "the file system is not declared",
    RejectionReason.FILESYSTEM_PATH: (
        "the mount path of the file system is not known; name it by its path"
    ),
    RejectionReason.FILESYSTEM: "the file system is not valid",
    RejectionReason.LABEL: "the label is too long or holds a colon",
    RejectionReason.GUID: "the GUID is malformed",
    RejectionReason.SECTORS: (
        "size and start in sectors cannot be translated without the sector size"
    ),
    RejectionReason.PARTITION: (
        "the partitions overlap or their numbers, labels or existence conflict"
    ),
    RejectionReason.RAID: "the array is not valid",
    RejectionReason.DUPLICATE: "another entry has the same key",
    RejectionReason.UNIT_NAME: "the name of a unit or drop-in has an unknown suffix",
    RejectionReason.UNIT_CONTENTS: "the unit cannot be parsed",
    RejectionReason.USER_CREATE: "create and the same settings of the user exclude each other",
}


class Loss(StrEnum):
    """What a translation does not keep; the stub still works."""

    UNKNOWN_KEYS = "unknown keys are dropped, as Ignition ignores them"
    REPLACED = "an earlier entry of the same key is dropped, as the later one wins"
    MODE_UNSET = "the mode is not set; 0 is written, which is what specification 2 means by that"
    CREATE_NOT_FORCED = "an existing matching file system is now kept instead of refused"
    VERSION_UNKNOWN = "this version of specification 3 is newer than the ones known here"


class Finding(msgspec.Struct, frozen=True):
    what: RejectionReason | Loss
    path: Path = ()

    def __str__(self) -> str:
        text = self.what.sentence if isinstance(self.what, RejectionReason) else self.what.value
        return f"{shown(self.path)}: {text}" if self.path else text


class Unreadable(Exception):
    """The stub cannot be read or translated; carries every finding that was made, bounded."""

    def __init__(self, *findings: Finding) -> None:
        self.findings = findings
        super().__init__("; ".join(map(str, findings)))

    @property
    def reason(self) -> RejectionReason:
        what = self.findings[0].what
        assert isinstance(what, RejectionReason)
        return what


def shown(path: Path) -> str:
    """`storage.files[3].path`: only the keys of the specification are ever in a path."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")
