"""The certificates of the server: kept as long as they can be used, and made anew otherwise."""

import pathlib
import ssl

import pytest

from lading.embedded.kube import certificates

FILES = ("ca.crt", "ca.key", "server.crt", "server.key")


def contents(folder: pathlib.Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


def test_they_are_made_once(tmp_path: pathlib.Path) -> None:
    certificates.ensure(tmp_path)
    before = contents(tmp_path)
    certificates.ensure(tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", [b"", b"\0" * 700], ids=["empty", "zeros"])
def test_what_a_crash_has_cut_off_is_made_anew(
    tmp_path: pathlib.Path, name: str, content: bytes
) -> None:
    certificates.ensure(tmp_path)
    (tmp_path / name).write_bytes(content)
    found = certificates.ensure(tmp_path)
    assert content not in contents(tmp_path).values()
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(found.certificate, found.key)


def test_a_key_of_another_certificate_is_made_anew(tmp_path: pathlib.Path) -> None:
    certificates.ensure(tmp_path / "other")
    found = certificates.ensure(tmp_path)
    found.key.write_bytes((tmp_path / "other" / "server.key").read_bytes())
    certificates.ensure(tmp_path)
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(found.certificate, found.key)


def test_a_new_host_gets_a_new_certificate_of_the_same_ca(tmp_path: pathlib.Path) -> None:
    first = certificates.ensure(tmp_path)
    authority, serving = first.authority.read_bytes(), first.certificate.read_bytes()
    certificates.ensure(tmp_path, hosts=("lading.example",))
    assert first.authority.read_bytes() == authority
    assert first.certificate.read_bytes() != serving


def test_private_keys_are_for_their_owner_only(tmp_path: pathlib.Path) -> None:
    found = certificates.ensure(tmp_path)
    for path in (found.key, tmp_path / "ca.key"):
        assert path.stat().st_mode & 0o077 == 0
