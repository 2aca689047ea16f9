"""Which Host and Origin headers pass: those of programs and of our own pages, no others."""

import pytest

from lading.kernel.host_guard import HostGuard

GUARD = HostGuard.of(["Registry.example", ".svc"])


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:5000",
        "[::1]:5000",
        "10.1.2.3",
        "localhost",
        "LOCALHOST:5000",
        "app.localhost:80",
        "registry.example:5000",
        "registry.example.",
        "metrics.lading-system.svc:8080",
        None,
    ],
)
def test_an_address_a_loopback_name_or_a_name_of_the_server_passes(host: str | None) -> None:
    assert GUARD.refusal(host=host, origin=None) == ""


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:5000",
        "localhost.evil.example",
        "evil-registry.example",
        "registry.example.evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "evil.example#.localhost",
        "evil.example/.localhost",
        "[::1",
        "svc",
        "",
    ],
)
def test_any_other_host_is_refused(host: str) -> None:
    assert "is not a name of this server" in GUARD.refusal(host=host, origin=None)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://localhost:3000",
        "http://127.0.0.1",
        "null",
        "",
        "http://[::1",
    ],
)
def test_a_page_of_another_origin_is_refused(origin: str) -> None:
    refusal = GUARD.refusal(host="127.0.0.1:5000", origin=origin)
    assert "web page" in refusal
    assert GUARD.refusal(host=None, origin=origin)


def test_a_page_of_this_server_passes() -> None:
    assert GUARD.refusal(host="localhost:5000", origin="http://LocalHost:5000") == ""


def test_a_refusal_shows_only_the_begin_of_what_was_sent() -> None:
    assert len(GUARD.refusal(host="x" * 10_000, origin=None)) < 200
    assert "\x1b" not in GUARD.refusal(host="\x1b[2J", origin=None)
