"""`lading image pull`: credentials, policies, and one sentence for an error."""

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.image.builders import LAYERS, guarded, handlers
from tests.cli.image.conftest import Run
from tests.runtime_images.conftest import Stand


async def test_pull_brings_the_image_of_the_runtime_class(run: Run, stand: Stand) -> None:
    tag = await stand.publisher.index("team/app:1", LAYERS)
    pulled = await run("pull", tag, "--runtime", "handler:arm")
    assert pulled.code == 0
    assert pulled.output.startswith("Image is up to date for sha256:455a1a2efccc6")
    assert await handlers(stand) == ["arm"]


async def test_pull_shows_the_registry_what_the_kubelets_plugin_knows(
    run: Run, stand: Stand
) -> None:
    async with guarded(stand) as app:
        refused = await run("pull", str(app))
        pulled = await run(
            "pull", str(app), *plugin_options(stand.folder / "plugins", str(app.registry))
        )
    assert refused.code == 1
    assert "REGISTRY_AUTH_FILE" in refused.errors
    assert pulled.code == 0
    assert len(await stand.runtime.images()) == 1


async def test_pull_shows_the_registry_what_a_mounted_pull_secret_says(
    run: Run, stand: Stand
) -> None:
    async with guarded(stand) as app:
        secret = {app.registry: {"username": "carol", "password": "right"}}
        (stand.folder / ".dockercfg").write_text(json.dumps(secret))
        pulled = await run("pull", str(app), "--pull-secrets", str(stand.folder))
    assert pulled.code == 0, pulled.errors
    assert len(await stand.runtime.images()) == 1


def plugin_options(folder: Path, host: str) -> tuple[str, ...]:
    """A plugin with one credential, as the kubelet would be given it."""
    folder.mkdir()
    answer = {
        "kind": "CredentialProviderResponse",
        "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
        "cacheKeyType": "Registry",
        "auth": {host: {"username": "carol", "password": "right"}},
    }
    plugin = folder / "plugin"
    plugin.write_text(f"#!/bin/sh\necho '{json.dumps(answer)}'\n")
    plugin.chmod(0o755)
    provider = {
        "name": "plugin",
        "matchImages": [host],
        "defaultCacheDuration": "1h",
        "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
    }
    config = folder / "config.yaml"
    document = {"apiVersion": "kubelet.config.k8s.io/v1", "providers": [provider]}
    config.write_text(yaml.safe_dump(document))
    return (
        "--image-credential-provider-config", str(config),
        "--image-credential-provider-bin-dir", str(folder),
    )  # fmt: skip


async def test_a_plugin_configuration_without_its_folder_is_a_usage_error(
    run: Run, stand: Stand
) -> None:
    config, path, *_ = plugin_options(stand.folder / "plugins", "example.test")
    refused = await run("pull", "app", config, path)
    assert refused.code == 2
    assert "belong together" in refused.errors


async def test_an_unknown_word_for_the_policy_is_a_usage_error(run: Run, tag: str) -> None:
    refused = await run("pull", tag, "--policy", "Sometimes")
    assert refused.code == 2
    assert "'Always', 'IfNotPresent', 'Never'" in refused.errors


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("team/app:2", (), "Check the name and the tag"),
        ("team/app:1", ("--runtime", "handler:riscv"), "known: arm, wcow-2019"),
        ("team/app:1", ("--runtime", "handler:wcow-2019"), "the index offers linux/amd64"),
        ("team/app:1", ("--runtime", "arm"), "--runtime handler:NAME"),
        ("team/other:1", ("--policy", "Never"), "the pull policy is Never"),
    ],
)
async def test_a_pull_that_cannot_be_ends_in_one_sentence_with_the_next_step(
    run: Run, stand: Stand, tag: str, name: str, arguments: tuple[str, ...], sentence: str
) -> None:
    failed = await run("pull", f"{stand.publisher.host}/{name}", *arguments)
    assert failed.code == 1
    assert failed.output == ""
    assert failed.errors.startswith("Error: ")
    assert failed.errors.count("\n") == 1
    assert sentence in failed.errors
