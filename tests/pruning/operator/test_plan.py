"""What becomes of the objects of the ImagePruner."""

import copy
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from lading.kernel.objects import OwnerReference
from lading.kernel.planning import LastWrite, RecordEvent
from lading.kernel.values import replace
from lading.pruning.operator import plan as planning
from lading.pruning.operator.types import (
    CreateObject,
    DeleteBinding,
    ObservedPruner,
    PrunerSettings,
    UpdateObject,
    WritePrunerStatus,
)
from tests.pruning.operator.pruner_worlds import (
    NOW,
    SETTINGS,
    accepted_write,
    arguments,
    observed,
    pruner,
    reported,
    settled,
)

NAME = "lading-image-pruner"


def actions(seen: ObservedPruner, settings: PrunerSettings = SETTINGS) -> list[Any]:
    return list(planning.plan(seen, settings, NOW).plan.actions)


def available(seen: ObservedPruner) -> Any:
    (written,) = [one for one in actions(seen) if isinstance(one, WritePrunerStatus)]
    return next(one for one in written.status.conditions if one.type == "Available")


def test_the_objects_are_created_before_their_status_is_written() -> None:
    found = actions(observed())
    assert all(isinstance(one, CreateObject) for one in found)
    assert [one.body["kind"] for one in found] == [
        "ServiceAccount",
        "ClusterRoleBinding",
        "CronJob",
    ]
    soon = planning.plan(observed(), SETTINGS, NOW).plan.recheck_at
    assert soon == NOW, "a write that changes nothing causes no event"


def test_a_settled_cluster_costs_nothing() -> None:
    seen = reported(settled())
    assert actions(seen) == []
    assert planning.plan(seen, SETTINGS, NOW).plan.recheck_at is not None


def test_without_an_image_pruner_nothing_is_done() -> None:
    assert actions(observed(pruner=None)) == []
    deleted = pruner(deletionTimestamp="2026-01-01T00:00:00Z")
    assert actions(observed(pruner=deleted)) == []


@pytest.mark.parametrize(
    ("state", "registries", "expected"),
    [
        ("Managed", [], True),
        ("Removed", [], False),
        ("Unmanaged", [], False),
        ("Force", [], False),
        ("", [], False),
        ("Removed", [{"name": "a", "url": "a:5000"}], False),
        (None, [], False),
        (None, [{"name": "a", "url": "a:5000"}], True),
    ],
)
def test_the_flag_follows_the_management_state(
    state: str | None, registries: list[Any], expected: bool
) -> None:
    seen = observed({"registries": registries}, management_state=state)
    cron_job = actions(seen)[-1].body
    for container in range(1 + len(registries)):
        assert f"--prune-registry={str(expected).lower()}" in arguments(cron_job, container)


def test_an_edit_reaches_the_cron_job() -> None:
    seen = settled()
    edited = replace(seen, pruner=pruner({"schedule": "@hourly", "suspend": True}))
    (action,) = actions(edited)
    assert isinstance(action, UpdateObject)
    assert action.body["spec"]["schedule"] == "@hourly"
    assert action.body["spec"]["suspend"] is True


def test_drift_of_the_cron_job_is_repaired() -> None:
    seen = settled()
    assert seen.cron_job is not None
    spec = copy.deepcopy(seen.cron_job.spec)
    spec["concurrencyPolicy"] = "Allow"
    changed = replace(seen.cron_job, spec=spec)
    (action,) = actions(replace(seen, cron_job=changed))
    assert isinstance(action, UpdateObject)
    assert action.because == "it was changed by hand"
    (again,) = actions(replace(seen, writes={}))
    assert isinstance(again, UpdateObject), "a new process cannot tell, and writes the same"


def test_what_a_webhook_added_is_accepted() -> None:
    seen = settled()
    assert seen.cron_job is not None
    spec = {**seen.cron_job.spec, "added": True}
    changed = replace(seen.cron_job, spec=spec)
    accepted = replace(seen, cron_job=changed, writes=accepted_write(changed))
    assert not [one for one in actions(accepted) if isinstance(one, UpdateObject)]


def test_drift_of_the_rights_is_repaired() -> None:
    seen = settled()
    binding = seen.bindings[NAME]
    no_subject = replace(seen, bindings={NAME: replace(binding, subjects=None)})
    assert isinstance(actions(no_subject)[0], UpdateObject)
    (subject,) = binding.subjects or ()
    another = (replace(subject, namespace="elsewhere"), subject)
    more = replace(binding, subjects=another)
    assert isinstance(actions(replace(seen, bindings={NAME: more}))[0], UpdateObject)
    role = replace(binding.role_ref, name="cluster-admin")
    other = replace(binding, role_ref=role)
    kind = replace(binding.role_ref, kind="Role")
    local = replace(binding, role_ref=kind)
    assert isinstance(actions(replace(seen, bindings={NAME: local}))[0], DeleteBinding)
    first, second = actions(replace(seen, bindings={NAME: other}))[:2]
    assert isinstance(first, DeleteBinding)
    assert isinstance(second, CreateObject)
    assert isinstance(actions(replace(seen, account=None))[0], CreateObject)


def test_labels_and_owners_are_repaired_and_an_older_object_is_adopted() -> None:
    seen = settled()
    assert seen.account is not None
    metadata = replace(seen.account.metadata, labels={})
    bare = replace(seen.account, metadata=metadata)
    (action,) = actions(replace(seen, account=bare))
    assert isinstance(action, UpdateObject)
    owner = OwnerReference(api_version="v1", kind="ImagePruner", name="cluster", uid="older")
    metadata = replace(seen.account.metadata, owner_references=(owner,))
    older = replace(seen.account, metadata=metadata)
    (action,) = actions(replace(seen, account=older))
    assert isinstance(action, UpdateObject)


