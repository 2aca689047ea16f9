"""What new machines get: the source as it is, or a copy that they can read and that trusts."""

import json
from typing import Any

import pytest

from lading.boot_images.ignition import stub
from lading.boot_images.ignition.findings import Loss, RejectionReason, Unreadable
from tests.boot_images.ignition.stubs import NOW, certificate, data_url, spec_2, spec_3

OLD, NEW, EXPIRED = certificate("old"), certificate("new"), certificate("gone", days=-1)


def prepared(config: dict[str, Any], bundle: bytes | None = None) -> stub.Stub:
    return stub.prepare(json.dumps(config).encode(), bundle=bundle, now=NOW)


@pytest.mark.parametrize("version", [f"3.{minor}.0" for minor in range(7)])
def test_specification_3_stays_as_it_is(version: str) -> None:
    assert prepared(spec_3(version)) == stub.Stub()


def test_a_newer_version_is_only_reported() -> None:
    found = prepared(spec_3("3.9.0"))
    assert found.data is None
    assert [one.what for one in found.losses] == [Loss.VERSION_UNKNOWN]


def test_an_experimental_version_cannot_be_read() -> None:
    with pytest.raises(Unreadable) as caught:
        prepared(spec_3("3.7.0-experimental"))
    assert caught.value.reason is RejectionReason.VERSION_UNSUPPORTED


def test_specification_2_becomes_3() -> None:
    found = prepared(spec_2())
    assert found.data is not None
    assert json.loads(found.data)["ignition"]["version"] == "3.0.0"
    assert found.because == "the stub is of Ignition specification 2"


@pytest.mark.parametrize("make", [spec_2, spec_3])
def test_another_authority_is_renewed(make: Any) -> None:
    found = prepared(make(ca=data_url(OLD)), NEW)
    assert found.data is not None
    config = json.loads(found.data)
    assert set(stub.trusted(config)) == set(stub.certificates(NEW))
    assert "certificate authority" in found.because


def test_an_expired_authority_is_renewed_in_a_stub_of_specification_3() -> None:
    assert prepared(spec_3(ca=data_url(EXPIRED)), NEW).data is not None


def test_the_servers_own_authority_stays() -> None:
    assert prepared(spec_3(ca=data_url(NEW)), NEW) == stub.Stub()
    assert prepared(spec_3(ca=data_url(OLD + NEW)), NEW) == stub.Stub()


def test_without_the_servers_bundle_expiry_is_only_reported() -> None:
    found = prepared(spec_3(ca=data_url(EXPIRED)))
    assert found.data is None
    assert found.notes == ("the certificate authority of the stub has expired",)


def test_beside_several_authorities_the_servers_is_added() -> None:
    config = spec_3(ca=data_url(OLD))
    tls = config["ignition"]["security"]["tls"]
    tls["certificateAuthorities"].append({"source": data_url(EXPIRED)})
    found = prepared(config, NEW)
    assert found.data is not None
    assert len(stub.sources(json.loads(found.data))) == 3


def test_a_stub_of_another_server_keeps_its_authority() -> None:
    config = spec_3(ca=data_url(OLD))
    config["ignition"]["config"]["merge"][0]["source"] = "https://example.com/stub"
    assert prepared(config, NEW) == stub.Stub()


def test_a_bundle_that_holds_no_certificate_changes_nothing() -> None:
    assert prepared(spec_3(ca=data_url(OLD)), b"nonsense") == stub.Stub()


def test_a_renewed_stub_is_current() -> None:
    first = prepared(spec_3(ca=data_url(OLD)), NEW)
    assert first.data is not None
    assert stub.prepare(first.data, bundle=NEW, now=NOW) == stub.Stub()
