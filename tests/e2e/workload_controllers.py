"""What the controllers of DaemonSets, Jobs and CronJobs do, ours and those of a real cluster.

There is no kubelet: the scenarios write the status of pods themselves, so that they see every step.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from lading.kernel.objects import Resource
from lading.ports import kube
from lading.ports.kube import Kube, PatchType, Selection
from tests.conformance.kube.api import DAEMON_SETS, NODES, PODS, Document, resource
from tests.e2e import waiting, workload_objects

JOBS = resource("jobs", "Job", group="batch")
CRON_JOBS = resource("cronjobs", "CronJob", group="batch")
NODE_NAMES = ("fake-1", "fake-2", "fake-3")
TAINTED = "fake-3"
NOW = "2026-01-01T00:00:00Z"
IN_DEFAULT = Selection(namespace="default")


@dataclass(frozen=True, slots=True)
class WorkloadsUnderTest:
    kube: Kube

    async def register_nodes(self) -> None:
        capacity = {"cpu": "4", "memory": "4Gi", "pods": "110"}
        for name in NODE_NAMES:
            labels = {"kubernetes.io/hostname": name}
            await self.kube.create(NODES, {"metadata": {"name": name, "labels": labels}})
            taints = [{"key": "example.com/tainted", "effect": "NoSchedule"}]
            only = taints if name == TAINTED else None
            await self.kube.patch(NODES, name, {"spec": {"taints": only}})
            ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
            times = {"lastHeartbeatTime": NOW, "lastTransitionTime": NOW}
            status = {"capacity": capacity, "conditions": [{**ready, **times}]}
            await self.kube.patch(NODES, name, {"status": status}, subresource="status")

    async def page(self, kind: Resource[Document]) -> tuple[Document, ...]:
        return (await self.kube.page(kind, IN_DEFAULT)).items

    async def get(self, kind: Resource[Document], name: str) -> Document:
        return await self.kube.get(kind, name, namespace="default")

    async def create(self, kind: Resource[Document], body: Document) -> None:
        await self.kube.create(kind, body, namespace="default")

    async def pods(self) -> list[Document]:
        """Those that are not being deleted, by node and age."""
        found = [one for one in await self.page(PODS) if "deletionTimestamp" not in one["metadata"]]
        return sorted(found, key=lambda one: one["metadata"]["name"])

    async def ungate(self, pod: Document) -> None:
        patch = [{"op": "remove", "path": "/spec/schedulingGates"}]
        await self.kube.patch(
            PODS,
            pod["metadata"]["name"],
            patch,
            namespace="default",
            patch_type=PatchType.JSON,
        )

    async def report(self, pod: Document, phase: str, *, ready: bool, exit_code: int = 0) -> None:
        """The status of the pod's only container, as a kubelet writes it."""
        (container,) = pod["spec"]["containers"]
        times = {"startedAt": NOW, "finishedAt": NOW}
        running = {"running": {"startedAt": NOW}}
        ended = {"terminated": {"exitCode": exit_code, "reason": "Ended", **times}}
        is_over = phase in ("Succeeded", "Failed")
        status = {
            "name": container["name"],
            "image": container["image"],
            "imageID": "",
            "restartCount": 0,
            "ready": ready,
            "state": ended if is_over else running,
        }
        truth = "True" if ready else "False"
        condition = {"type": "Ready", "status": truth, "lastTransitionTime": NOW}
        body = {"phase": phase, "containerStatuses": [status], "conditions": [condition]}
        await self.kube.patch(
            PODS,
            pod["metadata"]["name"],
            {"status": body},
            namespace="default",
            patch_type=PatchType.STRATEGIC,
            subresource="status",
        )

    async def until(self, is_so: Callable[[], Awaitable[bool]], what: str) -> None:
        async def state() -> str:
            found = [await self.page(kind) for kind in (DAEMON_SETS, JOBS, CRON_JOBS, PODS)]
            return "\n".join(str(one) for every in found for one in every)

        await waiting.until(is_so, what, why_not=state)

    async def until_count(self, count: int) -> list[Document]:
        async def is_so() -> bool:
            return len(await self.pods()) == count

        await self.until(is_so, f"there were {count} pods")
        return await self.pods()

    async def until_bound(self, count: int) -> list[Document]:
        async def is_so() -> bool:
            bound = [one for one in await self.pods() if one["spec"].get("nodeName")]
            return len(bound) == count

        await self.until(is_so, f"{count} pods had a node")
        return [one for one in await self.pods() if one["spec"].get("nodeName")]

    async def until_status(self, kind: Resource[Document], name: str, **wanted: Any) -> None:
        async def is_so() -> bool:
            status = (await self.get(kind, name)).get("status") or {}
            return {key: status.get(key) for key in wanted} == wanted

        await self.until(is_so, f"{kind.kind} {name} had the status {wanted}")

    async def until_condition(self, name: str, type_: str) -> Document:
        """The Job when it has the condition."""

        async def is_so() -> bool:
            status = (await self.get(JOBS, name)).get("status") or {}
            return any(one["type"] == type_ for one in status.get("conditions") or ())

        await self.until(is_so, f"Job {name} had the condition {type_}")
        return await self.get(JOBS, name)

    async def clear(self) -> None:
        for kind in (DAEMON_SETS, CRON_JOBS, JOBS):
            for one in await self.page(kind):
                with suppress(kube.NotFound):
                    await self.kube.delete(kind, one["metadata"]["name"], namespace="default")
        await self.until_count(0)


