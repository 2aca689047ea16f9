"""The one error of patching: a patch that cannot be applied, in the words kubectl shows.

A patch that cannot be read is a bad request (400); one that can be read but does not fit the
object is unprocessable (422).
"""

from typing import Any

NESTING_LEVELS_MAX = 500  # far beyond any API object, well inside the interpreter's own limit


class PatchError(ValueError):
    """A patch is malformed or does not fit the document; the document is left as it was."""

    def __init__(self, message: str, *, code: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


def does_not_fit(why: str) -> PatchError:
    """An operation that the document does not allow."""
    return PatchError(
        f"the server rejected our request due to an error in our request: {why}", code=422
    )


def refuse_deep_nesting(value: Any) -> None:
    """Raises PatchError for a value nested deeper than any API object."""
    level: list[Any] = [value]
    for _ in range(NESTING_LEVELS_MAX):
        level = [inner for outer in level for inner in _children(outer)]
        if not level:
            return
    raise PatchError(f"the patch is nested deeper than {NESTING_LEVELS_MAX} levels")


def _children(value: Any) -> list[Any]:
    match value:
        case dict():
            return [inner for inner in value.values() if isinstance(inner, dict | list)]
        case list():
            return [inner for inner in value if isinstance(inner, dict | list)]
        case _:
            return []
