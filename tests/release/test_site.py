"""Links of the documentation's site."""

import pytest

from release import site


@pytest.mark.parametrize(
    ("markdown", "page", "expected"),
    [
        ("[a](../examples/b.yaml)", "c.md", "a (`examples/b.yaml`)"),
        ("[a](../../src/x.py#line)", "how-to/c.md", "a (`src/x.py`)"),
        ("[a](../install.md#rights)", "how-to/c.md", "[a](../install.md#rights)"),
        ("[a](install.md)", "c.md", "[a](install.md)"),
    ],
)
def test_only_a_link_to_a_file_outside_the_pages_becomes_text(
    markdown: str, page: str, expected: str
) -> None:
    assert site.without_outside_links(markdown, page) == expected
