"""The spec in one form: defaults, the shipped forms, and what is refused by name."""

from typing import Any

import pytest

from lading.api.imageregistry import NAME
from lading.pruning.operator.effective import DEFAULT_RESOURCES, InvalidSpec, effective
from tests.conformance.kube.rule_cases import PRUNERS, Case


def test_the_defaults_are_those_of_the_design() -> None:
    found = effective({})
    assert found.schedule == "0 0 * * *"
    assert found.suspend is False
    assert found.keep_tag_revisions == 3
    assert found.keep_younger_than == "60m"
    assert found.starting_deadline_seconds == 3600
    assert (found.successful_jobs_history_limit, found.failed_jobs_history_limit) == (3, 3)
    assert found.resources == DEFAULT_RESOURCES
    assert found.disagreements == ()


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"keepYoungerThan": "90m"}, "90m"),
        ({"keepYoungerThan": 10_000_000_000}, "10s"),
        ({"keepYoungerThan": 1}, "0.000001s"),
        ({"keepYoungerThanDuration": "1h"}, "1h"),
        ({"keepYoungerThan": 3_600_000_000_000, "keepYoungerThanDuration": "60m"}, "1h"),
        ({"keepYoungerThan": "0s"}, "0s"),
    ],
)
def test_ages_in_each_form(spec: dict[str, Any], expected: str) -> None:
    found = effective(spec)
    assert found.keep_younger_than == expected
    assert found.disagreements == ()


def test_of_two_that_disagree_the_one_that_keeps_more_wins() -> None:
    found = effective(
        {
            "keepYoungerThan": "10m",
            "keepYoungerThanDuration": "2h",
            "history": {"successfulJobsHistoryLimit": 5, "failedJobsHistoryLimit": 2},
            "successfulJobsHistoryLimit": 4,
            "failedJobsHistoryLimit": 2,
        }
    )
    assert found.keep_younger_than == "2h"
    assert found.successful_jobs_history_limit == 5
    assert found.failed_jobs_history_limit == 2
    assert len(found.disagreements) == 2
    assert "2h keeps more" in found.disagreements[0]
    assert "5 keeps more" in found.disagreements[1]


def test_which_form_keeps_more_does_not_depend_on_its_name() -> None:
    found = effective(
        {
            "keepYoungerThan": 7_200_000_000_000,
            "keepYoungerThanDuration": "10m",
            "history": {"successfulJobsHistoryLimit": 4, "failedJobsHistoryLimit": 1},
            "successfulJobsHistoryLimit": 5,
            "failedJobsHistoryLimit": 6,
        }
    )
    assert found.keep_younger_than == "2h"
    assert found.successful_jobs_history_limit == 5
    assert found.failed_jobs_history_limit == 6
    assert len(found.disagreements) == 3


SWEPT = {"name": "a", "url": "a", "sweep": {}}
S3 = {"url": "s3://bucket"}


