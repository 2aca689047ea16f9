"""Daemon sets, deployments, jobs and cron jobs: what is refused, and what they get."""

import pytest

from lading.kernel.objects import Resource
from lading.ports import kube
from tests.conformance.kube.api import DAEMON_SETS, PODS, Api, Document, resource
from tests.conformance.kube.workloads import JOBS, daemon_set, job

DEPLOYMENTS = resource("deployments", "Deployment", group="apps")
CRON_JOBS = resource("cronjobs", "CronJob", group="batch")


def cron_job(**spec: object) -> Document:
    template = {"spec": job()["spec"]}
    return {
        "metadata": {"name": "one"},
        "spec": {"schedule": "0 0 * * *", "jobTemplate": template, **spec},
    }


@pytest.mark.parametrize(
    "schedule",
    [
        "*/5 * * * *",
        "0 0 * * MON-FRI",
        "1,2,30-40/5 * ? jan *",
        "5/10 0 1 12 6",
        "@daily",
        "@every 1h30m",
    ],
)
async def test_a_schedule_that_can_be_kept_is_taken(
    api: Api, namespace: str, schedule: str
) -> None:
    body = cron_job(schedule=schedule, timeZone="Etc/UTC")
    created = await api.client.create(CRON_JOBS, body, namespace=namespace)
    assert created["spec"]["schedule"] == schedule


SCHEDULES = {
    "* * * *": "expected exactly 5 fields, found 4: [* * * *]",
    "60 * * * *": "end of range (60) above maximum (59): 60",
    "0 0 0 * *": "beginning of range (0) below minimum (1): 0",
    "0 0 * * 7": "end of range (7) above maximum (6): 7",
    "5-1 * * * *": "beginning of range (5) beyond end of range (1): 5-1",
    "*/0 * * * *": "step of range should be a positive number: */0",
    "*/-2 * * * *": "negative number (-2) not allowed: -2",
    "1/2/3 * * * *": "too many slashes: 1/2/3",
    "1-2-3 * * * *": "too many hyphens: 1-2-3",
    "0 0 L * *": "failed to parse int from L",
    "@reboot": "unrecognized descriptor: @reboot",
    "@every x": "failed to parse duration @every x",
    "TZ=UTC 0 0 * * *": "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
}


@pytest.mark.parametrize("schedule", SCHEDULES)
async def test_a_schedule_that_means_nothing_is_refused(
    api: Api, namespace: str, schedule: str
) -> None:
    with pytest.raises(kube.Invalid) as caught:
        await api.client.create(CRON_JOBS, cron_job(schedule=schedule), namespace=namespace)
    problem = f'spec.schedule: Invalid value: "{schedule}": {SCHEDULES[schedule]}'
    assert problem in caught.value.message


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"timeZone": "Mars/Phobos"}, "spec.timeZone: Invalid value"),
        ({"timeZone": ""}, "timeZone must be nil or non-empty string"),
        ({"timeZone": "Local"}, "timeZone must be an explicit time zone"),
        ({"startingDeadlineSeconds": -1}, "must be greater than or equal to 0"),
        ({"failedJobsHistoryLimit": -1}, "must be greater than or equal to 0"),
        (
            {"jobTemplate": {"spec": {**job()["spec"], "selector": {"matchLabels": {"a": "b"}}}}},
            "`selector` will be auto-generated",
        ),
        (
            {"jobTemplate": {"spec": {**job()["spec"], "backoffLimit": -1}}},
            "spec.jobTemplate.spec.backoffLimit: Invalid value: -1",
        ),
    ],
)
async def test_a_cron_job_that_could_not_run_is_refused(
    api: Api, namespace: str, spec: Document, problem: str
) -> None:
    with pytest.raises(kube.Invalid) as caught:
        await api.client.create(CRON_JOBS, cron_job(**spec), namespace=namespace)
    assert problem in caught.value.message


async def test_the_name_of_a_cron_job_leaves_room_for_those_of_its_jobs(
    api: Api, namespace: str
) -> None:
    body = {**cron_job(), "metadata": {"name": "a" * 53}}
    with pytest.raises(kube.Invalid, match="must be no more than 52 characters"):
        await api.client.create(CRON_JOBS, body, namespace=namespace)


async def test_a_cron_job_gets_its_defaults(api: Api, namespace: str) -> None:
    spec = (await api.client.create(CRON_JOBS, cron_job(), namespace=namespace))["spec"]
    template = spec.pop("jobTemplate")
    assert spec == {
        "schedule": "0 0 * * *",
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    }
    assert template["spec"].keys() == {"template"}
    assert template["spec"]["template"]["spec"]["dnsPolicy"] == "ClusterFirst"


