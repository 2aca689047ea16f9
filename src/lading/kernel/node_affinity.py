"""Which nodes match the required node affinity of a pod, and which node it names. Pure.

The affinity is plain JSON of a pod spec.
"""

from collections.abc import Iterable, Mapping
from typing import Any

Document = Mapping[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_NAME_FIELD = "metadata.name"


def terms(affinity: Document) -> tuple[Document, ...] | None:
    """The terms, one of which must match; None if nothing is required."""
    required = (affinity.get("nodeAffinity") or {}).get(REQUIRED)
    return tuple(required.get("nodeSelectorTerms") or ()) if required else None


def fits(affinity: Document, name: str, labels: Mapping[str, str]) -> bool:
    """Whether a node with this name and these labels matches."""
    required = terms(affinity)
    return required is None or any(_term_fits(term, name, labels) for term in required)


def target(affinity: Document) -> str:
    """The node for which the DaemonSet controller created a pod; empty if there is none."""
    for term in terms(affinity) or ():
        for field in term.get("matchFields") or ():
            is_name = (field.get("key"), field.get("operator")) == (_NAME_FIELD, "In")
            if is_name and field.get("values"):
                return str(field["values"][0])
    return ""


def _term_fits(term: Document, name: str, labels: Mapping[str, str]) -> bool:
    """All requirements of a term must match; an empty term matches no node."""
    by_label: Iterable[Document] = term.get("matchExpressions") or ()
    by_field: Iterable[Document] = term.get("matchFields") or ()
    if not by_label and not by_field:
        return False
    fields = {_NAME_FIELD: name}
    return all(_holds(one, labels) for one in by_label) and all(
        _holds(one, fields) for one in by_field
    )


def _holds(expression: Document, found: Mapping[str, str]) -> bool:
    value = found.get(expression.get("key", ""))
    wanted: list[str] = expression.get("values") or []
    match expression.get("operator"):
        case "In":
            return value in wanted
        case "NotIn":
            return value not in wanted
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return _compare(value, wanted) > 0
        case "Lt":
            return _compare(value, wanted) < 0
    return False


def _compare(value: str | None, wanted: list[str]) -> int:
    """Positive if the value is greater; 0 if they are equal or one is no number."""
    limit = wanted[0] if wanted else ""
    if value is None or not (_is_number(value) and _is_number(limit)):
        return 0
    return int(value) - int(limit)


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdecimal()
