"""What commands print for programs can be read back."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from lading.cli import output
from lading.cli.output import Format
from lading.pinned_images.node.types import SetState


@pytest.mark.parametrize(
    ("form", "read"), [(Format.YAML, yaml.safe_load), (Format.JSON, json.loads)]
)
def test_enumerations_and_tuples_are_words_and_lists(
    form: Format, read: Callable[[str], Any]
) -> None:
    value = {"state": SetState.PINNED, "sizes": (1, 2)}
    assert read(output.document(value, form)) == {"state": "Pinned", "sizes": [1, 2]}


def test_a_cell_of_a_table_cannot_write_to_the_terminal() -> None:
    text = output.table(["IMAGE", "NOTE"], [["app", "\x1b[2J\nfake\r"], ["b", "https://a/?sig=x"]])
    assert text.splitlines() == [
        "IMAGE   NOTE",
        r"app     \x1b[2J\nfake\r",
        "b       https://a/?[redacted]",
    ]
