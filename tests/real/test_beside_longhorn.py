"""Lading and Longhorn install the same kind, in both orders: Longhorn's Settings stay writable.

The definition is written for this test. It has the names, the required fields and the labels of
Longhorn's own one.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from lading.adapters.clock import SystemClock
from lading.api.longhorn import SETTING
from lading.installation import apply as installation
from lading.wiring import clusters
from lading.wiring.features import DEFINITIONS
from tests.deploy import manifests
from tests.deploy.manifests import DEPLOY
from tests.real.bed import api_server, sandbox
from tests.real.bed.api_server import ApiServer

pytestmark = pytest.mark.components("kube")
NAMES = {"kind": "Setting", "listKind": "SettingList", "plural": "settings", "singular": "setting"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["value"],
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "value": {"type": "string", "description": "What the operator of the storage reads."},
        "status": {
            "type": "object",
            "required": ["applied"],
            "properties": {"applied": {"type": "boolean"}},
        },
    },
}
LONGHORN = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": SETTING.name,
        "labels": {"app.kubernetes.io/name": "longhorn", "longhorn-manager": ""},
    },
    "spec": {
        "group": "longhorn.io",
        "names": {**NAMES, "shortNames": ["lhs"]},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1beta2",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": SCHEMA},
                "subresources": {"status": {}},
            }
        ],
    },
}
ON_SERVER = ("--server-side", "--force-conflicts")


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with sandbox.sandbox() as place:
        yield api_server.start(place)


def apply(server: ApiServer, what: object, *options: str) -> None:
    server.kubectl("apply", "-f", "-", *options, stdin=json.dumps(what))
    server.kubectl("wait", "--for=condition=Established", f"crd/{SETTING.name}", "--timeout=90s")


def definition(server: ApiServer) -> tuple[Any, Any]:
    found = json.loads(server.kubectl("get", "crd", SETTING.name, "--output=json"))
    return found["metadata"]["labels"], found["spec"]


def write_settings(server: ApiServer, *names: str) -> None:
    """As Longhorn does: values of any form, and the status apart from them."""
    for name in names:
        value = json.dumps({"v1": name, "v2": "3" * 100})
        setting = {
            "apiVersion": "longhorn.io/v1beta2",
            "kind": "Setting",
            "metadata": {"name": name, "namespace": "default"},
            "value": value,
        }
        server.kubectl("create", "-f", "-", stdin=json.dumps(setting))
        applied = '--patch={"status": {"applied": true}}'
        which = ("settings.longhorn.io", name)
        server.kubectl("patch", *which, "--type=merge", "--subresource=status", applied)
        found = json.loads(server.kubectl("get", *which, "--output=json"))
        assert (found["value"], found["status"]) == (value, {"applied": True})


async def install_with_lading(server: ApiServer) -> tuple[str, ...]:
    """What `lading crds --apply` and the chart do."""
    connection = clusters.find({}, file=server.kubeconfig_path)
    async with clusters.open_client(connection, SystemClock()) as kube:
        found = await installation.install(
            kube, SystemClock(), DEFINITIONS, established_seconds_max=90
        )
    return found.foreign


@pytest.mark.parametrize("options", [(), ON_SERVER], ids=["client-side", "server-side"])
async def test_lading_that_comes_later_does_not_change_longhorn_s_kind(
    server: ApiServer, options: tuple[str, ...]
) -> None:
    apply(server, LONGHORN, *options)
    before = definition(server)
    server.kubectl("apply", "--server-side", "-k", str(DEPLOY))
    (foreign,) = await install_with_lading(server)
    assert foreign == f"{SETTING.name} belongs to another owner and is not changed"
    assert definition(server) == before
    write_settings(server, "default-replica-count", "start-pre-pull-manager-images")


@pytest.mark.parametrize("options", [(), ON_SERVER], ids=["client-side", "server-side"])
async def test_longhorn_that_comes_later_has_its_kind_and_keeps_it(
    server: ApiServer, options: tuple[str, ...]
) -> None:
    """`kubectl apply` keeps Lading's label; it is Longhorn's definition all the same."""
    server.kubectl("apply", "--server-side", "-k", str(DEPLOY))
    assert await install_with_lading(server) == ()
    write_settings(server, "before", "default-replica-count")
    apply(server, LONGHORN, *options)
    after = definition(server)
    assert after[1]["versions"][0]["schema"]["openAPIV3Schema"]["required"] == ["value"]
    (foreign,) = await install_with_lading(server)
    assert foreign.startswith(SETTING.name)
    assert definition(server) == after
    write_settings(server, "after")


def test_the_optional_folder_of_the_kind_lets_longhorn_write_its_settings(
    server: ApiServer,
) -> None:
    server.kubectl("apply", "--server-side", "-f", str(manifests.SETTING))
    server.kubectl("wait", "--for=condition=Established", f"crd/{SETTING.name}", "--timeout=90s")
    write_settings(server, "default-replica-count")
