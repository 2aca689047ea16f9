"""What a stranger wrote, made fit to show."""

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.kernel import texts

MEBIBYTE = 1024 * 1024
HOSTILE = [
    "a", " ", "-eyJ", "eyJ-", "eyJaaaaaaaa.", "token", "token:", 'token"', "password-", 'passwd:"',
    "bearer ", "basic" + " " * 500, "://", "://a@", "a://b?", "?", "?a", "?a=", "a=b ", "\x1b", "é",
    "'auth'", "'auth':'", "passw' ", "token=a ", "://a ", "?a=b ", "basic aaaaaaaa ",
    "eyJaaaaaaaa.a ", "'auth':'' ", "token" + "a" * 32, "token=a ://b ?a=b bearer aaaaaaaa ",
]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "GET https://me:hunter2@quay.io/v2/ failed",
        "cannot connect to proxy http://me:hunter2%40x@proxy.example.com:3128",
        "http://me:hun@hunter2@proxy.example.com:3128 refused",
        "sent Authorization: Bearer hunter2hunter2",
        "sent authorization: basic aHVudGVyMg==hunter2",
        "https://s3.example.com/blob?X-Amz-Signature=hunter2&x=1",
        "https://blob.example.com/x?sv=1&sig=hunter2%3D&x=1",
        "https://production.cloudflare.docker.com/registry-v2/x?verify=170-hunter2%3D",
        "https://cdn.example.com/x?hdnts=exp=17~acl=/*~hmac=hunter2",
        "https://cdn.example.com/x?hunter2",
        'Get "https://cdn.example.com/x?anything=hunter2": EOF',
        "GET /token?account=me&hunter2",
        '{"token": "hunter2"}',
        '{"password":"two words hunter2"}',
        "password=hunter2",
        "password = hunter2",
        '{"password" : "hunter2"}',
        "{'password': 'two words hunter2'}",
        '{"auths": {"quay.io": {"auth": "hunter2"}}}',
        "eyJhunter2hunter2.eyJhunter2.hunter2",
        "eyJhunter2hunter2.eyJhunter2",
    ],
)
def test_what_looks_like_a_secret_is_left_out(text: str) -> None:
    assert "hunter2" not in texts.bounded_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "pinned quay.io/team/app@sha256:" + "a" * 64,
        "https://quay.io:443/v2/team/app@sha256:abc/manifests/latest answered 404",
        "basic checks passed; the bearer of this is well",
        "unauthorized: authentication required",
        "3 of 5 images, 120 MiB at 10:42:00",
        "check that the runtime runs and that you may use its socket",
        "größer als 日本",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert texts.bounded_text(text) == text


def test_a_signed_url_keeps_its_host_and_path() -> None:
    text = 'Get "https://me:x@cdn.example.com/blobs/ab?Signature=x": EOF'
    shown = 'Get "https://[redacted]@cdn.example.com/blobs/ab?[redacted]": EOF'
    assert texts.bounded_text(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2Jgone", r"\x1b[2Jgone"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x9b31m", r"\x9b31m"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("cut \udc80 off", r"cut \udc80 off"),
    ],
)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert texts.bounded_text(text) == shown


def test_a_trace_keeps_its_lines_and_nothing_else() -> None:
    assert texts.bounded_text("a\n\tb\x1b[2J", keep_lines=True) == "a\n\tb\\x1b[2J"


def test_of_a_long_text_the_beginning_and_the_end_are_shown() -> None:
    shown = texts.bounded_text("pull of app failed: " + "ü" * 4000 + " 401 Unauthorized")
    assert len(shown.encode()) <= texts.TEXT_BYTES_MAX
    assert shown.startswith("pull of app failed: ü")
    assert shown.endswith("ü 401 Unauthorized")


@pytest.mark.parametrize("before", range(16))
def test_a_secret_that_a_cut_would_halve_is_left_out(before: int) -> None:
    """Without its end, the password in a URL has not the form of one."""
    until = texts.READ_CHARACTERS_MAX - len(" https://me:") - before
    signed = "https://a/?" + "x" * (until - 11)  # shortens to a few characters
    shown = texts.bounded_text(f"{signed} https://me:{'hunter2' * 9}@quay.io/ answered 401")
    assert "hunter2" not in shown
    assert shown.startswith("https://a/?[redacted]")


@pytest.mark.parametrize("word", HOSTILE)
@pytest.mark.parametrize("work", [texts.bounded_text, texts.redacted])
def test_a_mebibyte_takes_less_than_50_ms(word: str, work: Callable[[str], str]) -> None:
    text = word * (MEBIBYTE // len(word))
    assert min(seconds(work, text) for _ in range(5)) < 0.05


@pytest.mark.parametrize("word", HOSTILE)
def test_redaction_is_linear(word: str) -> None:
    """Sixteen times the text takes about sixteen times as long; squared it would take 256 times."""
    small, large = (word * (size // len(word)) for size in (1024, texts.READ_CHARACTERS_MAX))
    quickest = min(seconds(repeated, small) for _ in range(5))
    assert min(seconds(repeated, large) for _ in range(3)) < 64 * quickest + 0.01


def repeated(text: str) -> None:
    for _ in range(10):
        texts.redacted(text)


def seconds(work: Callable[[str], object], text: str) -> float:
    began = time.process_time()
    work(text)
    return time.process_time() - began


@given(st.text(max_size=2000), st.integers(min_value=32, max_value=8192))
def test_any_text_becomes_short_and_printable(text: str, bytes_max: int) -> None:
    shown = texts.bounded_text(text, bytes_max=bytes_max)
    assert len(shown.encode()) <= bytes_max
    assert shown.isprintable()


@given(st.text(alphabet='a:/@?&=. "eyJ-token', max_size=200))
def test_a_redacted_text_stays_as_it_is(text: str) -> None:
    once = texts.redacted(text)
    assert texts.redacted(once) == once
