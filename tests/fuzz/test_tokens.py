"""Any answer of a token endpoint is a token that can be sent, or refused."""

from hypothesis import given

from lading.adapters.registry import tokens
from lading.ports.registry import RegistryError
from tests.fuzz import harness, inputs

EXAMPLE = {"token": "canary", "access_token": "canary", "expires_in": 300, "issued_at": "x"}


@given(content=inputs.mangled(inputs.documents(EXAMPLE).map(inputs.as_json)))
def test_any_answer_is_a_token_or_refused(content: bytes) -> None:
    harness.check(lambda: _read(content), refusals=())


def _read(content: bytes) -> None:
    try:
        found = tokens.parse(content, what="token", now=1000.0)
    except RegistryError as error:
        assert "canary" not in str(error)
        return
    found.value.encode("ascii")
    assert found.value.isprintable()
    assert found.expires_at >= 1000.0
