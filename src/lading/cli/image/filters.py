"""`--filter` of `lading image ls`, with crictl's keys.

crictl's `before` and `since` are refused: CRI does not report when an image was pulled, so crictl
sorts by the alphabet there.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

import click

from lading.ports.cri import Image

Filter: TypeAlias = Callable[[Image], bool]


def read_all(_context: object, _option: object, texts: tuple[str, ...]) -> tuple[Filter, ...]:
    """The callback of the option."""
    return tuple(_read(text) for text in texts)


def _read(text: str) -> Filter:
    key, _, value = text.partition("=")
    match key, value:
        case "dangling", "true":
            return _is_dangling
        case "dangling", "false":
            return lambda image: not _is_dangling(image)
        case "reference", expression if expression:
            return _named(expression)
        case "before" | "since", _:
            raise click.BadParameter(f"{key}: the runtime does not report when an image was pulled")
    raise click.BadParameter(f"{text!r}: expected dangling=true|false or reference=REGEXP")


def _is_dangling(image: Image) -> bool:
    return not image.repo_tags


def _named(expression: str) -> Filter:
    """Anywhere in any of its names. crictl's help writes the expression between slashes."""
    try:
        pattern = re.compile(expression.strip("/"))
    except re.error as error:
        raise click.BadParameter(f"reference: not a regular expression: {error}") from error
    return lambda image: any(map(pattern.search, (*image.repo_tags, *image.repo_digests)))
