"""From what a registry answered to our typed errors; the words of the registry are shown short."""

import email.utils
from datetime import datetime
from typing import Any

import aiohttp
import msgspec

from lading.kernel import errors as kernel_errors
from lading.ports import registry
from lading.ports.registry import RegistryError

_ERROR_BY_STATUS: dict[int, type[RegistryError]] = {
    401: registry.Unauthorized,
    403: registry.Denied,
    404: registry.NotFound,
    405: registry.Unsupported,
    408: registry.Unavailable,
    413: registry.TooLarge,
}
_SERVER_ERROR = 500
_TOO_MANY_REQUESTS = 429


def error_from(
    response: aiohttp.ClientResponse, body: bytes, *, what: str, now: datetime
) -> RegistryError:
    message = f"{what}: the registry answered {response.status}{_said(body)}"
    if response.status == _TOO_MANY_REQUESTS or response.status >= _SERVER_ERROR:
        busy = response.status == _TOO_MANY_REQUESTS
        kind_of_trouble = registry.TooManyRequests if busy else registry.Unavailable
        seconds = retry_after_seconds(response, now)
        return kind_of_trouble(message, status=response.status, retry_after_seconds=seconds)
    kind = _ERROR_BY_STATUS.get(response.status, registry.MalformedAnswer)
    return kind(message, status=response.status)


def retry_after_seconds(response: aiohttp.ClientResponse, now: datetime) -> float | None:
    """How long the registry wants us to wait: seconds, or a date."""
    text = response.headers.get("Retry-After", "")
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, (email.utils.parsedate_to_datetime(text) - now).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def _said(body: bytes) -> str:
    try:
        document: Any = msgspec.json.decode(body)
        first = document["errors"][0]
        words = " ".join(str(first[key]) for key in ("code", "message") if first.get(key))
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):  # no such JSON
        words = body[: kernel_errors.SHOWN_CHARACTERS_MAX].decode("utf-8", "replace").strip()
    return f": {kernel_errors.shown(words)}" if words else ""
