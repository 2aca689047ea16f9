"""A policy or binding that cannot be used as it is; the policy's failurePolicy decides then."""


class Misconfigured(Exception):
    """`where` names the one that is wrong: the policy or the binding."""

    def __init__(self, message: str, *, where: str = "binding") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
