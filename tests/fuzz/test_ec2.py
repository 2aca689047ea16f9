"""Any answer of EC2 and STS, and any file of keys, is read or refused."""

from hypothesis import example, given
from hypothesis import strategies as st

from lading.adapters.ec2 import client, exchange, keys
from lading.ports.ec2 import Ec2Error
from tests.fuzz import harness, inputs

IMAGES = b"""<DescribeImagesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><imagesSet>
<item><imageId>ami-0</imageId><imageOwnerId>531415883065</imageOwnerId></item></imagesSet>
</DescribeImagesResponse>"""
KEYS = b"""<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
<Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>B</SecretAccessKey><SessionToken>C
</SessionToken><Expiration>2026-11-16T00:00:00Z</Expiration></Credentials>
</AssumeRoleWithWebIdentityResponse>"""
FILE = b"[default]\nrole_arn = arn:aws:iam::123456789012:role/a\nweb_identity_token_file = /token\n"
BOMB = b'<!DOCTYPE a [<!ENTITY b "' + b"c" * 1000 + b'"><!ENTITY d "' + b"&b;" * 1000 + b'">]>'


@given(body=inputs.mangled(st.sampled_from([IMAGES, KEYS])))
@example(body=BOMB + b"<a>" + b"&d;" * 1000 + b"</a>")
@example(body=b"<a>" * 100_000)
@example(body=b'<?xml version="1.0" encoding="utf-16"?>' + IMAGES)
def test_any_answer_is_read_or_refused(body: bytes) -> None:
    text = body.decode("utf-8", "replace")
    harness.check(lambda: client.images(text), refusals=(Ec2Error,))
    harness.check(lambda: keys.role_keys(text), refusals=(Ec2Error,))
    harness.check(lambda: exchange.code(text), refusals=())


@given(content=inputs.mangled(st.just(FILE)))
@example(content=b"[default]\n" + b"a" * 1_000_000)
@example(content=b"[default]\n[default]\n")
@example(content=b"[DEFAULT]\naws_access_key_id = %(x)s\n[default]\n")
def test_any_file_of_keys_is_read_or_refused(content: bytes) -> None:
    harness.check(lambda: keys.profile_in(content, name="file"), refusals=(Ec2Error,))
