"""What a registry wants to see: the WWW-Authenticate header of a 401, read strictly."""

import re
from collections.abc import Iterable, Iterator
from enum import Enum, auto

import msgspec

HEADER_CHARACTERS_MAX = 8192
_CHALLENGE = re.compile(r"(?:^|,)\s*(basic|bearer)(?=[\s,]|$)", re.IGNORECASE)
# Begins at the first letter of a word only: else a long word is looked through for each of them.
_PARAMETER = re.compile(r'(?<![a-zA-Z_])([a-zA-Z_]+)\s*=\s*(?:"([^"]*)"|([^",\s]+))')


class Scheme(Enum):
    BASIC = auto()
    BEARER = auto()


class Challenge(msgspec.Struct, frozen=True, kw_only=True):
    scheme: Scheme
    realm: str = ""
    service: str = ""
    scopes: frozenset[str] = frozenset()


def parse(headers: Iterable[str]) -> Challenge | None:
    """The challenge to answer; a bearer token is preferred to showing the password each time."""
    found = [challenge for text in headers for challenge in _parse_all(text)]
    found.sort(key=lambda challenge: challenge.scheme is Scheme.BASIC)
    return found[0] if found else None


def _parse_all(text: str) -> Iterator[Challenge]:
    """One header may hold several challenges, of schemes that we know and others."""
    text = text[:HEADER_CHARACTERS_MAX]
    found = list(_CHALLENGE.finditer(text))
    starts = [*(match.start() for match in found), len(text)]
    for match, end in zip(found, starts[1:], strict=True):
        yield _challenge(match[1], text[match.end() : end])


def _challenge(scheme: str, parameters: str) -> Challenge:
    if scheme.lower() == "basic":
        return Challenge(scheme=Scheme.BASIC)
    found = {key.lower(): quoted or plain for key, quoted, plain in _PARAMETER.findall(parameters)}
    return Challenge(
        scheme=Scheme.BEARER,
        realm=found.get("realm", ""),
        service=found.get("service", ""),
        scopes=frozenset(found.get("scope", "").split()),
    )
