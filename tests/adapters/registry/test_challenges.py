"""WWW-Authenticate headers as registries and the proxies before them write them."""

import pytest

from lading.adapters.registry import challenges
from lading.adapters.registry.challenges import Challenge, Scheme

BASIC = Challenge(scheme=Scheme.BASIC)
BEARER = Challenge(
    scheme=Scheme.BEARER,
    realm="https://auth.test/token",
    service="registry.test",
    scopes=frozenset({"repository:a:pull,push", "repository:b:pull"}),
)
BEARER_TEXT = (
    'Bearer realm="https://auth.test/token",service="registry.test",'
    'scope="repository:a:pull,push repository:b:pull"'
)


def test_a_header_that_was_made_to_take_long_does_not() -> None:
    """Whoever looks through the rest for every letter is stopped by the time limit."""
    assert challenges.parse(["Bearer " + "a" * 8000] * 200) == Challenge(scheme=Scheme.BEARER)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([BEARER_TEXT], BEARER),
        (['Basic realm="Registry Realm"'], BASIC),
        (["basic"], BASIC),
        (['Basic realm="x"', BEARER_TEXT], BEARER),
        ([f'Basic realm="x", {BEARER_TEXT}'], BEARER),
        ([f'{BEARER_TEXT}, Basic realm="x"'], BEARER),
        (['Negotiate, Basic realm="x"'], BASIC),
        (["Negotiate", 'NTLM, Digest realm="basic"'], None),
        (["Bearertoken x"], None),
        ([""], None),
        ([], None),
    ],
)
def test_a_token_is_preferred_and_unknown_schemes_are_passed_over(
    headers: list[str], expected: Challenge | None
) -> None:
    assert challenges.parse(headers) == expected