def daemon_set(image: str, **spec: Any) -> Document:
    """Its pods leave at once, since no kubelet is there to end them."""
    template = {
        "metadata": {"labels": workload_objects.HOLDER_LABELS},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "held", "image": image}],
            **spec,
        },
    }
    return workload_objects.daemon_set(template, name="d")


def job(**spec: Any) -> Document:
    body = workload_objects.job("example.com/lading:1", "anything", name="j", **spec)
    body["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 0
    return body


def outcome(job: Document) -> Document:
    """The counts and conditions of a Job, without times."""
    counted = ("active", "ready", "succeeded", "failed", "conditions")
    status = {key: value for key, value in job["status"].items() if key in counted}
    conditions = [
        (one["type"], one["status"], one["reason"], one["message"])
        for one in status.pop("conditions")
    ]
    return {**status, "conditions": conditions}


@pytest.mark.asyncio(loop_scope="session")
class WorkloadControllerScenarios:
    async def test_each_node_that_tolerates_it_gets_one_pod(
        self, workloads: WorkloadsUnderTest
    ) -> None:
        await workloads.create(DAEMON_SETS, daemon_set("i:1"))
        pods = await workloads.until_bound(2)
        assert {one["spec"]["nodeName"] for one in pods} == {"fake-1", "fake-2"}
        first = pods[0]
        labels = first["metadata"]["labels"]
        assert {"controller-revision-hash", *workload_objects.HOLDER_LABELS} <= {*labels}
        (owner,) = first["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("DaemonSet", "d", True)
        fields = {"key": "metadata.name", "operator": "In", "values": [first["spec"]["nodeName"]]}
        affinity = first["spec"]["affinity"]["nodeAffinity"]
        required = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
        assert required == {"nodeSelectorTerms": [{"matchFields": [fields]}]}
        tolerated = {
            (one["key"].rpartition("/")[2], one["effect"]) for one in first["spec"]["tolerations"]
        }
        assert tolerated == {
            ("not-ready", "NoExecute"),
            ("unreachable", "NoExecute"),
            ("disk-pressure", "NoSchedule"),
            ("memory-pressure", "NoSchedule"),
            ("pid-pressure", "NoSchedule"),
            ("unschedulable", "NoSchedule"),
        }
        for pod in pods:
            await workloads.report(pod, "Running", ready=True)
        await workloads.until_status(
            DAEMON_SETS,
            "d",
            observedGeneration=1,
            desiredNumberScheduled=2,
            currentNumberScheduled=2,
            updatedNumberScheduled=2,
            numberReady=2,
            numberAvailable=2,
            numberUnavailable=None,
            numberMisscheduled=0,
        )

    async def test_a_gate_holds_a_pod_of_a_daemon_set(self, workloads: WorkloadsUnderTest) -> None:
        gates = [{"name": workload_objects.GATE}]
        await workloads.create(DAEMON_SETS, daemon_set("i:1", schedulingGates=gates))
        first, second = await workloads.until_count(2)
        await workloads.ungate(first)
        (bound,) = await workloads.until_bound(1)
        assert bound["metadata"]["name"] == first["metadata"]["name"]
        assert "nodeName" not in second["spec"]
        await workloads.until_status(
            DAEMON_SETS, "d", desiredNumberScheduled=2, currentNumberScheduled=2, numberReady=0
        )

    async def test_an_update_surges_and_an_old_pod_stays_until_the_new_one_is_ready(
        self, workloads: WorkloadsUnderTest
    ) -> None:
        await workloads.create(DAEMON_SETS, daemon_set("i:1"))
        old = await workloads.until_bound(2)
        for pod in old:
            await workloads.report(pod, "Running", ready=True)
        await workloads.until_status(DAEMON_SETS, "d", numberAvailable=2)
        template = daemon_set("i:2")["spec"]["template"]
        await workloads.kube.patch(
            DAEMON_SETS, "d", {"spec": {"template": template}}, namespace="default"
        )
        both = await workloads.until_bound(4)
        await workloads.until_status(
            DAEMON_SETS, "d", observedGeneration=2, currentNumberScheduled=2
        )
        known = {one["metadata"]["name"] for one in old}
        first, second = (one for one in both if one["metadata"]["name"] not in known)
        await workloads.report(first, "Running", ready=True)
        left = await workloads.until_count(3)
        gone = known - {one["metadata"]["name"] for one in left}
        (replaced,) = (one for one in old if one["metadata"]["name"] in gone)
        assert replaced["spec"]["nodeName"] == first["spec"]["nodeName"]
        await workloads.report(second, "Running", ready=True)
        await workloads.until_count(2)
        await workloads.until_status(
            DAEMON_SETS, "d", updatedNumberScheduled=2, numberAvailable=2, numberReady=2
        )

    async def test_an_old_pod_that_is_not_ready_goes_before_its_successor_runs(
        self, workloads: WorkloadsUnderTest
    ) -> None:
        await workloads.create(DAEMON_SETS, daemon_set("i:1"))
        old = await workloads.until_bound(2)
        await workloads.report(old[0], "Running", ready=True)
        await workloads.until_status(DAEMON_SETS, "d", numberAvailable=1)
        template = daemon_set("i:2")["spec"]["template"]
        await workloads.kube.patch(
            DAEMON_SETS, "d", {"spec": {"template": template}}, namespace="default"
        )

        async def is_replaced() -> bool:
            names = [one["metadata"]["name"] for one in await workloads.pods()]
            return len(names) == 3 and old[1]["metadata"]["name"] not in names

        await workloads.until(is_replaced, "the pod that was not ready was replaced")
        names = [one["metadata"]["name"] for one in await workloads.pods()]
        assert old[0]["metadata"]["name"] in names

    async def test_a_pod_that_failed_is_made_again(self, workloads: WorkloadsUnderTest) -> None:
        await workloads.create(DAEMON_SETS, daemon_set("i:1"))
        failed, _ = await workloads.until_bound(2)
        await workloads.report(failed, "Failed", ready=False, exit_code=1)

        async def is_made_again() -> bool:
            uids = {one["metadata"]["uid"] for one in await workloads.pods()}
            return len(uids) == 2 and failed["metadata"]["uid"] not in uids

        await workloads.until(is_made_again, "the failed pod was replaced")

    async def test_a_job_with_a_pod_that_succeeds_is_complete(
        self, workloads: WorkloadsUnderTest
    ) -> None:
        await workloads.create(JOBS, job())
        (pod,) = await workloads.until_bound(1)
        assert pod["spec"]["nodeName"] != TAINTED
        await workloads.until_status(JOBS, "j", active=1, ready=0)
        await workloads.report(pod, "Running", ready=True)
        await workloads.until_status(JOBS, "j", active=1, ready=1)
        await workloads.report(pod, "Succeeded", ready=False)
        done = await workloads.until_condition("j", "Complete")
        reached = ("True", "CompletionsReached", "Reached expected number of succeeded pods")
        assert outcome(done) == {
            "succeeded": 1,
            "ready": 0,
            "conditions": [("SuccessCriteriaMet", *reached), ("Complete", *reached)],
        }
        assert {"startTime", "completionTime"} <= {*done["status"]}

    async def test_a_job_without_retries_fails_with_its_pod(
        self, workloads: WorkloadsUnderTest
    ) -> None:
        await workloads.create(JOBS, job(backoffLimit=0))
        (pod,) = await workloads.until_bound(1)
        await workloads.report(pod, "Failed", ready=False, exit_code=1)
        failed = await workloads.until_condition("j", "Failed")
        why = ("True", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
        assert outcome(failed) == {
            "failed": 1,
            "ready": 0,
            "conditions": [("FailureTarget", *why), ("Failed", *why)],
        }

    async def test_a_failed_pod_is_followed_by_another(self, workloads: WorkloadsUnderTest) -> None:
        await workloads.create(JOBS, job())
        (first,) = await workloads.until_bound(1)
        await workloads.report(first, "Failed", ready=False, exit_code=1)
        await workloads.until_status(JOBS, "j", failed=1)
        await workloads.until_count(2)
        await workloads.until_status(JOBS, "j", active=1, failed=1)

    async def test_a_rule_for_an_exit_code_ends_the_job_at_once(
        self, workloads: WorkloadsUnderTest
    ) -> None:
        rules = [{"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [1]}}]
        await workloads.create(JOBS, job(podFailurePolicy={"rules": rules}))
        (pod,) = await workloads.until_bound(1)
        await workloads.report(pod, "Failed", ready=False, exit_code=3)
        failed = await workloads.until_condition("j", "Failed")
        message = (
            f"Container lading for pod default/{pod['metadata']['name']} failed with exit code 3"
            " matching FailJob rule at index 0"
        )
        why = ("True", "PodFailurePolicy", message)
        assert outcome(failed)["conditions"] == [("FailureTarget", *why), ("Failed", *why)]
        assert failed["status"]["failed"] == 1

    async def test_a_cron_job_makes_one_job_at_a_time_and_notes_its_success(
        self, workloads: WorkloadsUnderTest
    ) -> None:
        template = {"metadata": {"labels": {"a": "b"}}, "spec": job()["spec"]}
        body = workload_objects.cron_job("unused", name="c", jobTemplate=template)
        await workloads.create(CRON_JOBS, body)
        (pod,) = await workloads.until_bound(1)
        (made,) = await workloads.page(JOBS)
        minutes = made["metadata"]["name"].removeprefix("c-")
        assert minutes.isdecimal()
        assert made["metadata"]["labels"]["a"] == "b"
        (owner,) = made["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["controller"]) == ("CronJob", True)
        scheduled = made["metadata"]["annotations"][
            "batch.kubernetes.io/cronjob-scheduled-timestamp"
        ]
        assert scheduled.endswith("Z")

        async def is_active() -> bool:
            status = (await workloads.get(CRON_JOBS, "c")).get("status") or {}
            return [one["uid"] for one in status.get("active", ())] == [made["metadata"]["uid"]]

        await workloads.until(is_active, "the CronJob listed the Job as active")
        await workloads.kube.patch(CRON_JOBS, "c", {"spec": {"suspend": True}}, namespace="default")
        await workloads.report(pod, "Succeeded", ready=False)
        done = await workloads.until_condition(made["metadata"]["name"], "Complete")
        await workloads.until_status(
            CRON_JOBS, "c", active=None, lastSuccessfulTime=done["status"]["completionTime"]
        )
        assert (await workloads.get(CRON_JOBS, "c"))["status"]["lastScheduleTime"]
