"""Any WWW-Authenticate header is read, and the realm that it names is checked or refused."""

import yarl
from hypothesis import example, given
from hypothesis import strategies as st

from lading.adapters.registry import challenges, locations
from lading.ports.registry import MalformedAnswer
from tests.fuzz import harness, inputs

EXAMPLE = (
    b'Bearer realm="https://auth.example.com/token",service="registry.example.com",'
    b'scope="repository:team/app:pull", Basic realm="x"'
)
REGISTRY = yarl.URL("https://registry.example.com/v2")


@given(header=inputs.mangled(st.just(EXAMPLE)).map(lambda header: header.decode("latin-1")))
@example(header="Bearer " + "a" * 1_000_000)
@example(header="Bearer " + "a=" * 500_000)
@example(header='Bearer realm="' + "," * 1_000_000)
@example(header="Bearer," * 100_000)
@example(header='Bearer realm="https://[::1"')
@example(header='Bearer realm="https://x:99999999"')
def test_any_header_is_read(header: str) -> None:
    harness.check(lambda: _read(header), refusals=())


def _read(header: str) -> None:
    found = challenges.parse([header])
    if found is None or not found.realm:
        return
    try:
        url = locations.realm(REGISTRY, found.realm, what="token")
    except MalformedAnswer:
        return
    assert url.scheme == "https"
    assert not locations.is_local(url.host or "")


@given(location=st.text(max_size=200) | st.from_regex(r"\A(https?:)?//[^/?#\s]*(/.*)?\Z"))
@example(location="https://" + "a." * 50_000)
@example(location="//localhost")
@example(location="//\x80")
@example(location="https:\\127.0.0.1\\x")
@example(location="https://127.0.0.1%00@registry.example.com/")
@example(location="https://registry.example.com@127.0.0.1/")
def test_no_location_leads_to_this_machine_or_out_of_tls(location: str) -> None:
    harness.check(lambda: _follow(location), refusals=(MalformedAnswer,))


def _follow(location: str) -> None:
    url = locations.target(REGISTRY, location, what="blob")
    assert url.scheme == "https"
    assert url.host
    assert not locations.is_local(url.host)
