"""What the dashboard shows of a cluster, of changes, and of what it cannot read."""

import base64
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.dashboard_objects import LargeCluster
from lading.adapters.clock import VirtualClock, settle
from lading.adapters.kube.client import KubeClient
from lading.api.core import NODES, SECRETS
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.loop import tasks
from lading.ports import kube
from lading.ports.kube import Selection
from lading.web.dashboard import Dashboard
from lading.web.following import FOLLOWED, SHOWN_NODES
from lading.web.pruning_plan import PlanReader
from tests.boot_images import clusters as boot_clusters
from tests.boot_images.ignition.stubs import MARKER, spec_2
from tests.boot_images.worlds import MACHINE_NAMESPACE, gcp_spec
from tests.pinned_images.installed_api import api
from tests.web import clusters, plans
from tests.web.broken_kube import BrokenKube
from tests.web.clusters import following, shown, until

__all__ = ["api"]
PAGES = 20
PUBLISHED_SECONDS_MAX = 1.0  # of the two that a change may take until it is on the page
SETS = "pinnedimagesets.machineconfiguration.openshift.io"
PASSWORD = "correct-horse-battery"


async def two_nodes(api: KubeClient) -> None:
    await clusters.create_pool(api, "good", "bad")
    uids = {name: await clusters.create_set(api, name) for name in ("good", "bad")}
    for name in ("a", "b"):
        await clusters.create_node(api, name)
    await clusters.report(api, "a", clusters.pinned("good", uids["good"]))
    error = f"cannot pull https://robot:{PASSWORD}@registry.example.com/v2: no room"
    await clusters.report(
        api,
        "b",
        clusters.pinned("good", uids["good"]),
        clusters.failed("bad", uids["bad"], error),
        bad=True,
    )


async def test_nodes_and_sets_are_shown_as_the_command_shows_them(api: KubeClient) -> None:
    await two_nodes(api)
    async with following(api) as dashboard:
        found = await until(dashboard, lambda one: len(one["nodes"]) == 2 and one["problems"])
    assert found["nodes"]["a"]["pool"] == "worker"
    assert found["nodes"]["a"]["cells"] == {
        "good": ["Pinned", 1, 1, 0, "1/1"],
        "bad": ["Waiting", 0, 1, 0, "-/1"],
    }
    assert found["nodes"]["b"]["cells"]["bad"][0] == "Failed"
    assert found["sets"]["good"]["pools"] == ["worker"]
    assert found["features"]["pins"]["state"] == "error"
    assert found["features"]["pins"]["sentence"] == (
        "2 of 4 pairs of node and set are pinned, 1 failed, 1 waiting."
    )


async def test_control_planes_are_shown_in_their_pool(api: KubeClient) -> None:
    await two_nodes(api)
    labels = {"node-role.kubernetes.io/control-plane": ""}
    spec = {"nodeSelector": {"matchLabels": labels}, "pinnedImageSets": [{"name": "good"}]}
    await clusters.create(api, MACHINE_CONFIG_POOLS, "master", spec=spec)
    await clusters.create(api, NODES, "plane", metadata={"labels": labels})
    await clusters.create(api, NODES, "alone")
    async with following(api) as dashboard:
        found = await until(
            dashboard, lambda one: one["nodes"]["plane"]["cells"] and one["nodes"]["alone"]
        )
    assert {name: one["pool"] for name, one in found["nodes"].items()} == {
        "a": "worker", "b": "worker", "plane": "master", "alone": "",
    }  # fmt: skip
    assert list(found["nodes"]["plane"]["cells"]) == ["good"]


async def test_what_is_wrong_has_a_command_and_the_worst_comes_first(api: KubeClient) -> None:
    await two_nodes(api)
    async with following(api) as dashboard:
        found = await until(dashboard, lambda one: len(one["problems"]) == 2)
    first, second = sorted(found["problems"].values(), key=lambda one: one["rank"])
    assert (first["urgency"], first["title"]) == ("error", "bad is not pinned on b")
    assert first["command"] == "lading pin status bad --node b"
    assert first["link"] == "#/pins?set=bad"
    assert (second["urgency"], second["title"]) == ("warning", "bad is not reported by a")
    assert second["command"].startswith("kubectl get pods -A -o wide -l ")


