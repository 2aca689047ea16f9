"""Why a connection failed, without what aiohttp adds for programmers."""

import os

import aiohttp


def reason(error: aiohttp.ClientError | OSError) -> str:
    """`Connection refused`, `Name or service not known`."""
    if not isinstance(error, aiohttp.ClientConnectorError):
        return str(error)
    cause = error.os_error
    if cause.errno is not None and cause.errno > 0:  # those of a name that is not known are below
        return os.strerror(cause.errno)
    return cause.strerror or str(cause)
