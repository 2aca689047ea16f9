"""`lading image pull`: credentials, progress, and one sentence for an error."""

import asyncio
import json
import os
import pty
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from lading.cli.image import pull
from lading.cli.image.pull import Pulling
from lading.cli.terminal import Step
from lading.embedded import sample_images
from lading.kernel import references
from lading.kernel.values import replace
from lading.ports.node import Space
from tests.cli.image.builders import LAYERS, guarded, handlers
from tests.cli.image.conftest import Run
from tests.runtime_images.conftest import Stand

IMAGE = references.parse("quay.io/app:1")
MIB = 1024**2


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


@pytest.mark.parametrize(
    ("words", "typed"), [(("--creds", "carol:right"), ""), (("--creds", "-"), "carol:right\n")]
)
async def test_pull_takes_a_credential_of_the_command_line_or_of_standard_input(
    run: Run, stand: Stand, words: tuple[str, ...], typed: str
) -> None:
    async with guarded(stand) as app:
        assert (await run("pull", str(app), *words, typed=typed)).code == 0


async def test_a_malformed_credential_is_not_shown(run: Run, tag: str) -> None:
    refused = await run("pull", tag, "--creds", ":hunter2")
    assert refused.code == 2
    assert "expected USER[:PASSWORD]" in refused.errors
    assert "hunter2" not in refused.errors


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("team/app:2", (), "Check the name and the tag"),
        ("team/app:1", ("--runtime", "handler:riscv"), "known: arm, wcow-2019"),
        ("team/app:1", ("--runtime", "handler:wcow-2019"), "the index offers linux/amd64"),
        ("team/app:1", ("--runtime", "arm"), "--runtime handler:NAME"),
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


def test_the_bar_follows_the_disk_and_is_never_full_before_the_end() -> None:
    half = pull.step(IMAGE, 50 * MIB, 100 * MIB)
    text = "50 MiB of about 100 MiB, quay.io/app:1"
    assert half == Step(text, done=50 * MIB, total=100 * MIB)
    assert pull.step(IMAGE, 300 * MIB, 100 * MIB).done == 95 * MIB


def test_without_a_size_there_is_no_bar() -> None:
    assert pull.step(IMAGE, 1000, None) == Step("pulling quay.io/app:1, 1000 B more on disk")


@dataclass(frozen=True, slots=True)
class OneDisk:
    """Whatever path is asked for lies on it."""

    found: Space | None

    async def space(self, path: str) -> Space | None:
        return self.found


async def test_what_is_taken_is_asked_of_the_disk_unless_the_runtime_counts_well(
    stand: Stand,
) -> None:
    pulling = Pulling(
        image=IMAGE,
        platform=sample_images.LINUX_AMD64,
        for_guest=False,
        registry=stand.registry,
        runtime=stand.runtime,
        disk=OneDisk(Space(capacity_bytes=1000, available_bytes=400)),
    )
    (usage,) = (await stand.runtime.filesystems()).images
    assert await pull.occupied_bytes(pulling, is_embedded=False) == 600
    assert await pull.occupied_bytes(pulling, is_embedded=True) == usage.used_bytes
    elsewhere = replace(pulling, disk=OneDisk(None))
    assert await pull.occupied_bytes(elsewhere, is_embedded=False) == usage.used_bytes


async def test_a_terminal_shows_that_the_image_is_pulled_and_then_only_the_result(
    stand: Stand,
) -> None:
    sample = sample_images.image([{"file": sample_images.noise("large", 3_000_000)}])
    tag = references.parse(f"{stand.publisher.host}/large:1")
    await sample_images.push(stand.registry, tag, sample)
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "from lading.cli.main import main; main()",
        "image", "pull", str(tag), "--state-dir", str(stand.folder),
        stdout=asyncio.subprocess.PIPE, stderr=theirs,
        env={**os.environ, "CONTAINER_RUNTIME_ENDPOINT": stand.endpoint,
             "HOME": str(stand.folder)},
    )  # fmt: skip
    os.close(theirs)
    output, _ = await process.communicate()
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert process.returncode == 0
    assert b"Image is up to date" in output
    assert re.search(r"pulling|of about 2.86 MiB", shown)
    assert shown.endswith("\x1b[2K"), "the line is gone when the pull is over"
