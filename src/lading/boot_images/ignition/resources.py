"""Translates URLs of a stub: configurations, certificate authorities, contents of files. Pure."""

import base64
import binascii
import ipaddress
import re
import urllib.parse
from collections.abc import Container
from typing import Any

from lading.boot_images.ignition.findings import Loss, RejectionReason
from lading.boot_images.ignition.reading import Reader, without_nothing

WEB_SCHEMES = {"http", "https"}
SCHEMES = {"http", "https", "tftp", "s3", "data"}  # of 3.0; `oem` of specification 2 is gone
_HASH = re.compile(r"sha512-[0-9A-Fa-f]{128}")
_TOKEN = r"[!#$%&'*+.^_`{|}~0-9A-Za-z-]"
_ESCAPED = r"%[0-9A-Fa-f]{2}"
_URL = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):"
    rf"(?://(?:(?:[A-Za-z0-9._:~!$&'()*+,;=@-]|{_ESCAPED})*@)?"
    r"""(?:\[(?P<ipv6>[^]/]*)]|[A-Za-z0-9._~!$&'()*+,;=<>"\u0080-\U0010ffff-]*)"""
    r"(?::[0-9]*)?(?=[/?#]|\Z)|(?!//))"
    rf"(?:[^%?#]|{_ESCAPED})*(?:\?(?P<query>[^#]*))?(?:#(?:[^%]|{_ESCAPED})*)?"
)
"""What Ignition accepts as a URL. `urllib` alone accepts more, and such a machine does not boot."""
_DATA_URL = re.compile(
    rf"data:(?:(?:(?:text|image|audio|video|application|message|multipart){_TOKEN}*"
    rf"|[xX]-{_TOKEN}*)/{_TOKEN}*)?"
    rf"""(?:;{_TOKEN}+=(?:{_TOKEN}+|"[^"\\\u0080-\U0010ffff]*"))*"""
    r"(?:(?P<base64>;base64),(?P<encoded>[A-Za-z0-9+/=]*)"
    rf"|,(?P<plain>(?:[!$&-;=?-Z_a-z~]|{_ESCAPED})*))"
)


def resource(reader: Reader, *, has_compression: bool = False) -> dict[str, Any]:
    """Source, verification and headers. The source is written even if it is empty."""
    source = reader.text("source") or ""
    headers = _headers(reader)
    if source and not url_is_valid(source):
        reader.reject(RejectionReason.URL, "source")
    if headers and not url_is_valid(source, schemes=WEB_SCHEMES):
        reader.reject(RejectionReason.HEADERS, "httpHeaders")
    found: dict[str, Any] = {"source": source}
    if has_compression:
        found |= without_nothing(compression=_compression(reader))
    found |= without_nothing(verification=_verification(reader), httpHeaders=headers)
    reader.finish()
    return found


def references(section: Reader, key: str, *, since: int = 0) -> list[dict[str, Any]]:
    """A list of resources. Specification 3 refuses a repeated source, so one entry stays."""
    found: dict[str, dict[str, Any]] = {}
    for reader in section.objects(key, since=since):
        one = resource(reader)
        if not one["source"]:
            reader.reject(RejectionReason.VALUE_REQUIRED, "source")
        if found.get(one["source"], one) != one:
            reader.lose(Loss.REPLACED)
        found[one["source"]] = one
    return list(found.values())


def proxy(reader: Reader, key: str) -> str | None:
    """Specification 2 takes `host:port` as http; specification 3 needs the scheme."""
    text = reader.text(key)
    if text is None or url_is_valid(text, schemes=WEB_SCHEMES):
        return text
    with_scheme = f"http://{text}"
    if "://" in text or not url_is_valid(with_scheme, schemes=WEB_SCHEMES):
        reader.reject(RejectionReason.PROXY, key)
    return with_scheme


def url_is_valid(text: str, *, schemes: Container[str] = SCHEMES) -> bool:
    url = _URL.fullmatch(text)
    if url is None or not text.isprintable() or url["scheme"].lower() not in schemes:
        return False
    if url["ipv6"] is not None and not _is_ipv6(url["ipv6"]):
        return False
    match url["scheme"].lower():
        case "data":
            return data_of(text) is not None
        case "s3" if "versionId" in (query := _query(url["query"] or "")):
            return bool(query["versionId"][0])
    return True


def _is_ipv6(text: str) -> bool:
    try:
        return ipaddress.IPv6Address(text).scope_id is None
    except ValueError:
        return False


def data_of(text: str) -> bytes | None:
    """The content of a data URL; None if the text is not a data URL."""
    parts = _DATA_URL.fullmatch(text)
    if parts is None:
        return None
    if not parts["base64"]:
        return urllib.parse.unquote_to_bytes(parts["plain"])
    try:
        return base64.b64decode(parts["encoded"], validate=True)
    except binascii.Error:
        return None


def _query(text: str) -> dict[str, list[str]]:
    return urllib.parse.parse_qs(text, keep_blank_values=True)


def _headers(resource: Reader) -> list[dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for reader in resource.objects("httpHeaders", since=4):
        one = {"name": reader.required("name"), "value": reader.text("value") or ""}
        reader.finish()
        if not one["value"]:
            reader.lose(Loss.HEADER_EMPTY)
        elif found.setdefault(one["name"], one) != one:
            reader.reject(RejectionReason.DUPLICATE, "name")
    return list(found.values())


def _compression(reader: Reader) -> str | None:
    compression = reader.text("compression")
    if compression not in (None, "gzip"):
        reader.reject(RejectionReason.COMPRESSION, "compression")
    return compression


def _verification(reader: Reader) -> dict[str, str]:
    verification = reader.object("verification")
    digest = verification.present_text("hash")
    verification.finish()
    if digest is None:
        return {}
    if not _HASH.fullmatch(digest):
        verification.reject(RejectionReason.HASH, "hash")
    return {"hash": digest}
