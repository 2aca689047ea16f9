"""The errors of the port, from the status and the body of an answer; the body is shown short."""

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
_MEANING_BY_STATUS = {
    403: "access denied by registry",
    404: "not found in registry",
    405: "not supported by registry",
    413: "too large for registry",
    429: "too many requests to registry",
}
_NOT_FOUND = 404
_SERVER_ERROR = 500
_TOO_MANY_REQUESTS = 429


def error_from(
    response: aiohttp.ClientResponse, body: bytes, *, what: str, now: datetime
) -> RegistryError:
    status = response.status
    message = f"{what}: {_meaning(status)} ({status}{_registry_message(body)})"
    if status == _NOT_FOUND:
        message = f"{message}. Check the {'digest' if '@' in what else 'name and the tag'}."
    if status == _TOO_MANY_REQUESTS or status >= _SERVER_ERROR:
        is_limit = status == _TOO_MANY_REQUESTS
        transient = registry.TooManyRequests if is_limit else registry.Unavailable
        seconds = retry_after_seconds(response, now)
        return transient(message, status=status, retry_after_seconds=seconds)
    kind = _ERROR_BY_STATUS.get(status, registry.MalformedAnswer)
    return kind(message, status=status)


def _meaning(status: int) -> str:
    if status >= _SERVER_ERROR:
        return "registry unavailable"
    return _MEANING_BY_STATUS.get(status, "refused")


def retry_after_seconds(response: aiohttp.ClientResponse, now: datetime) -> float | None:
    """How long the registry wants us to wait: seconds, or a date."""
    text = response.headers.get("Retry-After", "")
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, (email.utils.parsedate_to_datetime(text) - now).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def _registry_message(body: bytes) -> str:
    try:
        document: Any = msgspec.json.decode(body)
        first = document["errors"][0]
        text = " ".join(str(first[key]) for key in ("code", "message") if first.get(key))
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):  # no such JSON
        text = body.decode("utf-8", "replace").strip()
    return f": {kernel_errors.shown(text)}" if text else ""
