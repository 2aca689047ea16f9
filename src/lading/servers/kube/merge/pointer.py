"""JSON pointers (RFC 6901) into a document that is being changed.

Errors say which operation could not find what.
"""

from typing import Any

from lading.servers.kube.merge import errors
from lading.servers.kube.merge.errors import PatchError
from lading.servers.kube.schema.nodes import Document

LIST_ITEMS_MAX = 100_000  # a hostile index must not make a list of gigabytes


def tokens(pointer: str) -> list[str]:
    """The unescaped steps of a pointer; the empty pointer is the whole document."""
    if pointer == "":
        return []
    if not pointer.startswith("/"):
        raise errors.does_not_fit(f'path "{pointer}" does not start with "/"')
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]


def parent(document: Document, steps: list[str], *, operation: str, path: str) -> Any:
    """The object or list that holds the last step."""
    place: Any = document
    for step in steps[:-1]:
        place = _descend(place, step, operation=operation, path=path)
    if not isinstance(place, dict | list):
        raise missing(operation, path)
    return place


def get(place: Any, step: str, *, operation: str, path: str) -> Any:
    return _descend(place, step, operation=operation, path=path)


def _descend(place: Any, step: str, *, operation: str, path: str) -> Any:
    if isinstance(place, dict) and step in place:
        return place[step]
    if isinstance(place, list):
        return place[index(place, step, path=path, end=len(place) - 1)]
    raise missing(operation, path)


def index(place: list[Any], step: str, *, path: str, end: int) -> int:
    """A list position from 0 to `end`, or negative from the back as the API server allows."""
    digits = step.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > len(str(LIST_ITEMS_MAX)):
        raise errors.does_not_fit(f'"{step}" in path "{path}" is not a list index')
    position = int(step)
    if position < 0:
        position += end + 1
    if not 0 <= position <= end:
        raise errors.does_not_fit(f'index {step} in path "{path}" is out of range')
    return position


def missing(operation: str, path: str) -> PatchError:
    return errors.does_not_fit(f'{operation} operation does not apply: missing path "{path}"')
