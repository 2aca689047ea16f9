"""Counts and quantities that may not be negative, or not more than others."""

from collections.abc import Iterable, Iterator

from lading.kernel import quantities
from lading.servers.kube.schema import causes
from lading.servers.kube.schema.causes import Cause
from lading.servers.kube.schema.nodes import Document

NOT_NEGATIVE = "must be greater than or equal to 0"
_STANDARD = ("cpu", "memory", "ephemeral-storage")
_HUGE_PAGES = "hugepages-"


def negative(holder: Document, keys: Iterable[str], field: str) -> Iterator[Cause]:
    """The counts among these fields that are less than nothing."""
    for key in keys:
        count = holder.get(key)
        if count is not None and count < 0:
            yield causes.invalid(f"{field}.{key}", count, NOT_NEGATIVE)


def resources(given: Document, field: str) -> Iterator[Cause]:
    """What a container asks for and may use."""
    limits = given.get("limits") or {}
    for key in ("limits", "requests"):
        for name, amount in (given.get(key) or {}).items():
            yield from _resource(name, amount, f"{field}.{key}[{name}]")
    for name, amount in (given.get("requests") or {}).items():
        limit = limits.get(name)
        if limit is None and "/" in name:
            detail = "Limit must be set for non overcommitable resources"
            yield causes.required(f"{field}.limits", detail)
        elif limit is not None and quantities.parse(amount) > quantities.parse(limit):
            detail = f"must be less than or equal to {name} limit of {limit}"
            yield causes.invalid(f"{field}.requests", amount, detail)


def _resource(name: str, amount: str, field: str) -> Iterator[Cause]:
    if "/" not in name and name not in _STANDARD and not name.startswith(_HUGE_PAGES):
        for what in ("type or fully qualified", "for containers"):
            yield causes.invalid(field, name, f"must be a standard resource {what}")
    if quantities.parse(amount) < 0:
        yield causes.invalid(field, amount, NOT_NEGATIVE)
