"""The controller on an API server in memory: what machine sets, Secrets and statuses become."""

import asyncio
import base64
import io
import json
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import NoReturn

import prometheus_client
import pytest
from prometheus_client import CollectorRegistry

from lading.api.cluster_api import CLUSTER_MACHINE_SETS, machine_templates
from lading.api.core import CONFIG_MAPS, EVENTS, SECRETS
from lading.api.machine import MACHINE_SETS
from lading.api.machineconfiguration.boot_image_history import (
    MACHINE_SET_BOOT_IMAGE_HISTORIES,
    SetBy,
)
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.operator import MACHINE_CONFIGURATIONS
from lading.boot_images.controller import KEY
from lading.boot_images.ignition import translate as stub_translation
from lading.boot_images.metrics import BootImageMetrics
from lading.boot_images.status import DEGRADED, PROGRESSING
from lading.boot_images.types import PAUSE_ANNOTATION, BootImageSettings, SaveHistory
from lading.kernel import conditions
from lading.kernel.conditions import Truth
from lading.kernel.values import replace
from lading.loop.pipeline import PreconditionFailed
from lading.observability import logs
from lading.observability.logs import LogFormat
from lading.ports.kube import Selection
from tests.boot_images import streams
from tests.boot_images.clusters import (
    CLOCK,
    GOLDEN_NAMESPACE,
    BootCluster,
    install_kinds,
    opened,
    reconciler_with_caches_of_now,
    running,
)
from tests.boot_images.histories import history
from tests.boot_images.ignition.stubs import MARKER, spec_2
from tests.boot_images.streams import GCP_IMAGE, GCP_IMAGE_OLD
from tests.boot_images.worlds import (
    CLUSTER_NAMESPACE,
    INFRA,
    MACHINE_NAMESPACE,
    NAMESPACE,
    gcp_spec,
    secret,
)

COPY = "worker-user-data-spec-3-managed"
ENCODED_MARKER = base64.b64encode(MARKER.encode()).decode()[:-4]
SHORT = timedelta(seconds=1)


@pytest.fixture
async def cluster() -> AsyncIterator[BootCluster]:
    async with opened() as one:
        yield one


async def test_a_machine_set_gets_the_image_of_the_release(cluster: BootCluster) -> None:
    await cluster.usual()
    async with running(cluster):
        await cluster.until_state("Current")
    assert await cluster.machine() == gcp_spec(GCP_IMAGE)
    found = await cluster.history()
    assert found is not None
    assert [(one.boot_image_ref, one.set_by) for one in found.spec.details] == [
        (GCP_IMAGE_OLD, SetBy.OTHER),
        (GCP_IMAGE, SetBy.LADING),
    ]
    managers = {one.manager for one in (await cluster.get_set()).metadata.managed_fields}
    assert "lading-boot-images" in managers


async def test_an_update_and_a_failure_are_events_of_the_machine_set(cluster: BootCluster) -> None:
    await cluster.usual()
    await cluster.make_set("gone", gcp_spec(userDataSecret={"name": "gone"}))

    async def are_written() -> bool:
        page = await cluster.kube.page(EVENTS, Selection(namespace=MACHINE_NAMESPACE))
        found = {(one.regarding.name, one.reason) for one in page.items}
        return found == {("worker-a", "BootImageUpdated"), ("gone", "StubMissing")}

    async with running(cluster):
        await cluster.until(are_written, "both events are there")


async def test_a_stub_of_specification_2_is_copied_and_named(cluster: BootCluster) -> None:
    await cluster.usual(stub=spec_2())
    before = await cluster.secret("worker-user-data")
    async with running(cluster):
        await cluster.until_state("Current")
    assert await cluster.machine() == gcp_spec(GCP_IMAGE, userDataSecret={"name": COPY})
    assert await cluster.secret("worker-user-data") == before
    copied = await cluster.secret(COPY)
    assert copied is not None
    assert copied.type == "Opaque"
    assert copied.data["disableTemplating"] == "dHJ1ZQo="
    config = json.loads(base64.b64decode(copied.data["userData"]))
    assert config["ignition"]["version"] == "3.0.0"


