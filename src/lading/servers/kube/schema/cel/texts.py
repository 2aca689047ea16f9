"""Regular expressions and URLs for CEL: find, findAll, url, isURL and the parts of a URL.

The expressions are those of RE2, as `matches` has them: a hostile one takes linear time.
"""

import functools
import itertools
import re
from collections.abc import Callable
from typing import Any
from urllib import parse

import re2

from lading.servers.kube.schema.cel.declare import Declare, function, method, named, tagged

URL = "url"
PATTERNS_MAX = 256


def functions() -> list[Any]:
    return [
        named("find", method("ss>s", _find)),
        named("findAll", method("ss>L", _find_all), method("ssi>L", _find_all)),
        named("url", function("s>d", _url)),
        named("isURL", function("s>b", _is_url)),
        named("getScheme", _part(lambda url: url.scheme)),
        named("getHost", _part(lambda url: url.netloc.rpartition("@")[2])),
        named("getHostname", _part(_hostname)),
        named("getPort", _part(lambda url: str(url.port or ""))),
        named(
            "getEscapedPath", _part(lambda url: parse.quote(url.path, safe="/%:@!$&'()*+,;=~-._"))
        ),
        named("getQuery", method("d>d", _query)),
    ]


def _find(text: str, pattern: str) -> str:
    match = _compiled(pattern).search(text)
    return match[0] if match else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = (match[0] for match in _compiled(pattern).finditer(text))
    return list(found if limit < 0 else itertools.islice(found, limit))


@functools.lru_cache(maxsize=PATTERNS_MAX)
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise ValueError(f"Illegal regex: {error}") from error


def _parsed(text: str) -> parse.SplitResult:
    parsed = parse.urlsplit(text)
    _ = parsed.port  # raises for a port that is not a number
    if not (parsed.scheme and re.fullmatch(r"[a-zA-Z][a-zA-Z0-9+.-]*", parsed.scheme)) and not (
        text.startswith("/")
    ):
        raise ValueError(f"URL parse error during conversion from string: parse {text!r}")
    return parsed


def _url(text: str) -> dict[str, str]:
    _parsed(text)
    return {URL: text}


def _is_url(text: str) -> bool:
    try:
        _parsed(text)
    except ValueError:
        return False
    return True


def _part(read: Callable[[parse.SplitResult], str]) -> Declare:
    return method("d>s", lambda url: read(_parsed(tagged(URL, url))))


def _hostname(url: parse.SplitResult) -> str:
    return url.hostname or ""


def _query(url: Any) -> dict[str, list[str]]:
    return parse.parse_qs(_parsed(tagged(URL, url)).query, keep_blank_values=True)
