"""Feature gates as Kubernetes writes them: `Name=true,Other=false`, over the defaults."""

from collections.abc import Mapping
from enum import StrEnum

from lading.kernel.errors import Malformed


class Gate(StrEnum):
    PINNED_IMAGES = "PinnedImages"
    RUNTIME_CLASS_IN_IMAGE_CRI_API = "RuntimeClassInImageCriApi"


DEFAULTS: Mapping[Gate, bool] = {
    Gate.PINNED_IMAGES: True,
    Gate.RUNTIME_CLASS_IN_IMAGE_CRI_API: False,  # alpha upstream, and off
}
_TRUTHS = {"true": True, "false": False}


def parse(text: str) -> dict[Gate, bool]:
    """Every gate with its value; the empty text gives the defaults."""
    gates = dict(DEFAULTS)
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = entry.partition("=")
        gates[_gate(name)] = _truth(entry, value)
    return gates


def _gate(name: str) -> Gate:
    try:
        return Gate(name)
    except ValueError:
        known = ", ".join(Gate)
        raise Malformed(what="feature gate", text=name, reason=f"expected one of {known}") from None


def _truth(entry: str, value: str) -> bool:
    if value.lower() not in _TRUTHS:
        raise Malformed(what="feature gate", text=entry, reason="expected 'Name=true' or '=false'")
    return _TRUTHS[value.lower()]
