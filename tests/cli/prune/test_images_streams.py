"""The prune commands on ImageStreams, from flags to what the cluster and the registry have then."""

import json
from pathlib import Path

import pytest
import yaml

from lading.adapters.registry.administration import AdministrationClient
from lading.ports.registry import NotFound
from tests.cli.prune.openshift import NO_GUARD, OpenShift
from tests.pruning.worlds import PODS


async def run_pod(cluster: OpenShift, image: str) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "images"},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }
    await cluster.streams.kube.create(PODS, body, namespace="images")


async def test_a_dry_run_has_the_sentences_of_oc_and_changes_nothing(cluster: OpenShift) -> None:
    old, _ = await cluster.push("app", "1", "2")
    result = await cluster.lading("images")
    assert result.code == 0, result.errors
    for sentence in (
        "Deleting 1 items from image stream images/app",
        f"Deleting manifest link {old.digest} in repository images/app",
        f"Deleting blob {old.digest}",
        f"Deleting image {old.digest}",
    ):
        assert sentence in result.output
    assert result.output.endswith(
        "Summary: deleted 1 image object(s), deleted 1 image stream tag item(s), updated 1 image"
        " stream(s), deleted 1 manifest link(s), deleted 1 blob(s)\n"
    )
    assert len(await cluster.images()) == 2
    assert await cluster.shelf.pullable(f"images/app@{old.digest}")


async def test_a_confirmed_run_trims_the_history_and_deletes_the_image(
    cluster: OpenShift,
) -> None:
    old, new = await cluster.push("app", "1", "2")
    result = await cluster.lading("images", "--confirm", *NO_GUARD)
    assert result.code == 0, result.errors
    assert "deleted 1 image object(s)" in result.output
    assert await cluster.streams.items("app") == [str(new.digest)]
    assert await cluster.images() == {str(new.digest)}
    assert not await cluster.shelf.pullable(f"images/app@{old.digest}")
    assert await cluster.shelf.pullable("images/app:latest")
    again = await cluster.lading("images", "--confirm", *NO_GUARD)
    assert "Summary: deleted 0 objects" in again.output


async def test_an_image_that_a_pod_runs_stays_and_why_names_the_pod(cluster: OpenShift) -> None:
    old, _ = await cluster.push("app", "1", "2")
    await run_pod(cluster, f"{cluster.shelf.host}/images/app@{old.digest}")
    result = await cluster.lading("images", "--confirm")
    assert "Summary: deleted 0 objects" in result.output, result.errors
    why = await cluster.lading("why", str(old.digest), "-o", "yaml")
    assert why.code == 0, why.errors
    assert "used by Pod images/web" in str(yaml.safe_load(why.output)["chains"])


async def test_a_plan_is_written_and_applied(cluster: OpenShift, tmp_path: Path) -> None:
    await cluster.push("app", "1", "2")
    file = tmp_path / "plan.jsonl"
    assert (await cluster.lading("plan", "-o", str(file))).code == 0
    header, *lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert header["source"] == "imagestreams"
    assert {line["what"] for line in lines} == {"tagItem", "manifestLink", "blob", "image"}
    applied = await cluster.lading("apply", str(file), *NO_GUARD, "-o", "json")
    assert applied.code == 0, applied.errors
    results = {one["result"] for one in json.loads(applied.output)["outcomes"]}
    assert results == {"Deleted"}
    assert len(await cluster.images()) == 1


async def test_without_prune_registry_the_registry_is_left_alone(cluster: OpenShift) -> None:
    old, _ = await cluster.push("app", "1", "2")
    result = await cluster.lading("images", "--confirm", "--prune-registry=false", *NO_GUARD)
    assert result.code == 0, result.errors
    assert "Only API objects will be removed." in result.output
    assert len(await cluster.images()) == 1
    assert await cluster.shelf.pullable(f"images/app@{old.digest}")


async def test_r14_without_images_the_registry_is_not_known(cluster: OpenShift) -> None:
    result = await cluster.lading("images", "--confirm")
    assert result.code == 1
    assert "No registry is known" in result.errors
    result = await cluster.lading("images", "--confirm", "--prune-registry=false")
    assert result.code == 0, result.errors
    assert "Summary: deleted 0 objects" in result.output


async def test_r15_a_namespace_narrows_what_goes(cluster: OpenShift) -> None:
    await cluster.push("app", "1", "2")
    result = await cluster.lading("images", "--confirm", "-n", "other", *NO_GUARD)
    assert "Summary: deleted 0 objects" in result.output, result.errors
    result = await cluster.lading("images", "--confirm", "-n", "images", *NO_GUARD)
    assert "deleted 1 image stream tag item(s)" in result.output, result.errors
    assert "image object(s)" not in result.output
    assert len(await cluster.images()) == 2


async def test_with_the_trash_an_image_comes_back_whole(cluster: OpenShift) -> None:
    old, new = await cluster.push("app", "1", "2")
    run = ("images", "--confirm", "--trash", *NO_GUARD)
    result = await cluster.lading(*run)
    assert result.code == 0, result.errors
    assert "image object(s)" not in result.output, "its content serves the trash"
    assert await cluster.streams.items("app") == [str(new.digest)]
    assert not await cluster.shelf.pullable(f"images/app@{old.digest}")
    assert await cluster.shelf.pullable(f"images/lading-trash@{old.digest}")
    assert "Summary: deleted 0 objects" in (await cluster.lading(*run)).output
    assert len(await cluster.images()) == 2
    listed = await cluster.lading("trash", "-o", "json")
    (record,) = json.loads(listed.output)
    assert record["tags"] == {"latest": str(old.digest)}
    restored = await cluster.lading("restore", str(old.digest))
    assert restored.code == 0, restored.errors
    assert "Tag latest names another image now and is not changed" in restored.errors
    assert await cluster.shelf.pullable(f"images/app@{old.digest}")
    found = await cluster.shelf.admin.head(cluster.shelf.at("images/app:latest"))
    assert found is not None
    assert found.digest == new.digest


async def test_after_the_trash_period_image_and_blobs_go(cluster: OpenShift) -> None:
    old, new = await cluster.push("app", "1", "2")
    run = ("images", "--confirm", "--trash", "--trash-period", "0s", *NO_GUARD)
    assert "image object(s)" not in (await cluster.lading(*run)).output
    result = await cluster.lading(*run)
    assert "deleted 1 image object(s)" in result.output, result.errors
    assert await cluster.images() == {str(new.digest)}
    assert not await cluster.shelf.pullable(f"images/lading-trash@{old.digest}")


async def test_an_image_that_cannot_be_put_into_the_trash_stays(
    cluster: OpenShift, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def absent(*_arguments: object, **_more: object) -> None:
        raise NotFound("the blob is gone", status=404)

    async def refused(*_arguments: object, **_more: object) -> bool:
        return False

    old, new = await cluster.push("app", "1", "2")
    monkeypatch.setattr(AdministrationClient, "mount_blob", refused)
    monkeypatch.setattr(AdministrationClient, "copy_blob", absent)
    result = await cluster.lading("images", "--confirm", "--trash", *NO_GUARD)
    assert "CannotTrash" in result.errors
    assert await cluster.streams.items("app") == [str(new.digest), str(old.digest)]
    assert await cluster.shelf.pullable(f"images/app@{old.digest}")
