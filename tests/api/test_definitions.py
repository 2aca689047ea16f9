"""The generated definitions: fresh, structural, and as strict as the design."""

import re

import pytest
import yaml

from lading.api import definitions
from lading.api.definitions import Definition
from lading.api.machineconfiguration.pinned_image_set import IMAGE_NAME_RULE
from lading.wiring.features import DEFINITIONS


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda one: str(one.kind))
def test_every_field_says_what_it_means(definition: Definition) -> None:
    def undocumented(schema: dict[str, object], path: str) -> list[str]:
        properties = schema.get("properties", {})
        assert isinstance(properties, dict)
        found = []
        for name, child in properties.items():
            if path == "" and name in ("apiVersion", "kind", "metadata"):
                continue
            if not child.get("description"):
                found.append(f"{path}.{name}")
            found += undocumented(child, f"{path}.{name}")
            found += undocumented(child.get("items", {}), f"{path}.{name}[]")
        return found

    assert undocumented(definition.schema(), "") == []


def test_the_stored_version_is_the_last_and_all_are_served() -> None:
    for definition in DEFINITIONS:
        versions = yaml.safe_load(definitions.as_yaml(definition))["spec"]["versions"]
        assert [version["storage"] for version in versions] == [False] * (len(versions) - 1) + [
            True
        ]
        assert all(version["served"] for version in versions)


_PATTERN = re.search(r"matches\('(.*)'\)$", IMAGE_NAME_RULE.rule)
assert _PATTERN is not None
IMAGE_NAME = re.compile(_PATTERN[1].replace("\\\\", "\\"))


@pytest.mark.parametrize(
    "name",
    [
        "quay.io/app",
        "quay.io/openshift-release-dev/ocp-v4.0-art-dev",
        "registry.example.com:5000/a/b/c/d_e/f--g",
        "localhost/app",
        "localhost:5000/app",
        "registry:5000/app",
        "[fe80::1]:5000/app",
        "127.0.0.1:5000/app",
    ],
)
def test_names_by_the_grammar_are_accepted(name: str) -> None:
    assert IMAGE_NAME.search(name)


@pytest.mark.parametrize(
    "name",
    ["", "app", "library/app", "quay.io/", "quay.io//app", "quay.io/App", "quay.io/app:tag",
     "https://quay.io/app", "quay.io/a b", "-quay.io/app", "quay.io/app/"],
)  # fmt: skip
def test_other_names_are_refused(name: str) -> None:
    assert not IMAGE_NAME.search(name)
