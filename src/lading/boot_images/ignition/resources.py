"""Translates URLs of a stub: configurations, certificate authorities, contents of files. Pure."""

import base64
import binascii
import re
import urllib.parse
from typing import Any

from lading.boot_images.ignition.findings import Loss, RejectionReason
from lading.boot_images.ignition.reading import Reader, without_nothing

SCHEMES = {"http", "https", "tftp", "s3", "data"}  # of 3.0; `oem` of specification 2 is gone
_HASH = re.compile(r"sha512-[0-9A-Za-z]{128}")
_DATA_URL = re.compile(r"data:(?P<type>[^,]*?)(?P<base64>;base64)?,(?P<data>.*)", re.DOTALL)


def resource(reader: Reader, *, has_compression: bool = False) -> dict[str, Any]:
    """Source, verification and headers. The source is written even if it is empty."""
    source = reader.text("source") or ""
    headers = [_header(one) for one in reader.objects("httpHeaders", since=4)]
    if source and not url_is_valid(source):
        reader.reject(RejectionReason.URL, "source")
    if headers and not source.startswith(("http://", "https://")):
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


def url_is_valid(text: str) -> bool:
    try:
        url = urllib.parse.urlsplit(text)
    except ValueError:
        return False
    if url.scheme == "data":
        return data_of(text) is not None
    if url.scheme == "s3" and "versionId" in (query := _query(url.query)):
        return bool(query["versionId"][0])
    return url.scheme in SCHEMES


def data_of(text: str) -> bytes | None:
    """The content of a data URL; None if the text is not a data URL."""
    parts = _DATA_URL.fullmatch(text)
    if parts is None:
        return None
    data = urllib.parse.unquote_to_bytes(parts["data"])
    if not parts["base64"]:
        return data
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error:
        return None


def _query(text: str) -> dict[str, list[str]]:
    return urllib.parse.parse_qs(text, keep_blank_values=True)


def _header(reader: Reader) -> dict[str, str]:
    found = {"name": reader.required("name"), "value": reader.text("value") or ""}
    reader.finish()
    return found


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