def foreign(one: Any) -> Any:
    metadata = replace(one.metadata, labels={}, owner_references=())
    return replace(one, metadata=metadata)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        pytest.param(
            lambda seen: replace(seen, cron_job=foreign(seen.cron_job)),
            "CronJob lading-system/lading-image-pruner",
            id="the CronJob",
        ),
        pytest.param(
            lambda seen: replace(seen, account=foreign(seen.account)),
            "ServiceAccount lading-system/lading-image-pruner",
            id="the account",
        ),
        pytest.param(
            lambda seen: replace(seen, bindings={NAME: foreign(seen.bindings[NAME])}),
            "ClusterRoleBinding lading-image-pruner",
            id="a binding",
        ),
    ],
)
def test_an_object_of_another_owner_is_left_alone_and_named(
    change: Callable[[ObservedPruner], ObservedPruner], name: str
) -> None:
    seen = change(settled())
    kinds = {type(one) for one in actions(seen)}
    assert kinds == {WritePrunerStatus, RecordEvent}
    assert f"{name} belongs" in available(seen).message


def test_conditions_of_another_writer_are_not_taken_over() -> None:
    theirs = {"type": "Theirs", "status": "True", "reason": "x", "message": ""}
    seen = settled(pruner=pruner(status={"conditions": [theirs]}))
    (written,) = [one for one in actions(seen) if isinstance(one, WritePrunerStatus)]
    assert "Theirs" not in {one.type for one in written.status.conditions}


def test_a_report_of_a_job_is_not_taken_over() -> None:
    run = {"name": "main", "job": "first"}
    seen = settled(pruner=pruner(status={"lastRun": [run]}))
    (written,) = [one for one in actions(seen) if isinstance(one, WritePrunerStatus)]
    assert written.status.last_run == ()


def test_a_bad_spec_names_the_field_and_the_last_good_cron_job_stays() -> None:
    seen = reported(settled({"schedule": "@weekly"}))
    assert seen.pruner is not None
    bad = pruner({"tolerations": {}}, status=seen.pruner.status, generation=2)
    found = actions(replace(seen, pruner=bad))
    assert not [one for one in found if isinstance(one, UpdateObject)]
    condition = available(replace(seen, pruner=bad))
    assert condition.status == "False"
    assert condition.message.startswith("spec.tolerations:")
    assert condition.message.endswith("The last good CronJob stays.")
    assert condition.observed_generation == 2
    warned = [one for one in found if isinstance(one, RecordEvent)]
    assert [(one.reason, one.warning) for one in warned] == [("Error", True)]


def test_without_an_image_the_condition_tells() -> None:
    assert "--pruner-image" in available(observed(own_image="")).message


def test_a_refusal_is_reported_as_long_as_the_same_is_to_be_written() -> None:
    seen = reported(settled())
    bad = pruner({"keepTagRevisions": 7}, status=seen.pruner and seen.pruner.status, generation=2)
    (replaced,) = (
        one for one in actions(replace(seen, pruner=bad)) if isinstance(one, UpdateObject)
    )
    refusal = {
        planning.CRON_JOB: LastWrite(
            body=replaced.body, at=NOW, answer=seen.cron_job, refusal="too many"
        )
    }
    condition = available(replace(seen, pruner=bad, writes=refusal))
    assert condition.status == "False"
    assert condition.message == (
        "The API server refuses CronJob lading-image-pruner: too many. The last good CronJob stays."
    )
    assert actions(replace(seen, writes=refusal)) == [], "it is no longer wanted"
    other = pruner({"keepTagRevisions": 8}, status=bad.status, generation=3)
    found = actions(replace(seen, pruner=other, writes=refusal))
    assert [type(one) for one in found] == [UpdateObject], "another body may be accepted"


def test_a_binding_that_may_not_be_deleted_is_reported() -> None:
    seen = settled()
    foreign = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"}
    (name, one), *_ = seen.bindings.items()
    changed = replace(one, role_ref=msgspec.convert(foreign, type(one.role_ref)))
    refusal = {f"ClusterRoleBinding {name}": LastWrite(body=None, at=NOW, refusal="forbidden")}
    condition = available(replace(seen, bindings={name: changed}, writes=refusal))
    assert f"The API server refuses ClusterRoleBinding {name}: forbidden." in condition.message


def test_on_openshift_nothing_is_written_unless_it_is_to_take_over() -> None:
    status = {
        "conditions": [
            {"type": "Scheduled", "status": "True"},
            {"type": "Failed", "status": "True", "reason": "x"},
        ]
    }
    theirs = pruner({"suspend": False, "schedule": ""}, status=status)
    seen = observed(is_openshift=True, decision=None, pruner=theirs, drops_status=True)
    found = planning.plan(seen, SETTINGS, NOW)
    assert found.plan.actions == ()
    assert found.facts.exists
    assert found.facts.is_scheduled
    assert found.facts.has_failed is True
    assert found.facts.period is not None
    taken = actions(seen, PrunerSettings(take_over=True))
    kinds = [one.body["kind"] for one in taken if isinstance(one, CreateObject)]
    assert kinds.count("ClusterRoleBinding") == 2
    assert "ConfigMap" in kinds, "their schema drops the report"


def test_where_the_status_is_cut_down_it_is_written_once() -> None:
    seen = settled(drops_status=True)
    (written,) = [one for one in actions(seen) if isinstance(one, WritePrunerStatus)]
    assert written.status.next_schedule_time == ""
    kept = {
        "observedGeneration": 1,
        "conditions": msgspec.to_builtins(written.status.conditions),
    }
    assert actions(replace(seen, pruner=pruner(status=kept))) == []
