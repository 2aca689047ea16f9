"""The one error of patching: a patch that cannot be applied, in the words kubectl shows.

A patch that cannot be read is a bad request (400); one that can be read but does not fit the
object is unprocessable (422).
"""


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