async def test_a_job_selects_its_pods_itself_or_not_at_all(api: Api, namespace: str) -> None:
    selector = {"matchLabels": {"a": "b"}}
    with pytest.raises(kube.Invalid, match="`selector` not auto-generated"):
        await api.client.create(JOBS, job(selector=selector), namespace=namespace)
    with pytest.raises(kube.Invalid, match=r"spec\.selector: Required value"):
        await api.client.create(JOBS, job(manualSelector=True), namespace=namespace)
    created = await api.client.create(JOBS, job(), namespace=namespace)
    uid = created["metadata"]["uid"]
    chosen = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert created["spec"]["selector"] == chosen


async def test_the_pods_of_a_job_stay_as_they_are(api: Api, namespace: str) -> None:
    await api.client.create(JOBS, job(), namespace=namespace)
    other = {"spec": {"template": {"spec": {"restartPolicy": "OnFailure"}}}}
    with pytest.raises(kube.Invalid, match="field is immutable"):
        await api.client.patch(JOBS, "one", other, namespace=namespace)
    more = {"spec": {"parallelism": 2}}
    patched = await api.client.patch(JOBS, "one", more, namespace=namespace)
    assert patched["spec"]["parallelism"] == 2


PRESENT = {"key": "a", "operator": "Exists"}


def rolling(**limits: object) -> Document:
    return {"updateStrategy": {"rollingUpdate": limits}, "strategy": {"rollingUpdate": limits}}


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"minReadySeconds": -1}, "spec.minReadySeconds: Invalid value: -1"),
        ({"revisionHistoryLimit": -1}, "spec.revisionHistoryLimit: Invalid value: -1"),
        (rolling(maxUnavailable="x%"), "a valid percent string must be a numeric string"),
        (rolling(maxUnavailable="200%"), "must not be greater than 100%"),
        (rolling(maxUnavailable=-1), "must be greater than or equal to 0"),
        (rolling(maxUnavailable=0, maxSurge=0), "0 when"),
        (
            {"selector": {"matchExpressions": [{"key": "app", "operator": "In"}]}},
            "must be specified when `operator` is 'In' or 'NotIn'",
        ),
        (
            {
                "selector": {
                    "matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]
                }
            },
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        ),
        ({"selector": {"matchLabels": {"a b": "c"}}}, "spec.selector.matchLabels: Invalid value"),
    ],
)
@pytest.mark.parametrize("kind", [DAEMON_SETS, DEPLOYMENTS], ids=lambda kind: str(kind.kind))
async def test_a_workload_that_could_not_roll_out_is_refused(
    api: Api, namespace: str, kind: Resource[Document], spec: Document, problem: str
) -> None:
    body = daemon_set()
    unknown = "strategy" if kind is DAEMON_SETS else "updateStrategy"
    body["spec"] |= {key: value for key, value in spec.items() if key != unknown}
    with pytest.raises(kube.Invalid) as caught:
        await api.client.create(kind, body, namespace=namespace)
    assert problem in caught.value.message


async def test_a_daemon_set_goes_before_or_comes_before(api: Api, namespace: str) -> None:
    body = daemon_set()
    body["spec"]["updateStrategy"] = {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 1}}
    with pytest.raises(kube.Invalid, match="may not be set when maxUnavailable is non-zero"):
        await api.client.create(DAEMON_SETS, body, namespace=namespace)


async def test_a_deployment_that_recreates_does_not_roll(api: Api, namespace: str) -> None:
    body = daemon_set()
    body["spec"]["strategy"] = {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}
    with pytest.raises(kube.Invalid, match="may not be specified when strategy `type` is 'Recre"):
        await api.client.create(DEPLOYMENTS, body, namespace=namespace)


async def test_the_labels_of_a_template_have_a_syntax(api: Api, namespace: str) -> None:
    body = daemon_set()
    body["spec"]["template"]["metadata"]["labels"]["x y"] = "z"
    with pytest.raises(kube.Invalid, match=r'spec\.template\.labels: Invalid value: "x y"'):
        await api.client.create(DAEMON_SETS, body, namespace=namespace)


async def test_the_ports_of_a_pod_on_its_host_are_those_of_the_host(
    api: Api, namespace: str
) -> None:
    containers = [{"name": "c", "image": "i", "ports": [{"containerPort": 8080}]}]
    spec = {"hostNetwork": True, "containers": containers}
    body = {"metadata": {"name": "p"}, "spec": spec}
    created = await api.client.create(PODS, body, namespace=namespace)
    (port,) = created["spec"]["containers"][0]["ports"]
    assert port == {"containerPort": 8080, "hostPort": 8080, "protocol": "TCP"}


async def test_an_item_without_its_key_does_not_stop_a_write(api: Api, namespace: str) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}], "imagePullSecrets": [{}]}
    body = {"metadata": {"name": "p"}, "spec": spec}
    created = await api.client.create(PODS, body, namespace=namespace)
    assert created["spec"]["imagePullSecrets"] == [{}]
