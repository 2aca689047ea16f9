"""The generated definitions on a real API server: accepted, served, explained, round-tripped."""

import json
import time
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.definitions import Definition
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SET
from lading.installation import apply as installation
from lading.kernel.values import replace
from lading.wiring import clusters
from lading.wiring.features import DEFINITIONS
from tests.deploy import manifests
from tests.real.bed.api_server import ApiServer

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
PUBLISHED_SECONDS_MAX = 90.0
DIGEST = "sha256:" + "a" * 64
KINDS = pytest.mark.parametrize("definition", DEFINITIONS, ids=[one.kind for one in DEFINITIONS])


@pytest.fixture(scope="module")
def server(api_server: ApiServer) -> ApiServer:
    """The definitions stay: nothing else uses this server for them, and it ends with the run."""
    for file in (CRDS, manifests.SETTING):
        api_server.kubectl("apply", "--server-side", "-f", str(file))
    return api_server


async def test_a_kind_that_the_server_does_not_have_yet_is_installed(
    api_server: ApiServer,
) -> None:
    """The first answer about a new definition has `conditions: null`; a second run changes it."""
    new = replace(PINNED_IMAGE_SET, group="installed.example.com", short_names=())
    connection = clusters.find({}, file=api_server.kubeconfig_path)
    async with clusters.open_client(connection, SystemClock()) as kube:
        for _ in range(2):
            await installation.install(kube, SystemClock(), (new,), established_seconds_max=90)
            assert (await kube.get(CUSTOM_RESOURCE_DEFINITIONS, new.name)).is_established
        await kube.delete(CUSTOM_RESOURCE_DEFINITIONS, new.name)


@KINDS
def test_it_is_established_and_structural(server: ApiServer, definition: Definition) -> None:
    server.kubectl("wait", "--for=condition=Established", "--timeout=90s", f"crd/{definition.name}")
    found = json.loads(server.kubectl("get", "crd", definition.name, "-o", "json"))
    conditions = {one["type"]: one["status"] for one in found["status"]["conditions"]}
    assert conditions["NamesAccepted"] == "True"
    assert conditions.get("NonStructuralSchema", "False") == "False"
    assert [one["name"] for one in found["spec"]["versions"]] == list(definition.versions)


@KINDS
def test_explain_reads_well(server: ApiServer, definition: Definition) -> None:
    field = "spec" if "spec" in definition.schema()["properties"] else "value"
    text = explained(server, f"{definition.plural}.{field}")
    assert "<empty>" not in text
    assert definition.kind in text


def explained(server: ApiServer, what: str) -> str:
    """The schemas of a new definition are published some seconds after it is established."""
    deadline = time.monotonic() + PUBLISHED_SECONDS_MAX
    while True:
        try:
            return server.kubectl("explain", what)
        except AssertionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def pinned_image_set(version: str, name: str) -> str:
    return json.dumps(
        {
            "apiVersion": f"machineconfiguration.openshift.io/{version}",
            "kind": "PinnedImageSet",
            "metadata": {"name": name},
            "spec": {"pinnedImages": [{"name": f"quay.io/a/b/c@{DIGEST}"}]},
        }
    )


def test_the_served_versions_are_one_object(server: ApiServer) -> None:
    server.kubectl("apply", "-f", "-", stdin=pinned_image_set("v1alpha1", "round-trip"))
    plural = "pinnedimagesets.{}.machineconfiguration.openshift.io"
    specs = [
        json.loads(server.kubectl("get", plural.format(version), "round-trip", "-o", "json"))
        for version in ("v1alpha1", "v1")
    ]
    assert specs[0]["spec"] == specs[1]["spec"]
    assert specs[0]["apiVersion"].endswith("/v1alpha1")
    assert specs[1]["apiVersion"].endswith("/v1")


def test_a_set_of_five_hundred_long_names_stays_within_the_cost_limits(server: ApiServer) -> None:
    host = "registry.example.com:5000"
    path = "/".join(["a" * 50] * 6)
    images = [{"name": f"{host}/{path}/{number:04}@{DIGEST}"} for number in range(500)]
    document = json.loads(pinned_image_set("v1", "large"))
    document["spec"]["pinnedImages"] = images
    server.kubectl("create", "-f", "-", stdin=json.dumps(document))
    found = json.loads(server.kubectl("get", "pis", "large", "-o", "json"))
    assert len(found["spec"]["pinnedImages"]) == 500