async def test_the_command_follows_the_reason_of_a_node_unless_several_sets_failed(
    api: KubeClient,
) -> None:
    await clusters.create_pool(api, "one", "two")
    one, two = [await clusters.create_set(api, name) for name in ("one", "two")]
    for node, sets in {"a": {"one": one}, "b": {"one": one, "two": two}}.items():
        await clusters.create_node(api, node)
        failures = [clusters.failed(name, uid, f"no room {node}") for name, uid in sets.items()]
        await clusters.report(api, node, *failures, bad=True, reason="InsufficientStorage")
    async with following(api) as dashboard:
        found = await until(dashboard, lambda one: len(one["problems"]) == 4)
    errors = (one for one in found["problems"].values() if one["urgency"] == "error")
    assert sorted((one["detail"], one["command"]) for one in errors) == [
        ("no room a", "lading image gc --all"),
        ("no room b", "lading pin status one --node b"),
        ("no room b", "lading pin status two --node b"),
    ]


async def test_a_change_is_shown_and_concerns_only_its_node(api: KubeClient) -> None:
    await two_nodes(api)
    async with following(api) as dashboard:
        before = await until(
            dashboard, lambda one: one["nodes"]["b"]["cells"]["bad"][0] == "Failed"
        )
        with dashboard.hub.subscribed() as page:
            page.take()
            entry = {"name": "good", "desiredGeneration": 1, "currentGeneration": 0}
            patch = {"status": {"pinnedImageSets": [entry]}}
            await api.patch(MACHINE_CONFIG_NODES, "a", patch, subresource="status")
            found = await until(dashboard, lambda one: one["nodes"]["a"] != before["nodes"]["a"])
            event = page.take()
    assert found["nodes"]["b"] == before["nodes"]["b"]
    assert "1 of 4 pairs of node and set" in found["features"]["pins"]["sentence"]
    assert b'"nodes":{"a"' in event
    assert b'"b":{"pool"' not in event


async def test_every_change_is_published_within_two_seconds() -> None:
    """By the clock of the dashboard; `bench dashboard` has the whole way to the browser."""
    clock = VirtualClock()
    cluster = LargeCluster(nodes=1, sets=1)
    dashboard = Dashboard(cluster, clock)
    async with tasks.started(dashboard.run()):
        await clock.advance(PUBLISHED_SECONDS_MAX)
        for present in (1, 2, 3):  # the second comes while the first is being published
            cluster.change(0, present=present)
            await settle()
        await clock.advance(PUBLISHED_SECONDS_MAX)
        [node] = shown(dashboard)["nodes"].values()
    assert node["cells"]["release-00"][1] == 3


async def test_an_edited_set_is_wanted_in_its_new_generation(api: KubeClient) -> None:
    await two_nodes(api)
    async with following(api) as dashboard:
        await until(dashboard, lambda one: one["nodes"]["a"]["cells"]["good"][0] == "Pinned")
        spec = {"pinnedImages": [{"name": clusters.IMAGE.replace("app", "other")}]}
        await api.patch(PINNED_IMAGE_SETS, "good", {"spec": spec})
        found = await until(dashboard, lambda one: one["nodes"]["a"]["cells"]["good"][4] == "1/2")
    assert found["nodes"]["a"]["cells"]["good"][0] == "Waiting"


async def test_a_pool_that_drops_a_set_drops_its_cells(api: KubeClient) -> None:
    await two_nodes(api)
    async with following(api) as dashboard:
        await until(dashboard, lambda one: "bad" in one["nodes"]["a"]["cells"])
        spec = {"pinnedImageSets": [{"name": "good"}]}
        await api.patch(MACHINE_CONFIG_POOLS, "worker", {"spec": spec})
        await until(dashboard, lambda one: list(one["nodes"]["a"]["cells"]) == ["good"])


async def test_nodes_that_a_set_misses_stay_missed_however_often_others_report(
    api: KubeClient,
) -> None:
    await clusters.create_pool(api, "s")
    uid = await clusters.create_set(api, "s", status={"nodeCount": 2})
    await clusters.create_node(api, "a")
    await clusters.report(api, "a", clusters.pinned("s", uid))
    async with following(api) as dashboard:
        await until(dashboard, lambda one: [x["title"] for x in one["problems"].values()])
        await api.patch(NODES, "a", {"metadata": {"labels": {"seen": "again"}}})
        entry = clusters.pinned("s", uid, presentImageCount=0, currentGeneration=0)
        patch = {"status": {"pinnedImageSets": [entry]}}
        await api.patch(MACHINE_CONFIG_NODES, "a", patch, subresource="status")
        found = await until(dashboard, lambda one: one["nodes"]["a"]["cells"]["s"][1] == 0)
    assert "s is waiting" in {one["title"] for one in found["problems"].values()}


