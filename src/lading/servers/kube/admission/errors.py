"""A policy or binding that cannot be used as it is; the policy's failurePolicy decides then."""


class Misconfigured(Exception):
    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
