"""What a registry wants to see: the WWW-Authenticate header of a 401, read strictly."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto

HEADER_CHARACTERS_MAX = 8192
_CHALLENGE = re.compile(r"\s*(basic|bearer)\b", re.IGNORECASE)
_PARAMETER = re.compile(r'([a-zA-Z_]+)\s*=\s*(?:"([^"]*)"|([^",\s]+))')


class Scheme(Enum):
    BASIC = auto()
    BEARER = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    scheme: Scheme
    realm: str = ""
    service: str = ""
    scopes: frozenset[str] = field(default=frozenset())


def parse(headers: Iterable[str]) -> Challenge | None:
    """The challenge to answer; a bearer token is preferred to showing the password each time."""
    found = [challenge for text in headers if (challenge := _parse_one(text)) is not None]
    found.sort(key=lambda challenge: challenge.scheme is Scheme.BASIC)
    return found[0] if found else None


def _parse_one(text: str) -> Challenge | None:
    text = text[:HEADER_CHARACTERS_MAX]
    match = _CHALLENGE.match(text)
    if match is None:
        return None
    if match[1].lower() == "basic":
        return Challenge(scheme=Scheme.BASIC)
    found = {key.lower(): quoted or plain for key, quoted, plain in _PARAMETER.findall(text)}
    return Challenge(
        scheme=Scheme.BEARER,
        realm=found.get("realm", ""),
        service=found.get("service", ""),
        scopes=frozenset(found.get("scope", "").split()),
    )
