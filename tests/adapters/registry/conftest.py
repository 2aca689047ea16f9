"""A client with small limits, and content to ask for."""

import ipaddress
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.adapters.registry.client import RegistryClient
from lading.kernel.digests import Digest
from lading.kernel.manifests import OCI_LAYER_GZIP, Descriptor
from tests.adapters.registry import hostile

LOOPBACK = ipaddress.ip_address("127.0.0.1")


@pytest.fixture
async def client() -> AsyncIterator[RegistryClient]:
    async with registry_client.connect(SystemClock(), limits=hostile.SMALL) as opened:
        yield opened


@pytest.fixture
def content() -> bytes:
    return bytes(range(256)) * 16


@pytest.fixture
def descriptor(content: bytes) -> Descriptor:
    return Descriptor(media_type=OCI_LAYER_GZIP, digest=Digest.of(content), size_bytes=len(content))


@pytest.fixture(scope="session")
def self_signed(self_signed_file: Path) -> ssl.SSLContext:
    """A server's TLS for 127.0.0.1 with a certificate that no client trusts."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(self_signed_file)
    return context


@pytest.fixture(scope="session")
def self_signed_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The key and the certificate, in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(LOOPBACK)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = tmp_path_factory.mktemp("tls") / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    pem.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return pem
