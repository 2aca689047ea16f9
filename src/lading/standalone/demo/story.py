"""Prints what happens, counts what was checked, and ends when a check does not hold."""

from collections.abc import Callable

import msgspec


class DemoFailed(Exception):
    """Something that the demo promised did not happen."""


class Story(msgspec.Struct):
    write: Callable[[str], None]
    scenes: int = 0
    checks: int = 0

    def scene(self, title: str) -> None:
        self.scenes += 1
        self.write(f"\n{self.scenes}. {title}")

    def tell(self, text: str) -> None:
        for line in text.rstrip("\n").splitlines():
            self.write(f"   {line}")

    def check(self, claim: str, holds: bool) -> None:
        if not holds:
            raise DemoFailed(f"check failed: {claim}")
        self.checks += 1
        self.write(f"   ✓ {claim}")