async def test_a_steady_cluster_costs_no_writes(cluster: BootCluster) -> None:
    await cluster.usual(stub=spec_2())
    async with running(cluster):
        await cluster.until_state("Current")
        await CLOCK.sleep(1)
        cluster.line.requests.clear()
        await CLOCK.sleep(1)
    assert cluster.line.writes() == []


@pytest.mark.parametrize("proof", ["a ClusterVersion", "a node"])
async def test_what_was_written_is_known_before_the_caches_show_it(
    cluster: BootCluster, proof: str
) -> None:
    if proof == "a node":
        await cluster.make_node("node-b", **{"lading.dev/os-release": "4.21.3"})
        await cluster.make_golden()
        await cluster.make_stub()
        await cluster.make_set()
        await cluster.enrol()
    else:
        await cluster.usual()
    reconciler = await reconciler_with_caches_of_now(cluster)
    for _ in range(2):  # the image is patched first; then it is seen to be the wanted one
        await reconciler.reconcile(KEY)
    cluster.line.requests.clear()
    await reconciler.reconcile(KEY)
    assert cluster.line.writes() == []
    lists = [path for _, path in cluster.line.requests if path.endswith("/machines")]
    assert lists == [], "a proven release needs no machine"
    found = await cluster.history()
    assert found is not None
    assert found.status.state == "Current"


async def test_a_history_that_was_written_since_is_not_overwritten(cluster: BootCluster) -> None:
    await cluster.usual()
    reconciler = await reconciler_with_caches_of_now(cluster)
    await reconciler.reconcile(KEY)
    found = await cluster.history()
    assert found is not None
    resumed = {"spec": {"resumedTime": "now"}}
    await cluster.kube.patch(
        MACHINE_SET_BOOT_IMAGE_HISTORIES, found.metadata.name, resumed, namespace=NAMESPACE
    )
    before = await cluster.history()
    spec = replace(found.spec, details=found.spec.details[:1])
    with pytest.raises(PreconditionFailed):
        await reconciler.apply(SaveHistory(key=found.key, spec=spec, lane="x", because="test"))
    assert await cluster.history() == before


async def test_the_configuration_shows_progress_and_what_is_in_force(cluster: BootCluster) -> None:
    await cluster.usual("worker-a", "worker-b")
    await cluster.make_set("custom", gcp_spec("projects/mine/global/images/x"))
    async with running(cluster):
        await cluster.until(lambda: says(cluster, "2 of 3 machine sets updated, 1 skipped"), "done")
        status = (await cluster.configuration()).status
        assert status.boot_image_updates is not None
        assert status.boot_image_updates.mode == "Enabled"
        degraded = conditions.find(status.conditions, DEGRADED)
        assert degraded is not None
        assert degraded.message == "No errors"


def test_the_gauge_counts_states_and_forgets_those_that_are_gone() -> None:
    registry = CollectorRegistry()
    metrics = BootImageMetrics(registry)
    current, failed = history("a", "Current"), history("b", "Failed")
    metrics.count((current, failed, history("c", "Failed", removed_time="2026-01-01T00:00:00Z")))
    metrics.count((current,))
    name = "lading_boot_images_machine_sets"
    assert registry.get_sample_value(name, {"state": "Current"}) == 1
    assert registry.get_sample_value(name, {"state": "Failed"}) == 0


async def says(cluster: BootCluster, words: str, type_: str = PROGRESSING) -> bool:
    found = conditions.find((await cluster.configuration()).status.conditions, type_)
    return found is not None and words in found.message


