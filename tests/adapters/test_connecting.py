"""Why a connection failed, in words for people."""

import errno
import socket
import ssl

import aiohttp
import pytest
import yarl
from aiohttp.client_reqrep import ConnectionKey
from multidict import CIMultiDict, CIMultiDictProxy

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


def _without_tls() -> ssl.SSLError:
    error = ssl.SSLError(1, "wrong version number")
    error.reason = "WRONG_VERSION_NUMBER"
    return error


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        (OSError(errno.ECONNREFUSED, "Connect call failed"), "Connection refused"),
        (socket.gaierror(socket.EAI_NONAME, "Name not known"), "Name not known"),
        (OSError("Multiple exceptions: one, two"), "Multiple exceptions: one, two"),
        (_without_tls(), "TLS failed: wrong version number"),
    ],
    ids=["of the system", "of a name", "of several addresses", "of a server without TLS"],
)
def test_the_message_is_the_cause_only(cause: OSError, reason: str) -> None:
    assert connecting.reason(aiohttp.ClientConnectorError(KEY, cause)) == reason


def test_another_error_speaks_for_itself() -> None:
    assert connecting.reason(aiohttp.ServerDisconnectedError("gone")) == "gone"


def test_a_refusal_is_reported_without_its_url() -> None:
    url = yarl.URL("http://me:canary@proxy.example.com")
    request = aiohttp.RequestInfo(url, "CONNECT", CIMultiDictProxy(CIMultiDict()), url)
    error = aiohttp.ClientHttpProxyError(request, (), status=407, message="Log in")
    assert connecting.reason(error) == "407 Log in"


def test_an_error_without_a_message_is_reported_by_its_name() -> None:
    assert connecting.reason(aiohttp.ClientOSError()) == "ClientOSError"
