"""What is generated from the features is what the repository holds."""

from pathlib import Path

import pytest

from lading.wiring import generate

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize("path", generate.files(), ids=str)
def test_a_generated_file_is_fresh(path: Path) -> None:
    content = (REPOSITORY / path).read_text(encoding="utf-8")
    assert content == generate.files()[path], "run `make generate`"


def test_no_definition_is_left_of_a_kind_that_is_gone() -> None:
    found = {one.relative_to(REPOSITORY) for one in (REPOSITORY / "deploy/crds").glob("*.yaml")}
    assert found <= generate.files().keys()