async def test_opting_out_changes_no_set_and_clears_the_conditions(cluster: BootCluster) -> None:
    await cluster.usual()
    async with running(cluster):
        await cluster.until_state("Current")
        await cluster.until(lambda: says(cluster, "1 of 1"), "reported")
        patch = {"spec": {"managedBootImageConfig": {"mode": "Disabled"}}}
        await cluster.kube.patch(MACHINE_CONFIGURATIONS, "default", patch)
        await cluster.until_state("NotEnrolled")

        async def is_cleared() -> bool:
            return (await cluster.configuration()).status.conditions == ()

        await cluster.until(is_cleared, "conditions are gone")
    assert await cluster.image() == GCP_IMAGE


async def test_two_failures_are_both_named_and_clear_separately(cluster: BootCluster) -> None:
    await cluster.usual()
    await cluster.make_set("broken", gcp_spec(userDataSecret={"name": "broken"}))
    await cluster.make_set("gone", gcp_spec(userDataSecret={"name": "gone"}))
    await cluster.make_stub(MARKER.encode(), name="broken")
    await cluster.create(MACHINE_CONFIG_POOLS, "worker", spec={})
    async with running(cluster, settings={"secrets_interval": SHORT}):
        await cluster.until_state("Failed", "broken", "StubUnreadable")
        await cluster.until_state("Failed", "gone", "StubMissing")
        await cluster.until_state("Current")
        await cluster.until(lambda: says(cluster, "broken: ", DEGRADED), "broken is named")
        await cluster.until(lambda: says(cluster, "gone: ", DEGRADED), "gone is named")
        await cluster.until(lambda: pool_is(cluster, Truth.TRUE), "the worker pool is degraded")
        await cluster.make_stub(name="gone")
        await cluster.until_state("Current", "gone")
        await cluster.until_state("Failed", "broken")
        await cluster.kube.patch(
            SECRETS, "broken", {"data": secret().data}, namespace=MACHINE_NAMESPACE
        )
        await cluster.until_state("Current", "broken")
        await cluster.until(lambda: says(cluster, "No errors", DEGRADED), "no errors")
        await cluster.until(lambda: pool_is(cluster, Truth.FALSE), "the worker pool is well")


async def pool_is(cluster: BootCluster, truth: Truth) -> bool:
    """By the condition of boot images, and by `Degraded`, which every feature contributes to."""
    pool = await cluster.kube.get(MACHINE_CONFIG_POOLS, "worker")
    found = {one.type: one.status for one in pool.status.conditions}
    return found == {DEGRADED: truth, "Degraded": truth}


async def test_opting_out_takes_back_what_the_pool_shows(cluster: BootCluster) -> None:
    await cluster.usual()
    await cluster.create(MACHINE_CONFIG_POOLS, "worker", spec={})
    async with running(cluster):
        await cluster.until(lambda: pool_is(cluster, Truth.FALSE), "the worker pool is well")
        patch = {"spec": {"managedBootImageConfig": {"mode": "Disabled"}}}
        await cluster.kube.patch(MACHINE_CONFIGURATIONS, "default", patch)

        async def is_cleared() -> bool:
            pool = await cluster.kube.get(MACHINE_CONFIG_POOLS, "worker")
            return pool.status.conditions == ()

        await cluster.until(is_cleared, "the pool shows nothing of boot images")


async def test_the_pool_of_another_operator_is_not_written(cluster: BootCluster) -> None:
    await cluster.usual(stub=MARKER.encode())
    rendered = {"configuration": {"name": "rendered-worker-1"}}
    await cluster.create(MACHINE_CONFIG_POOLS, "worker", spec=rendered)
    async with running(cluster):
        await cluster.until(lambda: says(cluster, "worker-a: ", DEGRADED), "it is reported")
        await cluster.until(lambda: is_recorded(cluster, "StubUnreadable"), "it is an event")
    assert [path for _, path in cluster.line.writes() if "machineconfigpools" in path] == []


async def is_recorded(cluster: BootCluster, reason: str) -> bool:
    page = await cluster.kube.page(EVENTS, Selection(namespace=MACHINE_NAMESPACE))
    return any(one.reason == reason for one in page.items)


