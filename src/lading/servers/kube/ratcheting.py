"""Forgives a custom resource what was wrong with it already and has not been touched.

A definition may have become stricter since an object was written; whoever changes another part
of the object, or its status, is not made to pay for that.
"""

import re
from collections.abc import Iterable
from typing import Any

from lading.servers.kube.schema.causes import Cause, Reason

Document = dict[str, Any]

_STEP = re.compile(r"\.?([^.\[\]]+)|\[([^\]]*)\]")
_ABSENT = object()


def new_problems(found: Iterable[Cause], document: Document, old: Document) -> list[Cause]:
    """The causes that stand at a place whose value has changed."""
    return [cause for cause in found if not _is_untouched(cause, document, old)]


def _is_untouched(cause: Cause, document: Document, old: Document) -> bool:
    steps = [name or index for name, index in _STEP.findall(cause.field)]
    if cause.reason == Reason.REQUIRED:
        steps = steps[:-1]
    here, before = _at(document, steps), _at(old, steps)
    return bool(steps) and here is not _ABSENT and here == before


def _at(value: Any, steps: list[str]) -> Any:
    for step in steps:
        match value:
            case dict():
                value = value.get(step, _ABSENT)
            case list() if step.isdigit() and int(step) < len(value):
                value = value[int(step)]
            case _:
                return _ABSENT
    return value
