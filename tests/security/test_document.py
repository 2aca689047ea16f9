"""SECURITY.md names the tests that prove what it says; each of them exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def test_every_test_that_the_document_names_exists() -> None:
    named = set(re.findall(r"`(tests/[^`]+)`", TEXT))
    assert len(named) > 10
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_every_credential_has_a_test_that_exists() -> None:
    section = TEXT.partition("## Credentials\n")[2].partition("\n## ")[0]
    _, _, *rows = [line for line in section.splitlines() if line.startswith("|")]
    assert len(rows) > 10
    cells = [row.strip("|").split("|")[-1] for row in rows]
    assert [cell for cell in cells if "test_" not in cell and "the same as" not in cell] == []
    written = "\n".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    functions = set(re.findall(r"def (test_\w+)", written))
    assert set(re.findall(r"`(test_\w+)`", TEXT)) - functions == set()
