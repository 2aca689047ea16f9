"""The rules for the names of Kubernetes objects, labels and kinds; each returns its sentences."""

import re

DNS_LABEL_CHARACTERS_MAX = 63
DNS_SUBDOMAIN_CHARACTERS_MAX = 253

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_1123_LABEL = re.compile(_LABEL)
_DNS_1123_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_DNS_1035_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_QUALIFIED_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")

_ENDS = "and must start and end with an alphanumeric character"
_NOT_A_LABEL = (
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS}"
)
_NOT_A_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    f"'.', {_ENDS}"
)
_NOT_A_DNS_1035_LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character"
)
_NOT_A_NAME_PART = f"name part must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
_NOT_A_KEY = (
    f"a valid label key must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}, with "
    "an optional DNS subdomain prefix and '/'"
)
_NOT_A_LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    f"'.', {_ENDS}"
)


def dns_1123_label(text: str) -> list[str]:
    wrong = _unless(_DNS_1123_LABEL, text, _NOT_A_LABEL)
    return _too_long(text, DNS_LABEL_CHARACTERS_MAX, unit="characters") + wrong


def dns_1123_subdomain(text: str) -> list[str]:
    wrong = _unless(_DNS_1123_SUBDOMAIN, text, _NOT_A_SUBDOMAIN)
    return _too_long(text, DNS_SUBDOMAIN_CHARACTERS_MAX, unit="characters") + wrong


def dns_1035_label(text: str) -> list[str]:
    wrong = _unless(_DNS_1035_LABEL, text, _NOT_A_DNS_1035_LABEL)
    return _too_long(text, DNS_LABEL_CHARACTERS_MAX, unit="characters") + wrong


def path_segment(text: str) -> list[str]:
    """The rule for kinds, such as roles, that only need a name that fits into a URL."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{each}'" for each in "/%" if each in text]


def qualified_name(text: str) -> list[str]:
    """A label or annotation key: an optional DNS prefix, a slash, and a name."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return [_NOT_A_KEY]
    problems: list[str] = []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash:
        problems += [f"prefix part {problem}" for problem in dns_1123_subdomain(prefix)]
    if not name:
        return [*problems, "name part must be non-empty", _NOT_A_NAME_PART]
    too_long = _too_long(name, DNS_LABEL_CHARACTERS_MAX)
    wrong = _unless(_QUALIFIED_NAME, name, _NOT_A_NAME_PART)
    return problems + [f"name part {problem}" for problem in too_long] + wrong


def label_value(text: str) -> list[str]:
    wrong = _unless(_LABEL_VALUE, text, _NOT_A_LABEL_VALUE)
    return _too_long(text, DNS_LABEL_CHARACTERS_MAX) + wrong


def _too_long(text: str, limit: int, unit: str = "bytes") -> list[str]:
    return [f"must be no more than {limit} {unit}"] if len(text.encode()) > limit else []


def _unless(pattern: re.Pattern[str], text: str, sentence: str) -> list[str]:
    return [] if pattern.fullmatch(text) else [sentence]
