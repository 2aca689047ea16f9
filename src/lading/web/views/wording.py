"""Makes texts of others safe for the page: short, printable, without apparent secrets."""

import shlex
from enum import IntEnum
from typing import Any

import msgspec

from lading.kernel import references, texts
from lading.kernel.errors import Malformed

MESSAGE_BYTES_MAX = 2048
LINES_MAX = 50
IMAGE_BYTES_MAX = 1024


def message(text: str) -> str:
    return texts.bounded_text(text, bytes_max=MESSAGE_BYTES_MAX)


def lines(text: str) -> str:
    """Cleans each line separately, because a message is one line."""
    return "\n".join(map(message, text.splitlines()[:LINES_MAX]))


def image(text: str) -> str:
    """Does not look for secrets: the tag in `secrets-store:1.4` is none."""
    try:
        references.parse(text)
    except Malformed:
        return message(text)
    return text[:IMAGE_BYTES_MAX]


def counted(count: int, one: str) -> str:
    return f"{count:,} {one}{'' if count == 1 else 's'}"


def command(*words: str) -> str:
    """Quotes names, because a user copies the command into a shell."""
    return " ".join(shlex.quote(message(word)) for word in words)


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
