"""DaemonSets, Jobs, CronJobs, events and bindings: their defaults, and what is refused."""

import pytest

from lading.ports import kube
from tests.conformance.kube.api import DAEMON_SETS, NODES, PODS, Api, Document, resource
from tests.conformance.kube.kinds import EVENTS, RBAC, ROLE_BINDINGS
from tests.conformance.kube.workloads import JOBS, daemon_set, job

CRON_JOBS = resource("cronjobs", "CronJob", group="batch")


def cron_job(**spec: object) -> Document:
    template = {"spec": job()["spec"]}
    return {
        "metadata": {"name": "one"},
        "spec": {"schedule": "0 0 * * *", "jobTemplate": template, **spec},
    }


@pytest.mark.parametrize("schedule", ["1,2,30-40/5 * ? jan MON-FRI", "@daily", "@every 1h30m"])
async def test_a_schedule_that_can_be_kept_is_taken(
    api: Api, namespace: str, schedule: str
) -> None:
    body = cron_job(schedule=schedule, timeZone="Etc/UTC")
    created = await api.client.create(CRON_JOBS, body, namespace=namespace)
    assert created["spec"]["schedule"] == schedule


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"schedule": "* * * *"}, "spec.schedule: Invalid value"),
        ({"schedule": "60 * * * *"}, "spec.schedule: Invalid value"),
        ({"schedule": "TZ=UTC 0 0 * * *"}, "spec.schedule: Invalid value"),
        ({"timeZone": "Mars/Phobos"}, "spec.timeZone: Invalid value"),
        ({"timeZone": "Local"}, "spec.timeZone: Invalid value"),
        ({"startingDeadlineSeconds": -1}, "must be greater than or equal to 0"),
        (
            {"jobTemplate": {"spec": {**job()["spec"], "backoffLimit": -1}}},
            "spec.jobTemplate.spec.backoffLimit: Invalid value: -1",
        ),
        (
            {"jobTemplate": {"spec": {"template": {"spec": {"containers": []}}}}},
            "spec.jobTemplate.spec.template.spec.containers: Required value",
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


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        ({"maxUnavailable": 0, "maxSurge": 0}, "spec.updateStrategy.rollingUpdate"),
        ({"maxUnavailable": 1, "maxSurge": 1}, "spec.updateStrategy.rollingUpdate"),
    ],
)
async def test_a_daemon_set_that_could_not_roll_out_is_refused(
    api: Api, namespace: str, limits: Document, field: str
) -> None:
    body = daemon_set()
    body["spec"]["updateStrategy"] = {"rollingUpdate": limits}
    with pytest.raises(kube.Invalid) as caught:
        await api.client.create(DAEMON_SETS, body, namespace=namespace)
    assert field in caught.value.message


async def test_the_selector_of_a_daemon_set_stays(api: Api, namespace: str) -> None:
    await api.client.create(DAEMON_SETS, daemon_set(), namespace=namespace)
    changed = {"spec": {"selector": {"matchLabels": {"app": "e"}}}}
    with pytest.raises(kube.Invalid, match=r"spec\.selector: .*field is immutable"):
        await api.client.patch(DAEMON_SETS, "one", changed, namespace=namespace)


async def test_the_labels_of_a_template_have_a_syntax(api: Api, namespace: str) -> None:
    body = daemon_set()
    body["spec"]["template"]["metadata"]["labels"]["x y"] = "z"
    with pytest.raises(kube.Invalid, match=r'spec\.template\.labels: Invalid value: "x y"'):
        await api.client.create(DAEMON_SETS, body, namespace=namespace)


@pytest.mark.parametrize(
    ("container", "problem"),
    [
        ({"name": "main"}, "spec.containers[1].name: Duplicate value"),
        ({"name": "Not Good"}, "spec.containers[1].name: Invalid value"),
        (
            {"name": "b", "volumeMounts": [{"name": "v", "mountPath": "/x"}]},
            'spec.containers[1].volumeMounts[0].name: Not found: "v"',
        ),
    ],
)
async def test_a_container_that_could_not_run_is_refused(
    api: Api, namespace: str, container: Document, problem: str
) -> None:
    containers = [{"name": "main", "image": "i"}, {"image": "i", **container}]
    body = {"metadata": {"name": "p"}, "spec": {"containers": containers}}
    with pytest.raises(kube.Invalid) as caught:
        await api.client.create(PODS, body, namespace=namespace)
    assert problem in caught.value.message


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


async def test_the_role_of_a_binding_stays(api: Api, namespace: str) -> None:
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "r"}
    subjects = [{"kind": "ServiceAccount", "name": "s"}]
    body = {"metadata": {"name": "one"}, "roleRef": role, "subjects": subjects}
    await api.client.create(ROLE_BINDINGS, body, namespace=namespace)
    with pytest.raises(kube.Invalid, match="cannot change roleRef"):
        await api.client.patch(
            ROLE_BINDINGS, "one", {"roleRef": {"name": "q"}}, namespace=namespace
        )


def event(namespace: str, **more: object) -> Document:
    return {
        "metadata": {"name": "e"},
        "eventTime": "2026-01-01T00:00:00.000001Z",
        "reportingController": "conformance.lading.example/test",
        "reportingInstance": "one",
        "action": "Testing",
        "reason": "Tested",
        "type": "Normal",
        "regarding": {"kind": "ConfigMap", "name": "one", "namespace": namespace},
        **more,
    }


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"eventTime": None}, "eventTime: Required value"),
        ({"action": ""}, "action: Required value"),
        ({"reason": ""}, "reason: Required value"),
        ({"reportingInstance": ""}, "reportingInstance: Required value"),
        ({"reportingController": ""}, "reportingController: Required value"),
        ({"note": "x" * 1025}, "can have at most 1024 characters"),
        ({"regarding": {"kind": "Node", "name": "n"}}, "does not match event.namespace"),
    ],
)
async def test_an_event_that_says_too_little_or_too_much_is_refused(
    api: Api, namespace: str, change: Document, problem: str
) -> None:
    with pytest.raises(kube.Invalid) as caught:
        await api.client.create(EVENTS, event(namespace, **change), namespace=namespace)
    assert problem in caught.value.message


async def test_an_event_becomes_a_series(api: Api, namespace: str) -> None:
    await api.client.create(EVENTS, event(namespace), namespace=namespace)
    series = {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000001Z"}
    patched = await api.client.patch(EVENTS, "e", {"series": series}, namespace=namespace)
    assert patched["series"] == series


async def test_what_a_node_has_can_be_given_to_pods(api: Api, unique: str) -> None:
    await api.client.create(NODES, {"metadata": {"name": unique}})
    patch = {"status": {"capacity": {"cpu": "4", "ephemeral-storage": "100Gi"}}}
    patched = await api.client.patch(NODES, unique, patch, subresource="status")
    assert patched["status"]["allocatable"] == patch["status"]["capacity"]
    await api.client.delete(NODES, unique)
