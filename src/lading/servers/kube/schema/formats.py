"""The string formats that CRD schemas may ask for; a format not listed here is not checked.

The names are compared without dashes, as the API server does.
"""

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from datetime import date, datetime
from urllib import parse

from lading.kernel import durations
from lading.kernel.errors import Malformed
from lading.servers.kube.schema import nodes, quantities

_UUID = r"[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s[0-9a-f]{3}-?[0-9a-f]{12}"
_SHORT_NAME = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_DATE_TIME = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:?\d\d)?", re.ASCII
)
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_SCALA_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-zµ]+)")


def has_format(name: str, text: str) -> bool:
    """Whether the text has the format; True for a format that is not checked."""
    check = _CHECKS.get(name.replace("-", ""))
    return check is None or check(text)


def _matches_case(pattern: str, flags: re.RegexFlag = re.ASCII) -> Callable[[str], bool]:
    compiled = re.compile(pattern, flags)
    return lambda text: compiled.fullmatch(text) is not None


def _matches(pattern: str) -> Callable[[str], bool]:
    return _matches_case(pattern, re.IGNORECASE | re.ASCII)


def _parses(parser: Callable[[str], object], *errors: type[Exception]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parser(text)
        except errors:
            return False
        return True

    return check


def _is_date_time(text: str) -> bool:
    return _DATE_TIME.fullmatch(text) is not None and _parses(datetime.fromisoformat, ValueError)(
        text.upper().replace(" ", "T")
    )


def _is_micro_time(text: str) -> bool:
    return _MICRO_TIME.fullmatch(text) is not None and _is_date_time(text)


def _is_duration(text: str) -> bool:
    return _parses(durations.parse, Malformed)(text) or _SCALA_DURATION.fullmatch(text) is not None


def _is_uri(text: str) -> bool:
    try:
        parsed = parse.urlsplit(text)
    except ValueError:
        return False
    return bool(parsed.scheme) or text.startswith("/")


def _decode_base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


_CHECKS: dict[str, Callable[[str], bool]] = {
    "byte": _parses(_decode_base64, binascii.Error, ValueError),
    "cidr": _parses(lambda text: ipaddress.ip_network(_slashed(text), strict=False), ValueError),
    "date": _parses(date.fromisoformat, ValueError),
    "datetime": _is_date_time,
    "duration": _is_duration,
    "email": _matches(r"(?:.*<)?[^\s@<>]+@[^\s@<>]+>?"),
    "hostname": _matches(
        r"(?=.{1,255}\Z)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
        r"|(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63})"
    ),
    "ipv4": _parses(ipaddress.IPv4Address, ValueError),
    "ipv6": _parses(ipaddress.IPv6Address, ValueError),
    "k8slongname": _matches_case(rf"(?=.{{1,253}}\Z){_SHORT_NAME}(?:\.{_SHORT_NAME})*"),
    "k8sshortname": _matches_case(rf"(?=.{{1,63}}\Z){_SHORT_NAME}"),
    nodes.MICRO_TIME.replace("-", ""): _is_micro_time,
    nodes.QUANTITY.replace("-", ""): quantities.is_quantity,
    "mac": _matches(r"[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}(?:(?:[:-][0-9a-f]{2}){2})?"),
    "uri": _is_uri,
    "uuid": _matches(_UUID % ("[0-9a-f]", "[0-9a-f]")),
    "uuid3": _matches(_UUID % ("3", "[0-9a-f]")),
    "uuid4": _matches(_UUID % ("4", "[89ab]")),
    "uuid5": _matches(_UUID % ("5", "[89ab]")),
}


def _slashed(text: str) -> str:
    if "/" not in text:
        raise ValueError("a CIDR has a prefix length")
    return text
