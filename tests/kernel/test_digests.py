"""Digests: exact form, and the content that belongs to them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.kernel import digests
from lading.kernel.digests import Digest
from lading.kernel.errors import Malformed


@given(st.binary(max_size=100), st.sampled_from(["sha256", "sha512"]))
def test_a_digest_matches_its_content_and_no_other(content: bytes, algorithm: str) -> None:
    digest = Digest.of(content, algorithm)
    assert digests.parse(str(digest)) == digest
    assert digest.matches(content)
    assert not digest.matches(content + b"x")


@given(st.text(max_size=150))
def test_any_text_is_either_read_or_refused(text: str) -> None:
    try:
        assert str(digests.parse(text)) == text
    except Malformed as error:
        assert error.what == "digest"


@pytest.mark.parametrize("text", ["", "sha256", "sha256:", "sha256:ABC", "sha1:" + "a" * 40])
def test_a_malformed_digest_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        digests.parse(text)
