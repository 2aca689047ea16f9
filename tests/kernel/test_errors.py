"""What of a malformed text is shown."""

import pytest

from lading.kernel import errors
from lading.kernel.errors import Malformed


def test_the_text_is_quoted_and_shortened() -> None:
    assert errors.shown("a'b") == '"a\'b"'
    shown = errors.shown("x" * 1000)
    assert shown.endswith("x… (1002 characters)")
    assert len(shown) < 2 * errors.SHOWN_CHARACTERS_MAX


@pytest.mark.parametrize("before", range(8))
def test_a_secret_that_is_cut_in_two_is_left_out(before: int) -> None:
    room = errors.SHOWN_CHARACTERS_MAX - len("'https://me:hunter2") + before
    text = f"{'x' * room}https://me:hunter2hunter2@registry.example.com/"
    assert "hunter" not in str(Malformed(what="address", text=text, reason="it is too long"))
