"""The CronJob: golden files, and what each field of the spec becomes."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from lading.pruning.operator import effective, objects
from tests.pruning.operator.pruner_worlds import IMAGE, NAMESPACE, arguments, pruner

GOLDEN = Path(__file__).parents[2] / "golden" / "pruning"
EVERYTHING = {
    "schedule": "*/5 * * * *",
    "suspend": True,
    "keepTagRevisions": 0,
    "keepYoungerThan": "0s",
    "resources": {"limits": {"memory": "1Gi"}},
    "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
    "nodeSelector": {"disk": "large"},
    "tolerations": [{"key": "team", "operator": "Exists"}],
    "startingDeadlineSeconds": 60,
    "history": {"successfulJobsHistoryLimit": 1, "failedJobsHistoryLimit": 2},
    "logLevel": "Trace",
    "registries": [
        {
            "name": "main",
            "url": "https://registry.example.com",
            "registryNames": ["mirror.example.com"],
            "policyConfigMapName": "policy",
            "credentialsSecretName": "login",
            "certificateAuthorityConfigMapName": "authority",
            "storage": {
                "url": "file:///var/lib/registry",
                "claimName": "registry",
                "secretName": "bucket",
            },
            "sweep": {"grace": "12h", "replicas": ["http://10.0.0.1:5000"]},
            "trash": {"repository": "trash", "period": "24h"},
            "kubeconfigSecretNames": ["east", "west"],
        },
        {"name": "other", "url": "other.example.com", "trash": {"disabled": True}},
    ],
}


def built(spec: Any = None, **more: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {"prune_registry": True, "reports_to_map": False, **more}
    return objects.cron_job(
        pruner(spec), effective.effective(spec or {}), namespace=NAMESPACE, image=IMAGE, **usual
    )


@pytest.mark.parametrize(("name", "spec"), [("defaults", {}), ("every-field", EVERYTHING)])
def test_the_cron_job_is_the_golden_one(name: str, spec: dict[str, Any]) -> None:
    """`UPDATE_GOLDEN=1 pytest ...` writes it again."""
    plain = json.loads(json.dumps(built(spec)))  # so that YAML needs no anchors
    found = yaml.safe_dump(plain, sort_keys=False)
    file = GOLDEN / f"{name}.yaml"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(found, encoding="utf-8")
    assert found == file.read_text(encoding="utf-8")


def test_what_cannot_be_configured() -> None:
    spec = built(EVERYTHING)["spec"]
    assert spec["concurrencyPolicy"] == "Forbid"
    assert spec["timeZone"] == "Etc/UTC"
    for container in range(3):
        found = arguments(built(EVERYTHING), container)
        assert {"--confirm=true", "--all=true"} <= set(found)
        assert not any(one.startswith("--prune-over-size-limit") for one in found)


def test_a_guard_is_not_tried_again_and_an_eviction_is() -> None:
    first, second = built()["spec"]["jobTemplate"]["spec"]["podFailurePolicy"]["rules"]
    assert first["action"] == "FailJob"
    assert 3 in first["onExitCodes"]["values"]
    assert second["action"] == "Ignore"
    assert second["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]


def test_each_object_goes_with_the_image_pruner() -> None:
    made = (
        objects.account(pruner(), NAMESPACE),
        *objects.bindings(pruner(), NAMESPACE, is_openshift=False),
        *objects.bindings(pruner(), NAMESPACE, is_openshift=True),
        objects.report_map(pruner(), NAMESPACE),
        built(),
    )
    for one in made:
        (owner,) = one["metadata"]["ownerReferences"]
        assert owner["uid"] == "uid-of-pruner"
        assert "blockOwnerDeletion" not in owner, "a right that the controller need not have"
        assert "finalizers" not in one["metadata"]


def test_on_openshift_its_role_and_a_small_one_are_bound() -> None:
    made = objects.bindings(pruner(), NAMESPACE, is_openshift=True)
    roles = [one["roleRef"]["name"] for one in made]
    assert roles == ["system:image-pruner", "lading-image-pruner-openshift"]
    assert len({one["metadata"]["name"] for one in made}) == 2


def test_the_report_goes_where_it_is_not_dropped() -> None:
    assert "--report-to=imagepruner" in arguments(built())
    assert "--report-to=configmap" in arguments(built(reports_to_map=True))
