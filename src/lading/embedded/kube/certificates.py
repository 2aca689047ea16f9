"""The certificates of the server: a CA of its own, and a serving certificate that it signed.

They are stored with the data and renewed before they expire. Only the owner can read the keys.
"""

import ipaddress
import os
import pathlib
from datetime import UTC, datetime, timedelta

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CA_DAYS = 3_650
SERVING_DAYS = 365
RENEW_BEFORE_DAYS = 30
_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
_ADDRESSES = ("127.0.0.1", "::1")


class Certificates(msgspec.Struct, frozen=True, kw_only=True):
    authority: pathlib.Path
    certificate: pathlib.Path
    key: pathlib.Path


def ensure(directory: pathlib.Path, *, hosts: tuple[str, ...] = ()) -> Certificates:
    """Certificates for loopback and these hosts; missing or old ones are made."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = Certificates(
        authority=directory / "ca.crt",
        certificate=directory / "server.crt",
        key=directory / "server.key",
    )
    ca_key_path = directory / "ca.key"
    if not _is_usable(found.authority, ca_key_path):
        _make_authority(found.authority, ca_key_path)
        found.certificate.unlink(missing_ok=True)
    if not (_is_usable(found.certificate, found.key) and _covers(found, hosts)):
        _make_serving(found, ca_key_path, hosts)
    return found


def _is_usable(path: pathlib.Path, key_path: pathlib.Path) -> bool:
    """Whether the certificate is readable, belongs to the key and does not expire soon."""
    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
        key = serialization.load_pem_private_key(key_path.read_bytes(), password=None)
    except (FileNotFoundError, ValueError):
        return False
    soon = datetime.now(UTC) + timedelta(days=RENEW_BEFORE_DAYS)
    return certificate.not_valid_after_utc > soon and certificate.public_key() == key.public_key()


def _covers(found: Certificates, hosts: tuple[str, ...]) -> bool:
    certificate = x509.load_pem_x509_certificate(found.certificate.read_bytes())
    extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return set(map(_general_name, hosts)) <= set(extension.value)


def _make_authority(path: pathlib.Path, key_path: pathlib.Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("lading-ca")
    builder = (
        _builder(name, name, key.public_key(), days=CA_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
    )
    _write_key(key_path, key)
    _write(path, builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))


def _make_serving(found: Certificates, ca_key_path: pathlib.Path, hosts: tuple[str, ...]) -> None:
    ca = x509.load_pem_x509_certificate(found.authority.read_bytes())
    ca_key = serialization.load_pem_private_key(ca_key_path.read_bytes(), password=None)
    assert isinstance(ca_key, ec.EllipticCurvePrivateKey), "the CA key is the one made here"
    key = ec.generate_private_key(ec.SECP256R1())
    names = [_general_name(host) for host in (*_NAMES, *_ADDRESSES, *hosts)]
    builder = (
        _builder(_name("lading-api"), ca.subject, key.public_key(), days=SERVING_DAYS)
        .add_extension(x509.SubjectAlternativeName(dict.fromkeys(names)), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False
        )
    )
    _write_key(found.key, key)
    certificate = builder.sign(ca_key, hashes.SHA256())
    _write(found.certificate, certificate.public_bytes(serialization.Encoding.PEM))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, *, days: int
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _write_key(path: pathlib.Path, key: ec.EllipticCurvePrivateKey) -> None:
    text = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    _write(path, text)


def _write(path: pathlib.Path, text: bytes) -> None:
    """Replaces the file in one step, readable by its owner only."""
    beside = path.with_suffix(path.suffix + ".new")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(text)
    beside.replace(path)
