"""Whether the first ImagePruner is created, and whether suspended."""

from datetime import timedelta
from typing import Any

import pytest

from lading.pruning.operator.decision import DECISION_ANNOTATION, decide
from lading.pruning.operator.types import (
    ClusterHistory,
    CreateImagePruner,
    DecisionReason,
    RecordDecision,
)
from tests.pruning.operator.pruner_worlds import NOW, SETTINGS, observed, pruner

DAY = timedelta(days=1)


def decided(**more: Any) -> list[Any]:
    return list(decide(observed(decision=None, **more), SETTINGS, NOW))


def test_a_new_cluster_is_pruned_daily() -> None:
    history = ClusterHistory(
        first_start=NOW - timedelta(minutes=5), other_kinds_since=NOW, pruner_kind_since=NOW
    )
    create, record = decided(pruner=None, history=history)
    assert isinstance(create, CreateImagePruner)
    assert not create.suspend
    assert record.decision is DecisionReason.NEW_CLUSTER
    assert create.lane == record.lane, "the record comes after the object"


@pytest.mark.parametrize(
    "history",
    [
        ClusterHistory(first_start=NOW - DAY),
        ClusterHistory(other_kinds_since=NOW - DAY, pruner_kind_since=NOW),
        ClusterHistory(openshift_versions=2),
    ],
)
def test_a_cluster_that_is_older_than_its_pruner_gets_a_suspended_one(
    history: ClusterHistory,
) -> None:
    create, record = decided(pruner=None, history=history)
    assert create.suspend
    assert record.decision is DecisionReason.UPGRADED


def test_one_version_of_openshift_is_a_new_cluster() -> None:
    create, _ = decided(pruner=None, history=ClusterHistory(openshift_versions=1))
    assert not create.suspend


def test_an_existing_one_is_respected() -> None:
    (record,) = decided()
    assert isinstance(record, RecordDecision)
    assert record.decision is DecisionReason.EXISTING


def test_cut_off_after_the_create_the_decision_is_not_lost() -> None:
    ours = pruner(
        labels={"app.kubernetes.io/managed-by": "lading"},
        annotations={DECISION_ANNOTATION: "UpgradedCluster"},
    )
    (record,) = decided(pruner=ours)
    assert record.decision is DecisionReason.UPGRADED


def test_the_annotation_of_another_writer_is_no_decision() -> None:
    theirs = pruner(annotations={DECISION_ANNOTATION: "UpgradedCluster"})
    (record,) = decided(pruner=theirs)
    assert record.decision is DecisionReason.EXISTING


def test_a_deleted_one_stays_deleted() -> None:
    assert list(decide(observed(pruner=None), SETTINGS, NOW)) == []