async def test_a_set_that_is_deleted_leaves_the_page(api: KubeClient) -> None:
    await two_nodes(api)
    async with following(api) as dashboard:
        await until(dashboard, lambda one: "bad" in one["nodes"]["a"]["cells"])
        await api.delete(PINNED_IMAGE_SETS, "bad")
        found = await until(dashboard, lambda one: "bad" not in one["nodes"]["a"]["cells"])
    assert "bad" not in found["sets"]


async def test_a_node_that_is_deleted_leaves_the_page(api: KubeClient) -> None:
    await two_nodes(api)
    async with following(api) as dashboard:
        await until(dashboard, lambda one: len(one["nodes"]) == 2)
        await api.delete(SHOWN_NODES, "b")
        await api.delete(MACHINE_CONFIG_NODES, "b")
        found = await until(dashboard, lambda one: len(one["nodes"]) == 1)
    assert [one["title"] for one in found["problems"].values()] == ["bad is not reported by a"]


async def test_pre_pull_and_boot_images_are_shown(api: KubeClient) -> None:
    await clusters.create_image(api, "share", state="error", nodeCount=3, deployedNodeCount=1)
    await clusters.create_history(api, "workers", state="Skipped", reason="Paused", message="Why.")
    async with following(api) as dashboard:
        found = await until(dashboard, lambda one: one["images"] and one["machineSets"])
    assert found["images"]["default/share"]["held"] == 1
    machine_set = found["machineSets"]["default/workers"]
    assert [one["index"] for one in machine_set["history"]] == [1, 0]
    commands = {one["feature"]: one["command"] for one in found["problems"].values()}
    assert commands == {
        "prepull": "lading prepull status -n default",
        "boot": "lading bootimage resume workers",
    }


async def test_the_runs_of_the_pruner_are_shown_and_a_failed_one_is_a_problem(
    api: KubeClient,
) -> None:
    failed = {"type": "Failed", "status": "True", "reason": "JobFailed", "message": "no room",
              "lastTransitionTime": "2026-01-01T00:00:00Z"}  # fmt: skip
    await clusters.create_pruner(api, conditions=[failed])
    async with following(api, cluster="https://api.example.com") as dashboard:
        found = await until(dashboard, lambda one: one["pruners"] and one["problems"])
    assert [one["job"] for one in found["pruners"]["cluster"]["runs"]] == ["image-pruner-1"]
    assert [one["detail"] for one in found["problems"].values()] == ["no room"]
    assert found["features"]["pruning"]["state"] == "error"
    assert found["cluster"]["cluster"]["name"] == "https://api.example.com"


async def test_a_plan_of_pruning_is_summed_up(api: KubeClient, tmp_path: Path) -> None:
    reader = PlanReader(plans.write_contents(tmp_path / "plan.jsonl", is_used=False))
    async with following(api, plan=reader) as dashboard:
        found = await until(dashboard, lambda one: one["features"])
    assert "The plan of registry.test has 5 deletions" in found["features"]["pruning"]["sentence"]


async def test_no_secret_reaches_the_page(api: KubeClient) -> None:
    await two_nodes(api)
    data = {"password": "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5"}
    await api.create(SECRETS, {"metadata": {"name": "s"}, "data": data}, namespace="default")
    await clusters.create_image(
        api, "share", state="error",
        failures=[{"node": "a", "reason": "Pull", "message": f"password={PASSWORD}"}],
        conditions=[{
            "type": "Deployed", "status": "False", "reason": "Pull",
            "message": f"Authorization: Bearer {PASSWORD}",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }],
    )  # fmt: skip
    await clusters.create_history(
        api, "workers", state="Failed", reason="StubUnreadable", message=f"token: {PASSWORD}"
    )
    async with following(api) as dashboard:
        await until(dashboard, lambda one: len(one["problems"]) == 4)
        text = dashboard.hub.snapshot().decode()
    assert "no room" in text
    assert PASSWORD not in text
    assert data["password"] not in text
    assert SECRETS.plural not in {one.plural for one in FOLLOWED}


