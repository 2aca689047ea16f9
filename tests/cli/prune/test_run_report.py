"""What a Job of an ImagePruner reports, and how it ends when there is nothing to prune."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from lading.adapters.clock import SystemClock
from lading.api.core import CONFIG_MAPS
from lading.api.imageregistry import IMAGE_PRUNER, IMAGE_PRUNERS
from lading.installation import apply as installation
from lading.pruning.operator.types import REPORT_NAME
from tests.adapters.registry import hostile
from tests.cli.prune.openshift import NO_GUARD, OpenShift
from tests.security import recording

TO_STATUS = ("--report-to", "imagepruner")


@pytest.fixture(autouse=True)
def of_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POD_NAME", "prune-1-abcde")
    monkeypatch.setenv("POD_NAMESPACE", "images")


async def install(cluster: OpenShift) -> None:
    kube = cluster.streams.kube
    await installation.install(kube, SystemClock(), (IMAGE_PRUNER,))
    body = {
        "apiVersion": IMAGE_PRUNERS.api_version,
        "kind": IMAGE_PRUNERS.kind,
        "metadata": {"name": "cluster"},
        "spec": {},
    }
    await kube.create(IMAGE_PRUNERS, body)


async def runs(cluster: OpenShift) -> list[dict[str, Any]]:
    found = await cluster.streams.kube.get(IMAGE_PRUNERS, "cluster")
    entries: list[dict[str, Any]] = found.status["lastRun"]
    return entries


async def test_a_run_reports_what_it_deleted_and_kept(cluster: OpenShift) -> None:
    await install(cluster)
    await cluster.push("app", "1", "2")
    result = await cluster.lading("images", "--confirm", *NO_GUARD, *TO_STATUS)
    assert result.code == 0, result.errors
    (run,) = await runs(cluster)
    assert (run["name"], run["job"], run["phase"]) == ("imagestreams", "prune-1", "Succeeded")
    assert run["candidates"] == run["deleted"] > 0
    assert run["kept"]["KeepTagRevisions"] == 1


async def test_each_registry_has_an_entry_of_its_own(cluster: OpenShift) -> None:
    await install(cluster)
    await cluster.push("app", "1", "2")
    for name in ("one", "two"):
        words = ("images", "--confirm", *NO_GUARD, *TO_STATUS, "--run-name", name)
        assert (await cluster.lading(*words)).code == 0
    assert {one["name"] for one in await runs(cluster)} == {"one", "two"}


async def test_a_guard_that_refuses_is_reported(cluster: OpenShift) -> None:
    await install(cluster)
    await cluster.push("app", "1", "2")
    result = await cluster.lading("images", "--confirm", *TO_STATUS)
    assert result.code == 3
    (run,) = await runs(cluster)
    assert run["phase"] == "Refused"
    assert "No reference of the clusters names" in run["message"]
    assert run["candidates"] > 0


async def test_a_report_to_a_config_map(cluster: OpenShift) -> None:
    await cluster.push("app", "1", "2")
    words = ("images", "--confirm", *NO_GUARD, "--report-to", "configmap")
    assert (await cluster.lading(*words)).code == 0
    found = await cluster.streams.kube.get(CONFIG_MAPS, REPORT_NAME, namespace="images")
    assert msgspec.json.decode(found.data["imagestreams"])["phase"] == "Succeeded"


async def test_a_report_that_cannot_be_written_does_not_fail_the_run(cluster: OpenShift) -> None:
    await cluster.push("app", "1", "2")
    result = await cluster.lading("images", "--confirm", *NO_GUARD, *TO_STATUS)
    assert result.code == 0, result.errors
    assert len(await cluster.images()) == 1


async def test_a_registry_that_asks_for_credentials_is_reported_with_the_field_to_set(
    cluster: OpenShift,
) -> None:
    await install(cluster)
    async with hostile.served(recording.challenging('Basic realm="registry"')) as registry:
        result = await cluster.lading(
            *("images", "--confirm", "--source=registry", *TO_STATUS, "--run-name", "main"),
            *("--registry-url", f"http://{registry.host}"),
        )
    assert result.code == 1
    (run,) = await runs(cluster)
    assert run["phase"] == "Failed"
    assert f"{registry.host} accepts none of the credentials (401)" in run["message"]
    assert "set credentialsSecretName of spec.registries[main] to a Secret" in run["message"]


async def test_with_nothing_to_prune_only_a_job_ends_well(cluster: OpenShift) -> None:
    by_hand = await cluster.lading("images", "--confirm", "--source=imagestreams")
    assert by_hand.code != 0
    result = await cluster.lading(
        "images", "--confirm", "--source=imagestreams", "--ok-if-no-registry"
    )
    assert result.code == 0, result.errors
    assert "Nothing to prune" in result.output


async def test_a_plain_registry_has_no_api_objects_to_prune(cluster: OpenShift) -> None:
    old = await cluster.shelf.image("team/app:old", layers=[b"old"])
    words = (
        *("images", "--confirm", "--source=registry", "--registry-url", cluster.shelf.host),
        "--prune-registry=false",
    )
    refused = await cluster.lading(*words)
    assert refused.code != 0
    assert "only API objects" in refused.errors
    assert (await cluster.lading(*words, "--ok-if-no-registry")).code == 0
    assert await cluster.shelf.pullable(f"team/app@{old.digest}")


async def test_another_cluster_that_does_not_answer_keeps_everything(
    cluster: OpenShift, tmp_path: Path
) -> None:
    await cluster.push("app", "1", "2")
    other = yaml.safe_load(cluster.kubeconfig.read_text())
    other["clusters"][0]["cluster"]["server"] = "http://127.0.0.1:1"
    file = tmp_path / "other"
    file.write_text(yaml.safe_dump(other))
    words = ("images", "--confirm", *NO_GUARD, "--other-kubeconfig", str(file))
    assert (await cluster.lading(*words)).code != 0
    assert len(await cluster.images()) == 2


async def test_a_sweep_after_the_images_reports_by_itself(cluster: OpenShift) -> None:
    await install(cluster)
    await cluster.shelf.image("team/app:kept", layers=[b"kept"])
    words = (
        *(
            "images",
            "--confirm",
            "--source=storage",
            f"--storage=file://{cluster.kubeconfig.parent}/registry",
        ),
        *("--registry-url", f"http://{cluster.shelf.host}", "--no-trash", "--run-name=main"),
        *("--sweep-blobs", *TO_STATUS),
    )
    result = await cluster.lading(*words)
    assert result.code == 0, result.errors
    images, blobs = await runs(cluster)
    assert (images["name"], images["phase"]) == ("main", "Succeeded")
    assert (blobs["name"], blobs["phase"]) == ("main.blobs", "Succeeded")
    assert blobs["kept"]["Needed"] == 3
    assert "freedBytes" not in blobs, "nothing was freed"
