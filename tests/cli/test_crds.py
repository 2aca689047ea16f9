"""`lading crds`: printed, and applied without touching a kind of another owner."""

from pathlib import Path

import yaml

from lading.adapters.clock import SystemClock
from lading.adapters.kube import connect
from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.definitions import OWNER, OWNER_LABEL
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SET
from lading.embedded import api_server
from lading.wiring.features import DEFINITIONS
from tests import command


async def test_they_are_printed_except_a_kind_that_another_project_installs_too() -> None:
    result = await command.lading("crds")
    names = {one["metadata"]["name"] for one in yaml.safe_load_all(result.output)}
    assert names == {one.name for one in DEFINITIONS} - {"settings.longhorn.io"}


async def test_they_are_installed_and_one_of_another_owner_is_left_as_it_is(tmp_path: Path) -> None:
    foreign = PINNED_IMAGE_SET.manifest()
    foreign["metadata"]["labels"] = {OWNER_LABEL: "machine-config-operator"}
    async with api_server.serve(tmp_path, SystemClock()) as api:
        connection = connect.find({}, file=api.kubeconfig)
        async with connect.connect(connection, SystemClock()) as kube:
            await kube.create(CUSTOM_RESOURCE_DEFINITIONS, foreign)
            before = await kube.get(CUSTOM_RESOURCE_DEFINITIONS, PINNED_IMAGE_SET.name)
            for outcome in ("installed", "unchanged"):  # an upgrade is the same command
                result = await command.lading(
                    "crds", "--apply", "--kubeconfig", str(api.kubeconfig)
                )
                assert result.code == 0
                assert f"Warning: {PINNED_IMAGE_SET.name} belongs to another owner" in result.errors
                assert result.output.splitlines() == [
                    f"{one.name}: {outcome}" for one in DEFINITIONS if one is not PINNED_IMAGE_SET
                ]
            found = {
                one.name: await kube.get(CUSTOM_RESOURCE_DEFINITIONS, one.name)
                for one in DEFINITIONS
            }
    kept = found.pop(PINNED_IMAGE_SET.name)
    assert kept.metadata.resource_version == before.metadata.resource_version
    assert {one.metadata.labels[OWNER_LABEL] for one in found.values()} == {OWNER}