async def test_no_user_data_of_a_boot_secret_reaches_the_page() -> None:
    """One that the controller copies for new machines, and one that it cannot translate."""
    async with boot_clusters.opened() as cluster:
        # In fields that no redaction would take for a secret.
        await cluster.usual(stub=spec_2(passwd={"users": [{"name": "core", "gecos": MARKER}]}))
        await cluster.make_stub(spec_2(storage={"files": MARKER}), name="broken")
        await cluster.make_set("broken", gcp_spec(userDataSecret={"name": "broken"}))
        async with boot_clusters.running(cluster), following(cluster.kube) as dashboard:
            states = ["Current", "Failed"]
            await until(
                dashboard,
                lambda one: sorted(row["state"] for row in one["machineSets"].values()) == states,
            )
            text = dashboard.hub.snapshot().decode()
        secrets = (await cluster.kube.page(SECRETS, Selection(namespace=MACHINE_NAMESPACE))).items
    encoded = [one.data["userData"] for one in secrets]
    assert len(encoded) == 3, "with the copy"
    assert all(MARKER in base64.b64decode(one).decode() for one in encoded)
    assert '"stub":"worker-user-data-spec-3-managed"' in text
    assert MARKER not in text
    assert not any(one in text for one in encoded)


@pytest.mark.parametrize(
    ("error", "state", "sentence"),
    [
        (
            kube.NotFound("no"),
            "missing",
            "This cluster does not serve PinnedImageSet (machineconfiguration.openshift.io/v1).",
        ),
        (
            kube.Forbidden("no"),
            "forbidden",
            f"Your account may not list and watch {SETS}.",
        ),
    ],
)
async def test_a_kind_that_cannot_be_read_is_a_sentence_and_stops_no_other(
    api: KubeClient, error: kube.KubeError, state: str, sentence: str
) -> None:
    await clusters.create_image(api, "share", state="deployed")
    broken = BrokenKube(api)
    broken.errors[PINNED_IMAGE_SETS] = error
    async with following(broken) as dashboard:
        found = await until(
            dashboard, lambda one: one["features"]["pins"]["sentence"] == sentence and one["images"]
        )
    features = {name: one["state"] for name, one in found["features"].items()}
    assert (features["pins"], features["images"]) == ("unavailable", "unavailable")
    assert features["prepull"] != "unavailable"
    assert found["kinds"][SETS]["state"] == state


async def test_without_the_right_to_list_nodes_their_reports_are_shown(api: KubeClient) -> None:
    await two_nodes(api)
    broken = BrokenKube(api)
    broken.errors[SHOWN_NODES] = kube.Forbidden("no")
    sentence = "Your account may not list and watch nodes."
    async with following(broken) as dashboard:
        found = await until(
            dashboard,
            lambda one: (
                len(one["nodes"]) == 2 and one["features"]["images"]["sentence"] == sentence
            ),
        )
    assert found["kinds"]["nodes"]["state"] == "forbidden"
    assert found["nodes"]["b"]["ready"] == "Unknown"


async def test_an_api_server_that_is_away_is_reported_and_so_is_its_return(
    api: KubeClient,
) -> None:
    await two_nodes(api)
    broken = BrokenKube(api)
    async with following(broken) as dashboard:
        await until(dashboard, lambda one: len(one["nodes"]) == 2)
        assert shown(dashboard)["cluster"]["cluster"]["connected"]
        broken.errors = {one: kube.Unavailable("away") for one in FOLLOWED}
        broken.broken.set()
        await clusters.create_node(api, "c")  # an event, after which the watch breaks
        away = await until(dashboard, lambda one: not one["cluster"]["cluster"]["connected"])
        assert len(away["nodes"]) >= 2
        broken.broken.clear()
        broken.errors.clear()
        back = await until(dashboard, lambda one: one["cluster"]["cluster"]["connected"])
        assert back["features"]["pins"]["state"] == "error"
        await until(dashboard, lambda one: len(one["nodes"]) == 3)


async def test_many_pages_cost_one_set_of_watches(api: KubeClient) -> None:
    broken = BrokenKube(api)
    async with following(broken) as dashboard:
        with ExitStack() as pages:
            for _ in range(PAGES):
                pages.enter_context(dashboard.hub.subscribed())
            await until(
                dashboard,
                lambda one: {kind["state"] for kind in one["kinds"].values()} == {"served"},
            )
            assert sorted(broken.watches) == sorted(one.plural for one in FOLLOWED)
