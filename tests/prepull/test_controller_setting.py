"""The Setting as people edit it: every usual way works, and an invalid value changes nothing."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.longhorn import SETTING, SETTING_NAME, SETTINGS
from lading.kernel import conditions
from lading.ports import kube
from lading.prepull.rules import PRE_PULL_ENABLED
from tests.prepull.clusters import PrePullCluster, opened, playing, running
from tests.prepull.worlds import NAMESPACE, A, B

BODY = {
    "apiVersion": SETTINGS.api_version,
    "kind": SETTINGS.kind,
    "metadata": {"name": SETTING_NAME, "namespace": NAMESPACE},
    "value": "false",
}


@pytest.fixture
async def cluster() -> AsyncIterator[PrePullCluster]:
    async with opened() as one:
        await one.make_node("node-a")
        yield one


async def until_reason(cluster: PrePullCluster, reason: str) -> None:
    """Every Image reports why pre-pulling is on or off."""

    async def is_so() -> bool:
        found = [
            conditions.find(one.status.conditions, PRE_PULL_ENABLED)
            for one in (await cluster.images()).values()
        ]
        return bool(found) and all(one is not None and one.reason == reason for one in found)

    await cluster.until(is_so, f"every Image has the reason {reason}")


async def test_server_side_apply_names_the_controller_and_works_by_force(
    cluster: PrePullCluster,
) -> None:
    async with playing(cluster), running(cluster, ("share-manager", A)):
        await cluster.until_state("deployed")
        with pytest.raises(kube.Conflict, match=r'conflict with "lading-prepull".*\.value'):
            await cluster.kube.apply(SETTINGS, BODY, field_manager="kubectl")
        await cluster.until_state("deployed")
        await cluster.kube.apply(SETTINGS, BODY, field_manager="kubectl", force=True)
        await cluster.until_state("unknown")
        on = {**BODY, "value": "true"}
        await cluster.kube.apply(SETTINGS, on, field_manager="kubectl")
        await cluster.until_state("deployed")


async def test_a_setting_that_was_applied_before_the_controller_came_stands(
    cluster: PrePullCluster,
) -> None:
    await cluster.kube.apply(SETTINGS, BODY, field_manager="kubectl")
    async with playing(cluster), running(cluster, ("share-manager", A)):
        await cluster.until_state("unknown")
        assert await cluster.daemon_set() is None


async def test_a_deleted_setting_is_made_again_with_the_default(cluster: PrePullCluster) -> None:
    async with playing(cluster), running(cluster, ("share-manager", A)):
        await cluster.until_state("deployed")
        await cluster.write_setting("false")
        await cluster.until_state("unknown")
        await cluster.kube.delete(SETTINGS, SETTING_NAME, namespace=NAMESPACE)
        await cluster.until_state("deployed")
        found = await cluster.kube.get(SETTINGS, SETTING_NAME, namespace=NAMESPACE)
        assert found.value == "true"


async def test_without_the_kind_of_the_setting_the_option_decides_until_the_kind_comes(
    cluster: PrePullCluster,
) -> None:
    """The kustomize installation does not have the kind, because Longhorn has it too."""
    await cluster.kube.delete(CUSTOM_RESOURCE_DEFINITIONS, SETTING.name)
    async with playing(cluster), running(cluster, ("share-manager", A)):
        await cluster.until_state("deployed")
        await until_reason(cluster, "SettingRefused")
        (found,) = (await cluster.images()).values()
        enabled = conditions.find(found.status.conditions, PRE_PULL_ENABLED)
        assert enabled is not None
        assert enabled.message.endswith("decides: settings.longhorn.io is not installed")
        await cluster.kube.create(CUSTOM_RESOURCE_DEFINITIONS, SETTING.manifest())

        async def is_written() -> bool:
            try:
                await cluster.create(SETTINGS, SETTING_NAME, value="false")
            except (kube.NotFound, kube.Conflict):
                return False
            return True

        await cluster.until(is_written, "the kind is served")
        await cluster.until_state("unknown")


async def lift_the_rules(cluster: PrePullCluster) -> None:
    """The definition becomes another owner's, which takes any value."""
    manifest: Any = SETTING.manifest()
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    manifest["metadata"]["labels"] = {"app": "another"}
    for version in manifest["spec"]["versions"]:
        version["schema"] = {"openAPIV3Schema": loose}
    await cluster.kube.delete(CUSTOM_RESOURCE_DEFINITIONS, manifest["metadata"]["name"])

    async def is_gone() -> bool:
        try:
            await cluster.kube.get(CUSTOM_RESOURCE_DEFINITIONS, manifest["metadata"]["name"])
        except kube.NotFound:
            return True
        return False

    await cluster.until(is_gone, "the definition is gone")
    await cluster.kube.create(CUSTOM_RESOURCE_DEFINITIONS, manifest)

    async def is_served() -> bool:
        name = manifest["metadata"]["name"]
        return (await cluster.kube.get(CUSTOM_RESOURCE_DEFINITIONS, name)).is_established

    await cluster.until(is_served, "the other definition is served")


@pytest.mark.parametrize(
    ("before", "state", "default"), [("true", "deployed", False), ("false", "unknown", True)]
)
async def test_an_invalid_value_under_a_foreign_definition_changes_nothing(
    cluster: PrePullCluster, before: str, state: str, default: bool
) -> None:
    """Neither at once, nor after a restart, whatever the default."""
    await lift_the_rules(cluster)
    await cluster.create(SETTINGS, SETTING_NAME, value=before)
    listed = ("share-manager", A)
    async with playing(cluster):
        async with running(cluster, listed, default_value=default):
            await cluster.until_state(state)
            made = await cluster.daemon_set()
            await cluster.write_setting("maybe")
            await until_reason(cluster, "SettingInvalid")
            await cluster.until_state(state)
        async with running(cluster, listed, ("other", B), default_value=default):

            async def both_are_there() -> bool:
                return len(await cluster.images()) == 2

            await cluster.until(both_are_there, "the restarted controller works")
            await cluster.until_state(state)
            await until_reason(cluster, "SettingInvalid")
    after = await cluster.daemon_set()
    assert (made and made.metadata.uid) == (after and after.metadata.uid)
    assert (after is not None) == (state == "deployed")
