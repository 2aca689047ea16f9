"""Values are frozen structs, which are defined sixty times as fast as dataclasses."""

from typing import TYPE_CHECKING, ClassVar

import msgspec

if TYPE_CHECKING:  # mypy checks the names and types of the fields only in this one
    from dataclasses import replace
else:
    from msgspec.structs import replace

__all__ = ["Redacted", "replace"]


class Redacted(msgspec.Struct, frozen=True):
    """A value with secrets or long content: its repr shows only the fields in `shown`."""

    shown: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.shown)
        return f"{type(self).__name__}({fields})"