async def test_a_refused_patch_degrades_at_once_and_recovers(cluster: BootCluster) -> None:
    await cluster.usual()
    cluster.line.refused = "/machinesets/"
    async with running(cluster):
        await cluster.until_state("Failed", reason="PatchFailed")
        assert await cluster.image() == GCP_IMAGE_OLD
    cluster.line.refused = ""
    async with running(cluster):
        await cluster.until_state("Current")


async def test_a_refused_status_does_not_delay_the_next_release(cluster: BootCluster) -> None:
    await cluster.usual()
    async with running(cluster):
        await cluster.until_state("Current")
        cluster.line.refused = "machinesetbootimagehistories"
        annotate = {"metadata": {"annotations": {PAUSE_ANNOTATION: "paused"}}}
        await cluster.kube.patch(MACHINE_SETS, "worker-a", annotate, namespace=MACHINE_NAMESPACE)
        before = len(cluster.line.writes())

        async def is_refused() -> bool:
            return len(cluster.line.writes()) > before

        await cluster.until(is_refused, "the status was refused")
        cluster.line.refused = ""
        await cluster.until_state("Skipped", reason="Paused")
        newer = streams.stream()
        newer["architectures"]["x86_64"]["images"]["gcp"]["name"] = "rhcos-newer-gcp-x86-64"
        patch = {"data": streams.data(stream=json.dumps(newer))}
        await cluster.kube.patch(
            CONFIG_MAPS, "coreos-bootimages", patch, namespace=GOLDEN_NAMESPACE
        )
        resumed = {"metadata": {"annotations": {PAUSE_ANNOTATION: None}}}
        await cluster.kube.patch(MACHINE_SETS, "worker-a", resumed, namespace=MACHINE_NAMESPACE)
        async with asyncio.timeout(20):
            await cluster.until_state("Current")
    assert (await cluster.image()).endswith("rhcos-newer-gcp-x86-64")
    assert not await is_recorded(cluster, "PatchFailed")


async def test_an_edited_stub_is_read_at_once_when_updates_are_resumed(
    cluster: BootCluster,
) -> None:
    await cluster.usual(stub=MARKER.encode())
    async with running(cluster):
        await cluster.until_state("Failed", reason="StubUnreadable")
        await cluster.kube.patch(
            SECRETS, "worker-user-data", {"data": secret().data}, namespace=MACHINE_NAMESPACE
        )
        found = await cluster.history()
        assert found is not None
        resumed = {"spec": {"resumedTime": "2026-11-16T00:00:00.000000Z"}}
        await cluster.kube.patch(
            MACHINE_SET_BOOT_IMAGE_HISTORIES, found.metadata.name, resumed, namespace=NAMESPACE
        )
        async with asyncio.timeout(20):
            await cluster.until_state("Current")


def test_by_default_secrets_and_failed_writes_are_tried_again_within_a_minute() -> None:
    defaults = BootImageSettings()
    assert defaults.secrets_interval == timedelta(minutes=1)
    assert defaults.retry.seconds_max == 60


async def test_a_missing_right_is_the_reason_that_is_shown(cluster: BootCluster) -> None:
    await cluster.usual(stub=spec_2())
    cluster.line.unreadable = "/secrets/worker-user-data"
    async with running(cluster, settings={"secrets_interval": SHORT}):
        await cluster.until_state("Skipped", reason="Forbidden")
        found = await cluster.history()
        assert found is not None
        assert "may not read Secret openshift-machine-api/worker-user-data" in found.status.message
        assert await cluster.image() == GCP_IMAGE_OLD
        cluster.line.unreadable = ""
        await cluster.until_state("Current")


