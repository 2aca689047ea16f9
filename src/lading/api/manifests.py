"""Definitions as YAML text: what `lading crds` prints and `deploy/crds/` holds."""

import yaml

from lading.api.definitions import Definition

_HEADER = "# Generated from the features by `make generate`; do not edit.\n"
_WIDTH_CHARACTERS = 100


def as_yaml(definition: Definition) -> str:
    text = yaml.safe_dump(
        definition.manifest(), sort_keys=False, allow_unicode=True, width=_WIDTH_CHARACTERS
    )
    return _HEADER + text
