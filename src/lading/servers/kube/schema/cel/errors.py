"""What can go wrong with an expression.

CelError
├── DoesNotCompile     a syntax or type error, seen before any object is
└── DoesNotEvaluate    an error while it ran on an object
"""


class CelError(Exception):
    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class DoesNotCompile(CelError):
    pass


class DoesNotEvaluate(CelError):
    pass
