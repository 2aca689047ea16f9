"""Texts of strangers on the page, and in commands that a person copies."""

import shlex

import pytest

from lading.web.views import wording


@pytest.mark.parametrize("name", ["a; rm -rf /", "$(id)", "`id`", "a'b", "a b", "-x\nid"])
def test_a_name_of_a_stranger_is_one_word_of_a_command(name: str) -> None:
    words = shlex.split(wording.command("lading", "pin", "status", name))
    assert len(words) == 4
    assert "\n" not in words[3]


@pytest.mark.parametrize(
    "image",
    ["registry.example.com/secrets-store:1.4", "example.com/token:v1", "team/passwords:latest"],
)
def test_the_tag_of_an_image_is_no_secret(image: str) -> None:
    assert wording.image(image) == image


def test_what_is_no_image_passes_the_filter() -> None:
    assert wording.image("https://robot:hidden@example.com/x") == "https://[redacted]@example.com/x"


def test_a_long_message_is_cut() -> None:
    assert len(wording.message("words " * 10_000).encode()) <= wording.MESSAGE_BYTES_MAX


@pytest.mark.parametrize(("count", "text"), [(1, "1 node"), (2, "2 nodes"), (1000, "1,000 nodes")])
def test_counts_read_well(count: int, text: str) -> None:
    assert wording.counted(count, "node") == text


def test_every_line_of_several_is_fit_for_the_page() -> None:
    assert wording.lines("a\npassword=correct-horse") == "a\n" + wording.message(
        "password=correct-horse"
    )
    assert wording.lines("a\n" * 1000).count("\n") == wording.LINES_MAX - 1
