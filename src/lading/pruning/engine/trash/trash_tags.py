"""The tags of the trash: each begins with the date of the deletion. Pure."""

import re
from datetime import UTC, datetime

_FORM = "%Y%m%dT%H%M%SZ"
_HEX_SHOWN = 100  # with the date before it a tag stays below 128 characters
_DATED = re.compile(r"(?:record-)?(\d{8}T\d{6}Z)-[0-9a-f]+")
_RECORD = re.compile(r"record-\d{8}T\d{6}Z-[0-9a-f]{12}")


def stamp(time: datetime) -> str:
    return time.strftime(_FORM)


def of_manifest(time: datetime, encoded: str) -> str:
    return f"{stamp(time)}-{encoded[:_HEX_SHOWN]}"


def of_record(name: str) -> str:
    return f"record-{name}"


def is_record(tag: str) -> bool:
    return _RECORD.fullmatch(tag) is not None


def date(tag: str) -> datetime | None:
    """None for other tags, such as that of the ledger."""
    match = _DATED.fullmatch(tag)
    return time(match[1]) if match else None


def time(stamped: str) -> datetime | None:
    """None if there is no such day or hour."""
    try:
        return datetime.strptime(stamped, _FORM).replace(tzinfo=UTC)
    except ValueError:
        return None
