"""Plans the definitions to install. A definition of another owner is never replaced. Pure."""

from collections.abc import Hashable, Iterable, Mapping

import msgspec

from lading.api.apiextensions import CustomResourceDefinition
from lading.api.definitions import OWNER, OWNER_LABEL, PROJECT_LABEL, Definition
from lading.kernel.planning import Plan


class ApplyDefinition(msgspec.Struct, frozen=True, kw_only=True):
    definition: Definition
    is_upgrade: bool
    """Lading's definition exists. Only then fields of other writers may be replaced."""
    because: str

    @property
    def lane(self) -> Hashable:
        return self.definition.name


class InstallationPlan(Plan, frozen=True, kw_only=True):
    foreign: tuple[str, ...] = ()
    """A sentence for each kind that belongs to another owner."""


def plan(
    definitions: Iterable[Definition], existing: Mapping[str, CustomResourceDefinition]
) -> InstallationPlan:
    """Applies our definitions, and reports those of other owners."""
    actions: list[ApplyDefinition] = []
    others: list[str] = []
    for definition in definitions:
        found = existing.get(definition.name)
        if found is None:
            because = "it is not there"
            actions.append(
                ApplyDefinition(definition=definition, is_upgrade=False, because=because)
            )
        elif is_ours(found):
            because = "it may be older"
            actions.append(ApplyDefinition(definition=definition, is_upgrade=True, because=because))
        else:
            others.append(foreign(definition, found))
    return InstallationPlan(actions=tuple(actions), foreign=tuple(others))


def is_ours(found: CustomResourceDefinition) -> bool:
    """`kubectl apply` of another project replaces the schema and keeps Lading's label."""
    labels = found.metadata.labels
    return labels.get(OWNER_LABEL) == OWNER and labels.get(PROJECT_LABEL, OWNER) == OWNER


def served(found: CustomResourceDefinition) -> frozenset[str]:
    return frozenset(version.name for version in found.spec.versions if version.served)


def foreign(definition: Definition, found: CustomResourceDefinition) -> str:
    wanted = definition.versions[-1]
    kept = f"{definition.name} belongs to another owner and is not changed"
    if wanted in served(found):
        return kept
    offered = ", ".join(sorted(served(found))) or "none"
    return f"{kept}; Lading needs its version {wanted}, but it serves {offered}"
