"""Why a connection failed, without what aiohttp adds for programmers."""

import os
import ssl

import aiohttp


def reason(error: aiohttp.ClientError | OSError) -> str:
    """`Connection refused`, `Name or service not known`."""
    if isinstance(error, aiohttp.ClientResponseError):
        return f"{error.status} {error.message}".strip()  # its own text has the whole URL
    if not isinstance(error, aiohttp.ClientConnectorError):
        return str(error) or type(error).__name__
    cause = error.os_error
    if isinstance(cause, ssl.SSLError):
        return f"TLS failed: {(cause.reason or str(cause)).replace('_', ' ').lower()}"
    if cause.errno is not None and cause.errno > 0:  # those of a name that is not known are below
        return os.strerror(cause.errno)
    return cause.strerror or str(cause)
