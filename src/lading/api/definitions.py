"""CustomResourceDefinitions: the declaration of a kind, and its manifest and YAML.

Each kind is declared in the module of its API group.
"""

from typing import Any

import msgspec
import yaml

from lading.api import schema
from lading.kernel.objects import Object, Resource

OWNER_LABEL = "app.kubernetes.io/managed-by"
OWNER = "lading"
PROJECT_LABEL = "app.kubernetes.io/name"
"""Another project sets it when it applies its manifest over a definition of Lading."""


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A printer column of `kubectl get`; priority 1 shows only with `-o wide`."""

    name: str
    type: str
    json_path: str
    description: str
    priority: int = 0


AGE = Column(
    name="Age",
    type="date",
    json_path=".metadata.creationTimestamp",
    description="Time since the object was created.",
)


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """A kind that Lading owns and installs. The last of `versions` is the one that is stored."""

    group: str
    versions: tuple[str, ...]
    kind: str
    plural: str
    short_names: tuple[str, ...]
    namespaced: bool
    type: type[Object]
    columns: tuple[Column, ...]
    shared_with: str = ""
    """The project that installs the same kind. The schema keeps the fields of that project, and
    only an installation that looks first has the kind."""

    @property
    def name(self) -> str:
        return f"{self.plural}.{self.group}"

    def manifest(self) -> dict[str, Any]:
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name, "labels": {OWNER_LABEL: OWNER}},
            "spec": {
                "group": self.group,
                "names": self._names(),
                "scope": "Namespaced" if self.namespaced else "Cluster",
                "versions": [self._version(version) for version in self.versions],
            },
        }

    def _names(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "listKind": f"{self.kind}List",
            "plural": self.plural,
            "singular": self.kind.lower(),
            "shortNames": list(self.short_names),
            "categories": ["lading"],
        }

    def _version(self, version: str) -> dict[str, Any]:
        return {
            "name": version,
            "served": True,
            "storage": version == self.versions[-1],
            "schema": {"openAPIV3Schema": self.schema()},
            "subresources": {"status": {}},
            "additionalPrinterColumns": [_column(column) for column in self.columns],
        }

    def resource(self) -> Resource[Any]:
        """Where the API serves the kind, at the version that is stored."""
        return Resource(
            group=self.group,
            version=self.versions[-1],
            kind=self.kind,
            plural=self.plural,
            namespaced=self.namespaced,
            type=self.type,
        )

    def schema(self) -> schema.Schema:
        whole = schema.schema_of(self.type)
        properties = dict(whole["properties"])
        properties["apiVersion"] = {"type": "string"}
        properties["kind"] = {"type": "string"}
        properties["metadata"] = {"type": "object"}
        loose = {"x-kubernetes-preserve-unknown-fields": True} if self.shared_with else {}
        return {**whole, "properties": properties, **loose}


def _column(column: Column) -> dict[str, Any]:
    printed: dict[str, Any] = {
        "name": column.name,
        "type": column.type,
        "jsonPath": column.json_path,
        "description": column.description,
    }
    if column.priority:
        printed["priority"] = column.priority
    return printed


_HEADER = "# Generated from the features by `make generate`; do not edit.\n"
_WIDTH_CHARACTERS = 100


def as_yaml(definition: Definition) -> str:
    text = yaml.safe_dump(
        definition.manifest(), sort_keys=False, allow_unicode=True, width=_WIDTH_CHARACTERS
    )
    return _HEADER + text
