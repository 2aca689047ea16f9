"""What docs/kinds.md lists of a schema; that it is fresh is a case of test_generate.py."""

import pytest

from lading.api.imageregistry import IMAGE_PRUNER
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SET
from lading.wiring.generate import kinds

PAGE = kinds.page((IMAGE_PRUNER, PINNED_IMAGE_SET))
ROWS = {line.split("`")[1]: line for line in PAGE.splitlines() if line.startswith("| `")}


@pytest.mark.parametrize(
    ("field", "text"),
    [
        pytest.param("spec.pinnedImages[].name", "**Required.**", id="a required field is marked"),
        pytest.param("spec.pinnedImages[].name", "Rule: ", id="rules of CEL are listed"),
        pytest.param("spec.pinnedImages[].name", "sha256:&lt;", id="text is not read as HTML"),
        pytest.param("spec.pinnedImages", "[]object", id="a list names its entries"),
        pytest.param("spec.nodeSelector", "label selector", id="a selector is one type"),
        pytest.param("spec.logLevel", "One of `Normal`, `Debug`", id="values are listed"),
        pytest.param("spec.keepTagRevisions", "Default: `3`", id="a default is shown"),
        pytest.param("spec.suspend", "Default: `false`", id="a default is as in YAML"),
        pytest.param("status.lastRun[].kept", "map[string]int64", id="a map names its values"),
        pytest.param(
            "spec.keepYoungerThan", "integer or string", id="a field of two types names both"
        ),
    ],
)
def test_a_row_describes_its_field(field: str, text: str) -> None:
    assert text in ROWS[field]


@pytest.mark.parametrize("prefix", ["metadata", "status.conditions[]", "spec.nodeSelector.match"])
def test_what_every_kubernetes_user_knows_is_left_out(prefix: str) -> None:
    assert [field for field in ROWS if field.startswith(prefix)] == []
