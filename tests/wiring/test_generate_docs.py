"""The rights that docs/features.md lists are those of the manifests."""

from pathlib import Path
from typing import Any

import pytest
import yaml

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "features.md").read_text(encoding="utf-8")
ROWS = [line.strip("|").split(" | ") for line in PAGE.splitlines() if line.startswith("| ")]
FILES = ("base/user-roles.yaml", "base/image-pruner-rbac.yaml", "optional/pruner/rbac.yaml")


def cluster_roles(file: str) -> list[dict[str, Any]]:
    found = yaml.safe_load_all((REPOSITORY / "deploy" / file).read_text(encoding="utf-8"))
    return [one for one in found if one["kind"] == "ClusterRole" and "rules" in one]


def listed(role: str) -> list[tuple[str, ...]]:
    """Group, resources and verbs in the rows of a role."""
    found = [[cell.strip() for cell in row] for row in ROWS]
    return sorted(tuple(row[1:4]) for row in found if f"`{role}`" in row[0].split(", "))


@pytest.mark.parametrize(
    "role",
    [one for file in FILES for one in cluster_roles(file)],
    ids=lambda one: one["metadata"]["name"],
)
def test_every_right_of_users_and_of_pruning_is_listed(role: dict[str, Any]) -> None:
    labels = role["metadata"].get("labels", {})
    (aggregated,) = (one.rpartition("-to-")[2] for one in labels) if labels else ("",)
    granted = [
        (
            one["apiGroups"][0] or "core",
            ", ".join(one["resources"]),
            ", ".join(one["verbs"]),
        )
        for one in role["rules"]
    ]
    shown = {"pruner": "lading-pruner"}.get(aggregated, aggregated)
    assert listed(shown or role["metadata"]["name"]) == sorted(granted)
