"""Signatures, against the published examples of Signature Version 4."""

from datetime import UTC, datetime

import pytest

from lading.adapters.ec2 import signing
from lading.adapters.ec2.signing import AwsKeys

KEYS = AwsKeys(
    access_key_id="AKIDEXAMPLE", secret_access_key="wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)
NOW = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
HOST = {"host": "example.amazonaws.com"}
FORM = {**HOST, "content-type": "application/x-www-form-urlencoded"}


def sign(keys: AwsKeys, method: str, headers: dict[str, str], body: bytes) -> dict[str, str]:
    return signing.signed_headers(
        keys,
        method=method,
        headers=headers,
        body=body,
        region="us-east-1",
        service="service",
        now=NOW,
    )


@pytest.mark.parametrize(
    ("method", "headers", "body", "signature"),
    [
        (
            "GET",
            HOST,
            b"",
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        ),
        (
            "POST",
            HOST,
            b"",
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
        ),
        (
            "POST",
            FORM,
            b"Param1=value1",
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        ),
    ],
)
def test_a_published_example(
    method: str, headers: dict[str, str], body: bytes, signature: str
) -> None:
    found = sign(KEYS, method, headers, body)
    assert found["authorization"].endswith(f"Signature={signature}")
    scope = "20150830/us-east-1/service/aws4_request"
    assert f"Credential=AKIDEXAMPLE/{scope}" in found["authorization"]
    assert found["x-amz-date"] == "20150830T123600Z"


def test_the_token_of_a_session_is_signed_too() -> None:
    keys = AwsKeys(access_key_id="a", secret_access_key="b", session_token="c")
    found = sign(keys, "POST", dict(HOST), b"")
    assert found["x-amz-security-token"] == "c"
    assert "SignedHeaders=host;x-amz-date;x-amz-security-token" in found["authorization"]


def test_keys_are_not_shown() -> None:
    assert "secret" not in repr(AwsKeys(access_key_id="a", secret_access_key="secret"))
