"""Feature gates as Kubernetes writes them: `Name=true,Other=false`, over the defaults.

Each feature declares its gate as a value. The caller passes the known gates.
"""

from collections.abc import Iterable, Mapping

import msgspec

from lading.kernel.errors import Malformed

_TRUTHS = {"true": True, "false": False}


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    default: bool
    off: str
    """What the feature does while its gate is off, as one clause for help and docs."""


Gates = Mapping[Gate, bool]


def defaults(known: Iterable[Gate]) -> dict[Gate, bool]:
    return {gate: gate.default for gate in known}


def parse(text: str, known: Iterable[Gate]) -> dict[Gate, bool]:
    """Every known gate with its value; the empty text gives the defaults."""
    gates = defaults(known)
    by_name = {gate.name: gate for gate in gates}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = entry.partition("=")
        if name not in by_name:
            reason = f"expected one of {', '.join(by_name)}"
            raise Malformed(what="feature gate", text=name, reason=reason)
        gates[by_name[name]] = _truth(entry, value)
    return gates


def _truth(entry: str, value: str) -> bool:
    if value.lower() not in _TRUTHS:
        name = entry.partition("=")[0]
        reason = f"expected {name}=true or {name}=false"
        raise Malformed(what="feature gate", text=entry, reason=reason)
    return _TRUTHS[value.lower()]
