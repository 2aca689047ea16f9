"""Text of strangers (registries, runtimes, images) made fit to show: short, harmless, no secrets.

`bounded_text` stands in front of every log, status, Event and table. Its cost does not depend on
the text: what cannot be shown is not looked at. It recognises secrets by form (a password in a
URL, a query string, a bearer token); not to hand over a secret at all is the first defence.
"""

import re

TEXT_BYTES_MAX = 4096
LINES_BYTES_MAX = 16 * 1024
"""For a trace, which is longer than a message."""
READ_CHARACTERS_MAX = 16 * 1024
REDACTED = "[redacted]"

SECRET_NAME = re.compile(
    r"passw|secret|token|authorization|credential|private_?key|api_?key|cookie|dockerconfig",
    re.IGNORECASE,
)
# Each form begins where nothing of it can have begun before, or always consumes what it looked
# at: so each character is looked at a few times only, however hostile the text is.
_HEADER_WORDS = ("bearer", "basic")
_HEADER = re.compile(rf"\b({'|'.join(_HEADER_WORDS)})(\s++)[\w.~+/=-]{{8,}}", re.IGNORECASE)
_URL = re.compile(r"://[^\s\"'<>]+")
_QUERY = re.compile(r"\?[\w.~%+-]++=[^\s\"'<>]*")
_FIELD_WORDS = ("passw", "token", "secret", "signature", "credential")
_FIELD = re.compile(
    rf"((?:{'|'.join(_FIELD_WORDS)})[\w-]{{0,32}}+[\"']?\s?[=:]\s?)"
    r"(?:\"[^\"]*\"?|'[^']*'?|[^\s&\"',;]+)",
    re.IGNORECASE,
)
_DOCKER_AUTH = re.compile(r"([\"']auth[\"']\s?:\s?)(?:\"[^\"]*\"?|'[^']*'?)")
_WEB_TOKEN = re.compile(r"(?<![\w-])eyJ[\w-]{8,}+\.[\w-]++(?:\.[\w-]*+)?")


def bounded_text(text: str, *, bytes_max: int = TEXT_BYTES_MAX, keep_lines: bool = False) -> str:
    """The text without secrets and control characters; of a long one, the beginning and the end."""
    return _shortened(_printable(redacted(text), keep_lines=keep_lines), bytes_max)


def redacted(text: str) -> str:
    """The beginning of the text, as much as anyone shows, without what looks like a secret."""
    text = _beginning(text)
    lower = text.lower()  # most texts hold none of these words, and looking for them is quick
    if "://" in text:
        text = _URL.sub(_redacted_url, text)
    if "?" in text:
        text = _QUERY.sub(f"?{REDACTED}", text)
    if any(word in lower for word in _HEADER_WORDS):
        text = _HEADER.sub(rf"\1\2{REDACTED}", text)
    if any(word in lower for word in _FIELD_WORDS):
        text = _FIELD.sub(rf"\1{REDACTED}", text)
    if "auth" in text:
        text = _DOCKER_AUTH.sub(rf"\1{REDACTED}", text)
    return _WEB_TOKEN.sub(REDACTED, text) if "eyJ" in text else text


def _redacted_url(match: re.Match[str]) -> str:
    """Without the user and the query, which may be a signature; the match begins at `://`."""
    bare, mark, _ = match[0].partition("?")
    authority, slash, path = bare[3:].partition("/")
    user, at, host = authority.rpartition("@")
    shown = f"{REDACTED}@{host}" if user or at else host
    return f"://{shown}{slash}{path}{f'?{REDACTED}' if mark else ''}"


def _beginning(text: str) -> str:
    """As much as is looked at; a word that is cut in two might hide the form of a secret."""
    if len(text) <= READ_CHARACTERS_MAX:
        return text
    whole_words = text[:READ_CHARACTERS_MAX].rstrip().rpartition(" ")[0]
    return f"{whole_words} … ({len(text)} characters)"


def _printable(text: str, *, keep_lines: bool) -> str:
    """Control characters, and those that change the direction of text, as escapes."""
    if text.isprintable():
        return text
    kept = "\n\t" if keep_lines else ""
    return "".join(one if one.isprintable() or one in kept else _escape(one) for one in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _shortened(text: str, bytes_max: int) -> str:
    """Runtimes begin with what was asked for and end with the cause, so both ends are kept."""
    encoded = text.encode()
    if len(encoded) <= bytes_max:
        return text
    ellipsis = " … ".encode()
    end_bytes = (bytes_max - len(ellipsis)) // 3
    start_bytes = bytes_max - len(ellipsis) - end_bytes
    start = encoded[:start_bytes].decode(errors="ignore")
    end = encoded[len(encoded) - end_bytes :].decode(errors="ignore")
    return f"{start} … {end}"