def registry(**fields: Any) -> dict[str, Any]:
    return {"registries": [{"name": "a", "url": "registry.example.com:5000", **fields}]}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"schedule": "61 * * * *"}, "spec.schedule"),
        ({"schedule": "5-1 * * * *"}, "spec.schedule"),
        ({"keepYoungerThan": "-1h"}, "spec.keepYoungerThan"),
        ({"keepYoungerThan": -1}, "spec.keepYoungerThan"),
        ({"keepYoungerThan": 2**63 - 1}, "spec.keepYoungerThan"),
        ({"keepYoungerThanDuration": "soon"}, "spec.keepYoungerThanDuration"),
        ({"keepTagRevisions": -1}, "spec.keepTagRevisions"),
        ({"keepTagRevisions": "three"}, "spec.keepTagRevisions"),
        ({"startingDeadlineSeconds": 5}, "spec.startingDeadlineSeconds"),
        ({"schedule": "@every 24h"}, "spec.startingDeadlineSeconds: 3600"),
        (
            {"schedule": "@every 1m", "startingDeadlineSeconds": 60},
            "spec.startingDeadlineSeconds: 60",
        ),
        ({"history": {"failedJobsHistoryLimit": 0}}, "spec.history.failedJobsHistoryLimit"),
        ({"history": {"successfulJobsHistoryLimit": 0}}, "spec.history.successfulJobsHistoryLimit"),
        ({"successfulJobsHistoryLimit": 0}, "spec.successfulJobsHistoryLimit"),
        ({"failedJobsHistoryLimit": 0}, "spec.failedJobsHistoryLimit"),
        ({"tolerations": {}}, "spec.tolerations"),
        ({"logLevel": "Loud"}, "spec.logLevel"),
        ({"logLevel": ["Debug"]}, "spec.logLevel"),
        ({"suspend": "yes"}, "spec.suspend"),
        ({"registries": [{"name": "a"}]}, "spec.registries"),
        ({"registries": [{"name": "a", "url": "a"}] * 2}, "spec.registries"),
        (
            {"registries": [{"name": f"r{number}", "url": "a"} for number in range(9)]},
            "spec.registries: at most 8",
        ),
        ({"registries": [SWEPT]}, "spec.registries: a: sweep requires storage"),
        (
            {"registries": [{**SWEPT, "storage": {"url": "gs://b"}, "sweep": {"grace": "-1h"}}]},
            "spec.registries: a: sweep.grace",
        ),
        (registry(name="imagestreams"), "spec.registries: imagestreams: the name is reserved"),
        (registry(name="A b"), "spec.registries: A b: 'A b' must be lower-case"),
        (registry(name="a" * 41), f"spec.registries: {'a' * 41}: the name is longer than 40"),
        (registry(url="ftp://example.com/a"), "spec.registries: a: url: 'ftp"),
        (registry(url=""), "spec.registries: a: url: '' must be host"),
        (registry(storage={"url": "nfs://x"}), "spec.registries: a: storage.url: 'nfs"),
        (registry(storage={**S3, "claimName": "c"}), "spec.registries: a: storage.claimName"),
        (registry(trash={"period": "soon"}), "spec.registries: a: trash.period"),
        (
            registry(storage=S3, sweep={"replicas": ["a b"]}),
            "spec.registries: a: sweep.replicas: 'a b",
        ),
    ],
)
def test_what_cannot_be_carried_out_names_its_field(spec: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidSpec, match=rf"^{field}\b"):
        effective(spec)


REFUSED_AT_ADMISSION = [one for one in PRUNERS if one.breaks and one.name == NAME]


@pytest.mark.parametrize("case", REFUSED_AT_ADMISSION, ids=lambda case: case.sentence)
def test_what_our_schema_refuses_is_refused_under_the_schema_of_another_owner(case: Case) -> None:
    with pytest.raises(InvalidSpec, match=r"^spec\."):
        effective(case.spec or {})


def test_a_whole_registry_is_taken() -> None:
    spec = registry(
        name="a" * 40,
        storage={"url": "file:///data", "claimName": "claim", "secretName": ""},
        sweep={"replicas": ["http://[::1]:5000/", "10.0.0.1:5000"], "grace": "0s"},
        trash={"period": "1h"},
    )
    assert len(effective(spec).registries) == 1


def test_a_period_that_is_shorter_than_the_deadline_is_taken() -> None:
    assert effective({"schedule": "@every 59m59s"}).schedule == "@every 59m59s"
    spec = {"schedule": "@every 24h", "startingDeadlineSeconds": 2**62}
    assert effective(spec).schedule == "@every 24h"


def test_every_problem_is_named() -> None:
    with pytest.raises(InvalidSpec) as caught:
        effective({"schedule": "never", "keepTagRevisions": -1})
    assert "spec.schedule" in str(caught.value)
    assert "spec.keepTagRevisions" in str(caught.value)


def test_null_is_as_if_it_were_not_there() -> None:
    spec = {"keepTagRevisions": None, "tolerations": None, "logLevel": None}
    assert effective(spec) == effective({})
