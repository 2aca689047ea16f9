"""Why a stub cannot be translated, and what a translation loses. Pure.

A finding has a reason and a JSON path, but no value: user data has passwords and keys.
"""

from enum import StrEnum

import msgspec

FINDINGS_MAX = 20  # of each kind; a hostile stub must not fill a condition
Path = tuple[str | int, ...]


class RejectionReason(StrEnum):
    """Why a stub cannot be translated; each value is a sentence for people."""

    NOT_JSON = "the user data is not a JSON object"
    TOO_LARGE = "the user data is larger than the platform accepts"
    WRONG_TYPE = "the value has another type than the specification names"
    NUMBER = "the number is too large, or negative where it may not be"
    KEY_REPEATED = "the object has a key twice"
    KEY_CASE = "a key differs from the specification in upper and lower case"
    VALUE_REQUIRED = "the value is required"
    VERSION_MISSING = "the specification version is missing or malformed"
    VERSION_UNSUPPORTED = "this specification version cannot be translated"
    NETWORKD = "specification 3 has no networkd units; write them as files"
    URL = "the URL is malformed or its scheme does not exist in specification 3"
    PROXY = "the proxy is not a host with a port, and no http or https URL"
    HASH = "the hash is not sha512- and 128 hexadecimal digits"
    COMPRESSION = "only gzip is supported"
    HEADERS = "HTTP headers need an http or https URL"
    PATH = "the path is not absolute"
    MODE = "the mode is not between 0 and 4095"
    OWNER = "the owner is named by id and by name; only one is allowed"
    OVERWRITE = "overwrite and append exclude each other"
    PATH_TWICE = "another entry has the same path"
    PATH_UNDER_LINK = "the path leads through a link of the same configuration"
    PATH_OF_UNIT = "a systemd unit of the same configuration has this path"
    LINK_TO_DIRECTORY = "a hard link cannot point to a directory"
    FILESYSTEM_UNDECLARED = "the file system is not declared"
    FILESYSTEM_PATH = "the mount path of the file system is not known; name it by its path"
    FILESYSTEM = "the file system is not valid"
    LABEL = "the label is too long or holds a colon"
    GUID = "the GUID is malformed"
    SECTORS = "size and start in sectors cannot be translated without the sector size"
    PARTITION = "the partitions overlap or their numbers, labels or existence conflict"
    RAID = "the array is not valid"
    DUPLICATE = "another entry has the same key"
    UNIT_NAME = "the name of a unit or drop-in has an unknown suffix"
    UNIT_CONTENTS = "the unit cannot be parsed"
    USER_CREATE = "create and the same settings of the user exclude each other"


class Loss(StrEnum):
    """What a translation loses. The stub still works."""

    UNKNOWN_KEYS = "unknown keys are dropped, as Ignition ignores them"
    REPLACED = "an earlier entry of the same key is dropped, as the later one wins"
    HEADER_EMPTY = "an HTTP header without a value is dropped; specification 3 has none"
    MODE_UNSET = "the mode is not set; 0 is written, the default of specification 2"
    CREATE_NOT_FORCED = "an existing matching file system is now kept instead of refused"
    VERSION_UNKNOWN = "this version of specification 3 is newer than the ones known here"


class Finding(msgspec.Struct, frozen=True):
    what: RejectionReason | Loss
    path: Path = ()

    def __str__(self) -> str:
        return f"{shown(self.path)}: {self.what}" if self.path else str(self.what)


class Unreadable(Exception):
    """The stub cannot be read or translated. It has a limited number of findings."""

    def __init__(self, *findings: Finding) -> None:
        self.findings = findings
        super().__init__("; ".join(map(str, findings)))

    @property
    def reason(self) -> RejectionReason:
        what = self.findings[0].what
        assert isinstance(what, RejectionReason)
        return what


def shown(path: Path) -> str:
    """`storage.files[3].path`. A path has only keys of the specification, so no secrets."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")
