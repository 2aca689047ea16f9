"""The reason of a failed connection, as text."""

import os
import re
import ssl

import aiohttp

_ERROR_NUMBER = re.compile(r"\[Errno (\d+)\]")


def reason(error: aiohttp.ClientError | OSError | ValueError) -> str:
    """`Connection refused`, `Name or service not known`, without what aiohttp adds."""
    if isinstance(error, aiohttp.ClientResponseError):
        return f"{error.status} {error.message}".strip()  # its own text has the whole URL
    if not isinstance(error, aiohttp.ClientConnectorError):
        return str(error) or type(error).__name__
    return _system_reason(error.os_error)


def _system_reason(cause: OSError) -> str:
    if isinstance(cause, ssl.SSLError):
        return f"TLS failed: {(cause.reason or str(cause)).replace('_', ' ').lower()}"
    if cause.errno is not None and cause.errno > 0:  # those of a name that is not known are below
        return os.strerror(cause.errno)
    numbers = set(_ERROR_NUMBER.findall(str(cause)))
    if len(numbers) == 1:  # several addresses of one host
        return os.strerror(int(numbers.pop()))
    return cause.strerror or str(cause)
