"""Stubs as installers wrote them, and builders for parts of one."""

import base64
import datetime
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NOW = datetime.datetime(2026, 11, 16, tzinfo=datetime.UTC)
MARKER = "s3cret-marker"
SHA512 = "sha512-" + "0" * 128


def certificate(name: str = "root-ca", *, days: int = 3650) -> bytes:
    """A self-signed authority as PEM that is valid for so many days from NOW."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - datetime.timedelta(days=4000))
        .not_valid_after(NOW + datetime.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM)


def data_url(data: bytes) -> str:
    return "data:text/plain;charset=utf-8;base64," + base64.b64encode(data).decode()


SERVER = "https://api-int.mycluster.example.com:22623/config/worker"
CA = data_url(b"not a certificate, which the translation does not mind")


def spec_2(version: str = "2.2.0", *, ca: str = CA, **sections: Any) -> dict[str, Any]:
    """What the installers 4.1 to 4.5 wrote: empty structs are printed."""
    return {
        "ignition": {
            "config": {"append": [{"source": SERVER, "verification": {}}]},
            "security": {"tls": {"certificateAuthorities": [{"source": ca, "verification": {}}]}},
            "timeouts": {},
            "version": version,
        },
        "networkd": {},
        "passwd": {},
        "storage": {},
        "systemd": {},
        **sections,
    }


def spec_3(version: str = "3.2.0", *, ca: str = CA) -> dict[str, Any]:
    """What installers write since 4.6."""
    return {
        "ignition": {
            "config": {"merge": [{"source": SERVER}]},
            "security": {"tls": {"certificateAuthorities": [{"source": ca}]}},
            "version": version,
        }
    }


def config(version: str = "2.4.0", **sections: Any) -> dict[str, Any]:
    return {"ignition": {"version": version}, **sections}


def file(path: str = "/etc/a", **fields: Any) -> dict[str, Any]:
    return {"filesystem": "root", "path": path, "mode": 0o644, **fields}


def storage(**kinds: Any) -> dict[str, Any]:
    return config(storage=kinds)


def files(*entries: dict[str, Any]) -> dict[str, Any]:
    return storage(files=list(entries))


def units(*entries: dict[str, Any]) -> dict[str, Any]:
    return config(systemd={"units": list(entries)})


def partitions(*entries: dict[str, Any], version: str = "2.4.0") -> dict[str, Any]:
    disk = {"device": "/dev/sda", "partitions": list(entries)}
    return config(version, storage={"disks": [disk]})
