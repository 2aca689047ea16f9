"""What is wrong, with the command that leads on. The page shows the most severe first."""

from enum import IntEnum
from typing import Any

import msgspec


class Urgency(IntEnum):
    """The order on the page."""

    ERROR = 0
    WARNING = 1
    NOTE = 2


class ShownProblem(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    feature: str
    urgency: Urgency
    title: str
    detail: str
    command: str
    purpose: str
    """What the command does, as the beginning of a sentence."""
    link: str
    """The part of the page that shows more."""

    def value(self) -> dict[str, Any]:
        return {
            "feature": self.feature,
            "urgency": self.urgency.name.lower(),
            "rank": int(self.urgency),
            "title": self.title,
            "detail": self.detail,
            "command": self.command,
            "purpose": self.purpose,
            "link": self.link,
        }