async def test_a_refused_copy_of_a_stub_degrades_and_is_not_tried_all_the_time(
    cluster: BootCluster,
) -> None:
    await cluster.usual(stub=spec_2())
    cluster.line.refused = f"/namespaces/{MACHINE_NAMESPACE}/secrets"
    async with running(cluster):
        await cluster.until_state("Failed", reason="PatchFailed")
        cluster.line.requests.clear()
        await CLOCK.sleep(1)
        assert not any("/secrets" in path for method, path in cluster.line.writes())
    cluster.line.refused = ""
    async with running(cluster):
        await cluster.until_state("Current")


async def test_a_node_proves_the_release_where_there_is_no_cluster_version(
    cluster: BootCluster,
) -> None:
    await cluster.make_golden()
    await cluster.make_stub()
    await cluster.make_set()
    await cluster.enrol()
    await cluster.make_node()
    async with running(cluster):
        await cluster.until_state("Waiting", reason="ReleaseNotProven")
        await cluster.make_node("node-b", **{"lading.dev/os-release": "4.21.3"})
        await cluster.until_state("Current")


async def test_kinds_that_come_later_are_picked_up() -> None:
    async with opened(with_kinds=False) as cluster, running(cluster):
        await CLOCK.sleep(0.5)
        await install_kinds(cluster.kube)
        await cluster.usual()
        await cluster.until_state("Current")


async def test_with_cluster_api_alone_no_kind_is_listed_as_missing() -> None:
    async with opened(with_kinds=False) as cluster, running(cluster) as manager:

        async def both_are_listed() -> bool:
            (found,) = manager.waiting() or ("",)
            return "machine.openshift.io" in found and "cluster.x-k8s.io" in found

        await cluster.until(both_are_listed, "neither API has machine sets")
        await install_kinds(cluster.kube, "machinesets.cluster.x-k8s.io")

        async def none_is_listed() -> bool:
            return manager.waiting() == ()

        await cluster.until(none_is_listed, "that of Cluster API is enough")


async def test_switched_off_nothing_is_written(cluster: BootCluster) -> None:
    await cluster.usual()
    async with running(cluster, gates=""):
        await CLOCK.sleep(1)
    assert cluster.line.writes() == []


async def test_many_sets_that_share_a_stub_cost_one_read_of_it(cluster: BootCluster) -> None:
    await cluster.usual(*(f"worker-{number:04}" for number in range(100)))
    async with running(cluster):
        await cluster.until_state("Current", "worker-0099")
        await cluster.until(lambda: says(cluster, "100 of 100"), "all are updated")
    reads = [path for method, path in cluster.line.requests if method == "GET"]
    assert sum(path.endswith("/secrets/worker-user-data") for path in reads) == 1
    patches = [path for method, path in cluster.line.requests if method == "PATCH"]
    assert sum("/machinesets/" in path for path in patches) == 100
    reconciler = await reconciler_with_caches_of_now(cluster)
    cluster.line.requests.clear()
    await reconciler.reconcile(KEY)
    assert cluster.line.writes() == []


@pytest.fixture
def debug_logs() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    logs.configure(LogFormat.JSON, "debug", stream=stream)
    yield stream
    logs.configure(LogFormat.CONSOLE, "warning")


async def test_a_marker_in_user_data_reaches_nothing_but_the_copy(
    cluster: BootCluster, debug_logs: io.StringIO
) -> None:
    # In a field that no redaction would take for a secret.
    await cluster.usual(stub=spec_2(passwd={"users": [{"name": "core", "gecos": MARKER}]}))
    await cluster.make_stub(spec_2(storage={"files": MARKER}), name="broken")
    await cluster.make_set("broken", gcp_spec(userDataSecret={"name": "broken"}))
    metrics = CollectorRegistry()
    async with running(cluster, metrics=metrics):
        await cluster.until_state("Current")
        await cluster.until_state("Failed", "broken")
        await cluster.until(lambda: says(cluster, "broken", DEGRADED), "degraded")
        await cluster.until(lambda: has_events(cluster), "events")
    counted = prometheus_client.generate_latest(metrics).decode()
    shown = [str((await cluster.configuration()).status), counted, debug_logs.getvalue()]
    for resource, namespace in (
        (MACHINE_SET_BOOT_IMAGE_HISTORIES, NAMESPACE),
        (MACHINE_SETS, MACHINE_NAMESPACE),
        (EVENTS, ""),
    ):
        page = await cluster.kube.page(resource, Selection(namespace=namespace))
        shown += [str(one) for one in page.items]
    assert not any(MARKER in one or ENCODED_MARKER in one for one in shown)
    assert "lading_boot_images_machine_sets" in counted
    assert "WriteStub" in debug_logs.getvalue()
    copied = await cluster.secret(COPY)
    assert copied is not None
    assert MARKER in base64.b64decode(copied.data["userData"]).decode()


