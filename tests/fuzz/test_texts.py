"""Any text is shown short, printable and in time."""

from hypothesis import example, given
from hypothesis import strategies as st

from lading.kernel import texts
from tests.fuzz import harness

PIECES = st.sampled_from(
    [
        *("://", "@", "?", "&", "=", ":", " ", '"', "'", ".", "-", "eyJ", "token", "password"),
        *("Bearer ", "basic ", "https://me:x@a/?b=c", "\x1b[2J", "\u202e", "\ud800", "\n"),
        "a" * 100,
        "ü" * 50,
    ]
)
TEXTS = st.text(max_size=50) | st.lists(PIECES, max_size=200).map("".join)


@given(text=TEXTS, repeated=st.sampled_from([1, 10, 1000]))
@example(text="token", repeated=1_000_000)
@example(text="eyJ-", repeated=1_000_000)
def test_any_text_is_short_and_printable(text: str, repeated: int) -> None:
    harness.check(lambda: _show(text * repeated), refusals=(), cpu_seconds_max=1.0)


def _show(text: str) -> None:
    shown = texts.bounded_text(text)
    assert len(shown.encode()) <= texts.TEXT_BYTES_MAX
    assert shown.isprintable()
