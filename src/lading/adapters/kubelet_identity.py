"""Whether it is the kubelet that listens on a port of this machine, decided before a token is sent.

Any process may listen there while no kubelet does. The kubelet has a certificate of the cluster's
authority for the node's name; or, with a self-signed one as most have, it runs as root, and the
kernel tells which user has the other end of a connection. What is proven is a certificate, so
that the token goes to the holder of its key and to no other process.
"""

import asyncio
import contextlib
import hashlib
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from lading.adapters.kube.connection import Trust
from lading.adapters.kube.transport import Contexts
from lading.kernel.values import Redacted

LOOPBACK = "127.0.0.1"
ROOT_UID = 0
CONNECT_SECONDS_MAX = 5.0
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED = "01"
_MAPPED = b"\0" * 10 + b"\xff" * 2  # an IPv4 address in the table of IPv6


class NotTheKubelet(Exception):
    """Another process answers, or it cannot be known which one does."""


class KubeletTrust(Redacted, frozen=True, kw_only=True):
    shown = ("node_name", "uid")

    node_name: str
    authority_pem: str = ""
    """Who signs the serving certificates of kubelets; empty: unknown."""
    uid: int = ROOT_UID
    """The user that the kubelet runs as."""


async def proven_certificate(port: int, trust: KubeletTrust) -> bytes:
    """The SHA-256 of the kubelet's certificate; raises NotTheKubelet, or OSError."""
    unproven = await _signed_certificate(port, trust)
    if isinstance(unproven, bytes):
        return unproven
    async with _connected(port, _unverified()) as connection:
        certificate = _certificate(connection)
        owners = await asyncio.to_thread(_owners, connection)
    if owners != {trust.uid}:
        shown = ", ".join(map(str, sorted(owners))) or "unknown"
        raise NotTheKubelet(
            f"{LOOPBACK}:{port} is served by the user with the ID {shown}, expected {trust.uid},"
            f" and {unproven}; name the authority of the kubelet's certificate with"
            " --kubelet-ca-file"
        )
    return certificate


async def _signed_certificate(port: int, trust: KubeletTrust) -> bytes | str:
    """The certificate that the authority signed for this node, or why there is none."""
    if not trust.authority_pem:
        return "no authority for its certificate is known"
    context = Contexts(Trust(authority_pem=trust.authority_pem)).context(None)
    try:
        async with _connected(port, context, trust.node_name) as connection:
            return _certificate(connection)
    except ssl.SSLCertVerificationError as error:
        return f"its certificate is not trusted: {error.verify_message}"


@contextlib.asynccontextmanager
async def _connected(
    port: int, context: ssl.SSLContext, server_name: str = ""
) -> AsyncIterator[asyncio.StreamWriter]:
    async with asyncio.timeout(CONNECT_SECONDS_MAX):
        _, writer = await asyncio.open_connection(
            LOOPBACK, port, ssl=context, server_hostname=server_name
        )
    try:
        yield writer
    finally:
        writer.transport.abort()


def _unverified() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _certificate(connection: asyncio.StreamWriter) -> bytes:
    shown = connection.get_extra_info("ssl_object").getpeercert(binary_form=True)
    return hashlib.sha256(shown).digest()


def _owners(connection: asyncio.StreamWriter) -> set[int]:
    """The users that have the other end of the connection: one, or none where nothing tells."""
    own, other = connection.get_extra_info("sockname"), connection.get_extra_info("peername")
    found: set[int] = set()
    for table in TABLES:
        with contextlib.suppress(OSError):
            found |= owners_in(table.read_text(encoding="ascii").splitlines(), other, own)
    return found


def owners_in(rows: Iterable[str], local: tuple[str, int], remote: tuple[str, int]) -> set[int]:
    """The users of the sockets between two IPv4 addresses, in a table of the kernel."""
    pairs = set(zip(_shown(local), _shown(remote), strict=True))
    columns = (row.split() for row in rows)
    return {
        int(row[7])
        for row in columns
        if len(row) > 7 and (row[1], row[2]) in pairs and row[3] == _ESTABLISHED
    }


def _shown(address: tuple[str, int]) -> tuple[str, str]:
    """An address as the tables of IPv4 and of IPv6 show it: words in the order of the machine."""
    packed = socket.inet_aton(address[0])
    return tuple(
        "".join(f"{word:08X}" for (word,) in struct.iter_unpack("=I", form)) + f":{address[1]:04X}"
        for form in (packed, _MAPPED + packed)
    )  # type: ignore[return-value]