async def has_events(cluster: BootCluster) -> bool:
    return bool((await cluster.kube.page(EVENTS, Selection())).items)


async def test_a_marker_in_user_data_reaches_no_trace(
    cluster: BootCluster, debug_logs: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mistake in the code while a stub is at hand is logged with its trace."""

    def broken(*_arguments: object, **_named: object) -> NoReturn:
        raise RuntimeError("a mistake")

    await cluster.usual(stub=spec_2(passwd={"users": [{"name": "core", "gecos": MARKER}]}))
    monkeypatch.setattr(stub_translation, "translate", broken)

    async def is_logged() -> bool:
        return "a mistake" in debug_logs.getvalue()

    async with running(cluster):
        await cluster.until(is_logged, "the mistake is logged")
    assert "Traceback" in debug_logs.getvalue()
    assert MARKER not in debug_logs.getvalue()
    assert ENCODED_MARKER not in debug_logs.getvalue()


async def test_a_cluster_api_set_gets_a_cloned_template(cluster: BootCluster) -> None:
    await cluster.complete()
    await cluster.make_node()
    await cluster.make_golden()
    found = secret(spec_2(), key="value")
    data = {"value": found.data["value"], "format": "aWduaXRpb24="}
    await cluster.create(SECRETS, "worker-user-data", CLUSTER_NAMESPACE, data=data)
    templates = machine_templates("GCPMachineTemplate", "v1beta1")
    machine = {"image": GCP_IMAGE_OLD, "instanceType": "n1"}
    await cluster.create(
        templates, "template-a", CLUSTER_NAMESPACE, spec={"template": {"spec": machine}}
    )
    reference = {"apiGroup": templates.group, "kind": templates.kind, "name": "template-a"}
    bootstrap = {"dataSecretName": "worker-user-data"}
    spec = {
        "clusterName": INFRA,
        "template": {"spec": {"bootstrap": bootstrap, "infrastructureRef": reference}},
    }
    await cluster.create(CLUSTER_MACHINE_SETS, "worker-a", CLUSTER_NAMESPACE, spec=spec)
    await cluster.enrol()

    async def is_repointed() -> bool:
        one = await cluster.kube.get(CLUSTER_MACHINE_SETS, "worker-a", namespace=CLUSTER_NAMESPACE)
        name = one.spec["template"]["spec"]["infrastructureRef"]["name"]
        return bool(name != "template-a")

    async with running(cluster):
        await cluster.until(is_repointed, "the set names a clone")
    one = await cluster.kube.get(CLUSTER_MACHINE_SETS, "worker-a", namespace=CLUSTER_NAMESPACE)
    after = one.spec["template"]["spec"]
    assert after["bootstrap"] == {"dataSecretName": COPY}
    clone = await cluster.kube.get(
        templates, after["infrastructureRef"]["name"], namespace=CLUSTER_NAMESPACE
    )
    assert clone.spec["template"]["spec"] == {**machine, "image": GCP_IMAGE}
    copied = await cluster.kube.get(SECRETS, COPY, namespace=CLUSTER_NAMESPACE)
    assert copied.data["format"] == "aWduaXRpb24="
