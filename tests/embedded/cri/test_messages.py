"""What is read from CRI messages that other clients than ours send."""

import base64

import pytest

from lading.embedded.cri import messages
from lading.ports import cri
from lading.ports.registry import Credential
from lading.wire import cri_pb2

AUTH = base64.b64encode(b"carol:a:b").decode()


@pytest.mark.parametrize(
    ("message", "credential"),
    [
        (cri_pb2.AuthConfig(auth=AUTH), Credential(username="carol", password="a:b")),
        (
            cri_pb2.AuthConfig(auth=AUTH, username="david", password="c"),
            Credential(username="david", password="c"),
        ),
        (cri_pb2.AuthConfig(registry_token="t"), Credential(registry_token="t")),
    ],
    ids=["as docker writes it", "the name wins", "a token"],
)
def test_a_credential_may_come_in_several_forms(
    message: cri_pb2.AuthConfig, credential: Credential
) -> None:
    assert messages.credential_data(message) == credential


@pytest.mark.parametrize("auth", ["%%%", base64.b64encode(b"\xff").decode()])
def test_a_credential_that_cannot_be_read_is_refused_without_showing_it(auth: str) -> None:
    with pytest.raises(cri.Unauthorized, match="not base64") as caught:
        messages.credential_data(cri_pb2.AuthConfig(auth=auth))
    assert auth not in str(caught.value)
