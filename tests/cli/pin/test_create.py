"""`lading pin create`, as a person runs it, with a registry and a cluster."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.core import NAMESPACES, PODS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.embedded import api_server
from lading.installation import apply as installation
from lading.pinned_images.authoring import release_payload
from lading.wiring.features import DEFINITIONS
from tests.command import CommandResult, lading
from tests.pinned_images.served_registry import ServedRegistry, served

__all__ = ["served"]
DIGEST = f"sha256:{'1' * 64}"


def images_of(document: dict[str, Any]) -> list[str]:
    return [image["name"] for image in document["spec"]["pinnedImages"]]


async def created(*words: str, text: str | None = None) -> CommandResult:
    return await lading("pin", "create", "mine", *words, text=text)


async def test_a_set_comes_from_arguments_a_list_and_manifests(
    served: ServedRegistry, tmp_path: Path
) -> None:
    wanted = [await served.push(f"app{number}:v1") for number in range(3)]
    listed = tmp_path / "images.txt"
    listed.write_text(f"{served.host}/app1:v1\n{served.host}/app0:v1\n")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {"containers": [{"name": "c", "image": f"{served.host}/app2:v1"}]},
    }
    found = await created(
        f"{served.host}/app0:v1", "-f", str(listed), "-f", "-", "--role", "infra",
        text=yaml.safe_dump(pod),
    )  # fmt: skip
    assert found.code == 0, found.errors
    made = yaml.safe_load(found.output)
    assert images_of(made) == sorted(wanted)
    assert made["metadata"]["labels"] == {"machineconfiguration.openshift.io/role": "infra"}
    assert (made["kind"], made["metadata"]["name"]) == ("PinnedImageSet", "mine")


async def test_an_image_that_is_not_resolved_ends_the_command(
    served: ServedRegistry,
) -> None:
    await served.push("app:v1")
    found = await created(f"{served.host}/app:v1", "-f", "-", text=f"{served.host}/app:gone\n")
    assert (found.code, found.output) == (1, "")
    assert f"{served.host}/app:gone (standard input): not found in the registry" in found.errors
    assert "1 image could not be resolved; no set is made" in found.errors


async def test_more_than_500_images_become_several_sets() -> None:
    names = "".join(f"example.com/app@sha256:{number:064x}\n" for number in range(501))
    found = await created("-f", "-", text=names + names)
    assert found.code == 0, found.errors
    first, second = yaml.safe_load_all(found.output)
    assert (len(images_of(first)), len(images_of(second))) == (500, 1)
    as_json = json.loads((await created("-f", "-", "-o", "json", text=names)).output)
    assert [one["metadata"]["name"] for one in as_json["items"]] == ["mine", "mine-2"]


async def test_a_release_brings_its_images(served: ServedRegistry) -> None:
    etcd = f"quay.io/openshift/etcd@{DIGEST}"
    stream = {
        "kind": "ImageStream",
        "spec": {"tags": [{"name": "etcd", "from": {"kind": "DockerImage", "name": etcd}}]},
    }
    content = {release_payload.IMAGE_REFERENCES: json.dumps(stream).encode()}
    release = await served.push("release:4.20", [content])
    found = await created("--from-release", f"{served.host}/release:4.20")
    assert found.code == 0, found.errors
    assert images_of(yaml.safe_load(found.output)) == sorted([etcd, release])


async def run_pod(kube: KubeClient, namespace: str, name: str, image_id: str) -> None:
    await kube.create(
        PODS,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"containers": [{"name": "c", "image": "example.com/moved:latest"}]},
        },
        namespace=namespace,
    )
    status = {
        "phase": "Running",
        "containerStatuses": [
            {
                "name": "c", "imageID": image_id, "image": "", "ready": True,
                "restartCount": 0,
            }
        ],
    }  # fmt: skip
    await kube.patch(PODS, name, {"status": status}, namespace=namespace, subresource="status")


async def test_the_pods_of_a_cluster_count_by_the_digests_that_run(
    tmp_path: Path,
) -> None:
    async with api_server.serve(tmp_path / "api", SystemClock()) as api:
        kube = KubeClient(api.exchange)
        await installation.install(kube, SystemClock(), DEFINITIONS)
        await kube.create(NAMESPACES, {"metadata": {"name": "shop"}})
        web, job = f"example.com/web@{DIGEST}", f"example.com/job@{DIGEST}"
        await run_pod(kube, "default", "web", web)
        await run_pod(kube, "shop", "job", job)
        where = ("--from-cluster", f"--kubeconfig={api.kubeconfig}")
        for words, expected in (
            ((), [job, web]),
            (("-n", "shop"), [job]),
            (("-n", "shop,default"), [job, web]),
            (("-l", "app=web"), [web]),
        ):
            found = await created(*where, *words)
            assert found.code == 0, found.errors
            assert images_of(yaml.safe_load(found.output)) == expected
        for done in ("created", "unchanged"):
            applied = await created(*where, "--apply")
            assert applied.output == f"pinnedimageset/mine {done}\n"
        stored = await kube.get(PINNED_IMAGE_SETS, "mine")
        assert [image.name for image in stored.spec.pinned_images] == [job, web]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ((), "write the images after NAME"),
        (("-l", "a=b", "busybox"), "it needs --from-cluster"),
        (("--role", "a/b", "busybox"), "is not a valid role"),
    ],
)
async def test_a_command_line_without_sense_is_refused(words: tuple[str, ...], error: str) -> None:
    found = await created(*words)
    assert found.code in (1, 2)
    assert error in found.errors
