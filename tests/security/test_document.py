"""SECURITY.md names the tests that prove what it says; each of them exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_test_that_the_document_names_exists() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(tests/[^`]+)`", text))
    assert len(named) > 10
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
