"""Texts of strangers fit for the page: bounded, printable, without what looks like a secret."""

import shlex

from lading.kernel import references, texts
from lading.kernel.errors import Malformed

MESSAGE_BYTES_MAX = 2048
LINES_MAX = 50
IMAGE_BYTES_MAX = 1024


def message(text: str) -> str:
    return texts.bounded_text(text, bytes_max=MESSAGE_BYTES_MAX)


def lines(text: str) -> str:
    """Each line by itself, because a message is one line."""
    return "\n".join(map(message, text.splitlines()[:LINES_MAX]))


def image(text: str) -> str:
    """A reference has no place for a secret; in `secrets-store:1.4` the tag is none."""
    try:
        references.parse(text)
    except Malformed:
        return message(text)
    return text[:IMAGE_BYTES_MAX]


def counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def command(*words: str) -> str:
    """Words of strangers are quoted, because a person copies this into a shell."""
    return " ".join(shlex.quote(message(word)) for word in words)
