"""The role of the pruner covers everything that it reads."""

from lading.pruning.engine import rights
from lading.pruning.engine.references import observe
from lading.pruning.engine.references.custom_paths import READY_MADE


def may(verb: str, group: str, plural: str) -> bool:
    return any(
        right.group == group
        and plural in right.resources
        and verb in right.verbs
        and not right.names
        for right in rights.RIGHTS
    )


def test_every_kind_that_protects_may_be_listed_and_watched() -> None:
    for group, plural in observe.KINDS:
        assert may("list", group, plural), plural
        assert may("watch", group, plural), plural


PLURALS = (
    *("services", "configurations", "revisions"),
    *("workflows", "workflowtemplates", "clusterworkflowtemplates", "cronworkflows", "rollouts"),
    *("analysistemplates", "tasks", "clustertasks", "taskruns", "pipelines", "pipelineruns"),
    *("virtualmachines", "virtualmachineinstances", "virtualmachineinstancereplicasets"),
    *("datavolumes", "dataimportcrons", "ocirepositories", "imagepolicies", "helmreleases"),
    *("kustomizations", "clusterserviceversions", "catalogsources"),
)
"""As the definitions of their projects have them."""


def test_every_ready_made_custom_resource_may_be_listed_and_watched() -> None:
    assert {one.plural for one in READY_MADE} == set(PLURALS)
    for one in READY_MADE:
        assert may("list", one.group, one.plural), one
        assert may("watch", one.group, one.plural), one


def test_no_right_is_for_all_resources_of_a_group() -> None:
    assert "*" not in {one for right in rights.RIGHTS for one in right.resources}


def test_only_images_and_the_status_of_streams_may_be_changed() -> None:
    changed = {
        (right.group, resource, verb)
        for right in rights.RIGHTS
        for resource in right.resources
        for verb in right.verbs
        if verb not in rights.READ
    }
    assert changed == {
        ("image.openshift.io", "images", "delete"),
        ("image.openshift.io", "imagestreams/status", "update"),
    }
