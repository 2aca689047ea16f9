"""Text that is drawn in place fits the terminal."""

from lading.cli.screen import fitted_lines


def test_what_fits_is_shown_whole() -> None:
    assert fitted_lines("a\nb\n", columns=80, lines=3) == ["a", "b"]


def test_what_would_scroll_is_left_out_and_counted() -> None:
    lines = fitted_lines("a\nb\nc\nd\n", columns=80, lines=4)
    assert lines == ["a", "b", "... and 2 more lines"]


def test_a_line_never_wraps() -> None:
    assert fitted_lines("x" * 100, columns=80, lines=10) == ["x" * 79]
