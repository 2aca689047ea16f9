"""Why a connection failed, without what aiohttp adds for programmers (its settings, its objects)."""

import os

import aiohttp


def reason(error: aiohttp.ClientError | OSError) -> str:
    """`Connection refused`, `Name or service not known`."""
    if not isinstance(error, aiohttp.ClientConnectorError):
        return str(error)
    cause = error.os_error
    is_of_the_system = cause.errno is not None and cause.errno > 0  # a name's are below
    return os.strerror(cause.errno) if is_of_the_system else cause.strerror or str(cause)
