"""Why a connection failed, in words for people."""

import errno
import socket

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey

from lading.adapters import connecting

KEY = ConnectionKey(
    host="registry.example.com",
    port=443,
    is_ssl=True,
    ssl=True,
    proxy=None,
    proxy_auth=None,
    proxy_headers_hash=None,
)


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        (OSError(errno.ECONNREFUSED, "Connect call failed"), "Connection refused"),
        (socket.gaierror(socket.EAI_NONAME, "Name not known"), "Name not known"),
        (OSError("Multiple exceptions: one, two"), "Multiple exceptions: one, two"),
    ],
    ids=["of the system", "of a name", "of several addresses"],
)
def test_only_the_cause_is_told(cause: OSError, reason: str) -> None:
    assert connecting.reason(aiohttp.ClientConnectorError(KEY, cause)) == reason


def test_another_error_speaks_for_itself() -> None:
    assert connecting.reason(aiohttp.ServerDisconnectedError("gone")) == "gone"
