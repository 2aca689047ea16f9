"""Reads the JSON of a stub with the types that the specification names. Pure.

`Reader` gives the keys of one object and remembers which were read. Keys that were not read are
unknown to this version of the specification. Findings are collected, not raised.
"""

import json
from collections.abc import Iterator
from typing import Any, NoReturn

from lading.boot_images.ignition.findings import (
    FINDINGS_MAX,
    Finding,
    Loss,
    Path,
    RejectionReason,
    Unreadable,
)
from lading.kernel.errors import UNREADABLE

STUB_BYTES_MAX = 1_048_576  # the largest Secret that Kubernetes stores
_NUMBERS = range(-(2**63), 2**63)  # Ignition reads numbers into 64 bits


class Findings:
    """The findings so far in one stub of specification 2.`minor`."""

    def __init__(self, minor: int) -> None:
        self.minor = minor
        self.rejections: list[Finding] = []
        self.losses: list[Finding] = []

    def reject(self, reason: RejectionReason, path: Path) -> None:
        if len(self.rejections) < FINDINGS_MAX:
            self.rejections.append(Finding(reason, path))

    def lose(self, loss: Loss, path: Path) -> None:
        if len(self.losses) < FINDINGS_MAX:
            self.losses.append(Finding(loss, path))


class Reader:
    """One object of the source. A key of a later minor version than the stub's is unknown."""

    def __init__(self, value: Any, path: Path, findings: Findings) -> None:
        self.path = path
        self.findings = findings
        self._asked: set[str] = set()
        if value is not None and not isinstance(value, dict):
            findings.reject(RejectionReason.WRONG_TYPE, path)
        self._value: dict[str, Any] = value if isinstance(value, dict) else {}

    def reject(self, reason: RejectionReason, *keys: str | int) -> None:
        self.findings.reject(reason, (*self.path, *keys))

    def lose(self, loss: Loss, *keys: str | int) -> None:
        self.findings.lose(loss, (*self.path, *keys))

    def has(self, key: str) -> bool:
        return self._value.get(key) is not None

    def text(self, key: str, *, since: int = 0) -> str | None:
        """None if it is absent or empty, which mean the same in specification 2."""
        return self._typed(key, str, since) or None

    def present_text(self, key: str, *, since: int = 0) -> str | None:
        """For keys where an empty text differs from an absent one."""
        value = self._typed(key, str, since)
        return value if isinstance(value, str) else None

    def required(self, key: str) -> str:
        value = self.text(key)
        if value is None and not isinstance(self._value.get(key), int | list | dict):
            self.reject(RejectionReason.VALUE_REQUIRED, key)
        return value or ""

    def number(self, key: str, *, since: int = 0) -> int | None:
        value = self._typed(key, int, since)
        if value is not None and value not in _NUMBERS:
            self.reject(RejectionReason.NUMBER, key)
        return value if isinstance(value, int) else None

    def true(self, key: str, *, since: int = 0) -> bool | None:
        """True or None, for keys where false and absent mean the same."""
        return self._typed(key, bool, since) or None

    def truth(self, key: str, *, since: int = 0) -> bool | None:
        value = self._typed(key, bool, since)
        return value if isinstance(value, bool) else None

    def object(self, key: str, *, since: int = 0) -> "Reader":
        return Reader(self._get(key, since), (*self.path, key), self.findings)

    def objects(self, key: str, *, since: int = 0) -> Iterator["Reader"]:
        for index, value in enumerate(self._list(key, since)):
            yield Reader(value, (*self.path, key, index), self.findings)

    def texts(self, key: str, *, since: int = 0) -> list[str] | None:
        values = self._list(key, since)
        for index, value in enumerate(values):
            if not isinstance(value, str):
                self.reject(RejectionReason.WRONG_TYPE, key, index)
        return [value for value in values if isinstance(value, str)] or None

    def finish(self) -> None:
        """Keys that were not read are lost. Their names are input too, so they are not shown."""
        unknown = self._value.keys() - self._asked
        folded = {key.casefold() for key in self._asked}
        if any(key.casefold() in folded for key in unknown):
            self.reject(RejectionReason.KEY_CASE)
        elif unknown:
            self.lose(Loss.UNKNOWN_KEYS)

    def _get(self, key: str, since: int) -> Any:
        if self.findings.minor < since:
            return None
        self._asked.add(key)
        return self._value.get(key)

    def _typed(self, key: str, wanted: type, since: int) -> Any:
        value = self._get(key, since)
        if value is None or type(value) is wanted:
            return value
        self.reject(RejectionReason.WRONG_TYPE, key)
        return None

    def _list(self, key: str, since: int) -> list[Any]:
        value = self._get(key, since)
        if value is None:
            return []
        if not isinstance(value, list):
            self.reject(RejectionReason.WRONG_TYPE, key)
            return []
        return value


def parse(data: bytes) -> dict[str, Any]:
    """The stub as JSON in UTF-8, as Ignition reads it. An error has no text of the stub."""
    if len(data) > STUB_BYTES_MAX:
        raise Unreadable(Finding(RejectionReason.TOO_LARGE))
    try:
        value = json.loads(data.decode(), object_pairs_hook=_unique, parse_constant=_refuse)
        json.dumps(value, ensure_ascii=False).encode()  # fails for half a surrogate pair
    except UNREADABLE:
        raise Unreadable(Finding(RejectionReason.NOT_JSON)) from None
    if not isinstance(value, dict):
        raise Unreadable(Finding(RejectionReason.NOT_JSON))
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Unreadable(Finding(RejectionReason.KEY_REPEATED))
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError


def without_nothing(**fields: Any) -> dict[str, Any]:
    """The fields that are not None, an empty object or an empty list."""
    return {
        key: value for key, value in fields.items() if value is not None and value not in ({}, [])
    }
