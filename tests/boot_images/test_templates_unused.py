"""Which clones are marked, kept and removed; the world is a set of templates and their users."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.api.cluster_api import MachineTemplate, TemplateKey
from lading.api.definitions import OWNER, OWNER_LABEL
from lading.boot_images import plan
from lading.boot_images import templates as clones
from lading.boot_images.platforms.types import Api
from lading.boot_images.templates import SOURCE_ANNOTATION, UNUSED_ANNOTATION
from lading.boot_images.types import (
    BootImageSettings,
    CloneTemplate,
    DeleteTemplate,
    MarkTemplate,
    ObservedMachineSets,
)
from lading.kernel import conditions
from lading.kernel.planning import Plan
from lading.kernel.values import replace
from tests.boot_images.streams import GCP_IMAGE
from tests.boot_images.worlds import (
    CLUSTER_NAMESPACE,
    NAMESPACE,
    NOW,
    cluster_machine_set,
    configuration,
    observed,
    template,
    templates,
)

DAY = timedelta(days=1)
SETTINGS = BootImageSettings()
UNUSED: frozenset[TemplateKey] = frozenset()


def key(name: str) -> TemplateKey:
    return "GCPMachineTemplate", CLUSTER_NAMESPACE, name


def clone(name: str = "clone-1", since: timedelta | str | None = None) -> MachineTemplate:
    """A template that we made; `since` is how long ago it was marked as unused."""
    annotations = {SOURCE_ANNOTATION: "template-a"}
    if since is not None:
        text = since if isinstance(since, str) else conditions.timestamp(NOW - since)
        annotations[UNUSED_ANNOTATION] = text
    return template(name, uid=f"uid-{name}", labels={OWNER_LABEL: OWNER}, annotations=annotations)


def world(
    *found: MachineTemplate, in_use: frozenset[TemplateKey] | None = UNUSED
) -> ObservedMachineSets:
    return observed(api=Api.CLUSTER, templates=templates(*found), templates_in_use=in_use)


def planned(one: ObservedMachineSets) -> Plan:
    return plan.plan(one, SETTINGS, NOW, namespace=NAMESPACE)


def what_is_done(one: ObservedMachineSets) -> list[tuple[str, str]]:
    found = []
    for action in planned(one).actions:
        if isinstance(action, MarkTemplate):
            found.append((f"mark {action.unused_since}".strip(), action.template.key.name))
        if isinstance(action, DeleteTemplate):
            found.append(("delete", action.template.key.name))
    return found


MARKED_NOW = f"mark {conditions.timestamp(NOW)}"


@pytest.mark.parametrize(
    ("one", "done"),
    [
        pytest.param(world(clone()), [(MARKED_NOW, "clone-1")], id="unused is marked first"),
        pytest.param(world(clone(since=DAY)), [("delete", "clone-1")], id="after a day it goes"),
        pytest.param(world(clone(since=DAY - timedelta(seconds=1))), [], id="not a second before"),
        pytest.param(
            world(clone(since=DAY), in_use=frozenset({key("clone-1")})),
            [("mark", "clone-1")],
            id="needed again, the mark goes",
        ),
        pytest.param(
            world(clone(), in_use=frozenset({key("clone-1")})), [], id="a machine needs it"
        ),
        pytest.param(world(clone(since=DAY), in_use=None), [], id="unknown is kept"),
        pytest.param(
            world(clone(since="yesterday")), [(MARKED_NOW, "clone-1")], id="an unreadable mark"
        ),
        pytest.param(
            world(clone(since="2020-01-01T00:00:00")),
            [(MARKED_NOW, "clone-1")],
            id="a mark without a time zone",
        ),
        pytest.param(world(clone(since=-DAY)), [(MARKED_NOW, "clone-1")], id="a mark of tomorrow"),
        pytest.param(world(template()), [], id="not ours"),
        pytest.param(
            world(template(labels={OWNER_LABEL: OWNER}, annotations={UNUSED_ANNOTATION: "2020"})),
            [],
            id="our label alone makes no clone",
        ),
        pytest.param(
            world(template(annotations={SOURCE_ANNOTATION: "x", UNUSED_ANNOTATION: "2020"})),
            [],
            id="our annotations alone make no clone",
        ),
    ],
)
def test_a_clone(one: ObservedMachineSets, done: list[tuple[str, str]]) -> None:
    assert what_is_done(one) == done


def test_a_removal_holds_only_for_the_version_that_was_observed() -> None:
    old = clone(since=DAY)
    metadata = replace(old.metadata, resource_version="41")
    (action,) = planned(world(replace(old, metadata=metadata))).actions
    assert isinstance(action, DeleteTemplate)
    assert (action.template.uid, action.template.resource_version) == ("uid-clone-1", "41")


def test_a_clone_that_is_being_deleted_is_left_alone() -> None:
    old = clone(since=DAY)
    metadata = replace(old.metadata, deletion_timestamp="2026-11-16T00:00:00Z")
    assert what_is_done(world(replace(old, metadata=metadata))) == []


def test_a_clone_that_this_pass_needs_is_not_removed() -> None:
    """The set was restored by hand; its next update makes the very same clone."""
    one = replace(
        observed(cluster_machine_set(), api=Api.CLUSTER),
        templates_in_use=frozenset({key("template-a")}),
    )
    (made,) = (each for each in planned(one).actions if isinstance(each, CloneTemplate))
    name = made.body["metadata"]["name"]
    again = replace(one, templates=templates(template(), clone(name, since=DAY)))
    assert what_is_done(again) == [("mark", name)]


def test_where_another_operator_manages_nothing_is_removed() -> None:
    managed = replace(
        configuration(),
        status=replace(
            configuration().status, managed_boot_images_status={"machineManagers": [{}]}
        ),
    )
    assert what_is_done(replace(world(clone(since=DAY)), configurations=(managed,))) == []


def test_an_opt_out_does_not_keep_clones() -> None:
    out = configuration(managedBootImageConfig={"mode": "Disabled"})
    one = replace(world(clone(since=DAY)), configurations=(out,))
    assert what_is_done(one) == [("delete", "clone-1")]


def test_it_is_looked_at_again_when_the_time_has_come() -> None:
    hour = timedelta(hours=1)
    assert planned(world(clone(since=hour))).recheck_at == NOW + DAY - hour
    assert planned(world(clone())).recheck_at == NOW + DAY


def test_machines_are_not_watched_so_their_end_is_looked_for() -> None:
    one = world(clone(), in_use=frozenset({key("clone-1")}))
    assert planned(one).recheck_at == NOW + SETTINGS.templates_interval


def test_while_the_machines_are_not_listed_nothing_is_removed_and_it_is_looked_at_later() -> None:
    one = replace(world(clone(since=DAY)), templates_in_use=None)
    assert planned(one).actions == ()
    assert planned(one).recheck_at == NOW + SETTINGS.templates_interval


NAMES = st.sampled_from(["a", "b", "c", "d"])


@given(ours=st.sets(NAMES), marked=st.sets(NAMES), named=st.sets(NAMES), used=st.sets(NAMES))
def test_only_our_clones_that_nothing_names_ever_go(
    ours: set[str], marked: set[str], named: set[str], used: set[str]
) -> None:
    found = [
        clone(name, since=DAY if name in marked else None) if name in ours else template(name)
        for name in "abcd"
    ]
    sets = tuple(cluster_machine_set(f"set-{name}", template=name) for name in sorted(named))
    in_use = frozenset(key(name) for name in named | used)
    one = replace(world(*found, in_use=in_use), machine_sets=sets)
    removed = {
        each.template.key.name for each in planned(one).actions if isinstance(each, DeleteTemplate)
    }
    remade = {
        each.body["metadata"]["name"]
        for each in planned(one).actions
        if isinstance(each, CloneTemplate)
    }
    assert removed == (ours & marked) - named - used - remade


@pytest.mark.parametrize(
    ("present", "is_same"),
    [
        ({"image": GCP_IMAGE, "size": {"gb": 1}}, True),
        ({"image": GCP_IMAGE, "size": {"gb": 1, "kind": "default"}, "added": True}, True),
        ({"image": GCP_IMAGE, "size": {"gb": 2}}, False),
        ({"image": GCP_IMAGE}, False),
        (None, False),
    ],
)
def test_a_stored_template_is_compared_but_for_defaults(present: object, is_same: bool) -> None:
    assert clones.holds(present, {"image": GCP_IMAGE, "size": {"gb": 1}}) == is_same
