"""A definition of another owner is never replaced."""

import msgspec

from lading.api.apiextensions import CustomResourceDefinition
from lading.api.definitions import OWNER, OWNER_LABEL
from lading.installation.plan import ApplyDefinition, plan
from lading.wiring.features import DEFINITIONS

SETS = "pinnedimagesets.machineconfiguration.openshift.io"


def existing(*versions: str, ours: bool) -> dict[str, CustomResourceDefinition]:
    labels = {OWNER_LABEL: OWNER} if ours else {}
    document = {
        "metadata": {"name": SETS, "labels": labels},
        "spec": {"versions": [{"name": name, "served": True} for name in versions]},
    }
    return {SETS: msgspec.convert(document, CustomResourceDefinition)}


def applied(found: dict[str, CustomResourceDefinition]) -> tuple[set[str], tuple[str, ...]]:
    made = plan(DEFINITIONS, found)
    names = {one.definition.name for one in made.actions if isinstance(one, ApplyDefinition)}
    return names, made.foreign


def test_everything_is_installed_on_a_plain_cluster() -> None:
    names, notes = applied({})
    assert names == {definition.name for definition in DEFINITIONS}
    assert notes == ()


def test_ours_is_brought_up_to_date() -> None:
    assert SETS in applied(existing("v1alpha1", ours=True))[0]


def test_one_of_another_owner_is_left_as_it_is() -> None:
    names, notes = applied(existing("v1", ours=False))
    assert SETS not in names
    assert notes == (f"{SETS} belongs to another owner and is not changed",)


def test_a_version_that_another_owner_does_not_serve_is_named() -> None:
    _, notes = applied(existing("v1alpha1", ours=False))
    assert "needs its version v1, but it serves v1alpha1" in notes[0]
