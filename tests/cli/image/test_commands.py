"""What a person reads and a script gets: output, streams and exit codes."""

import json
import re
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.node import RUNTIME_CLASSES
from lading.kernel import references
from lading.kernel.references import Reference
from lading.ports.cri import Container, ContainerState, ImageSpec
from lading.ports.registry import Credential
from lading.runtime_images.types import DigestPull
from lading.servers.registry import server as registry_server
from lading.servers.registry.access import Passwords
from lading.standalone import api_server, sample_images
from tests.cli.image.conftest import GATE, Run
from tests.runtime_images.conftest import Stand

LAYERS = {
    "linux/amd64": [sample_images.noise("host", size_bytes=100_000)],
    "linux/arm64": [sample_images.noise("guest", size_bytes=2_000_000)],
}
AT_ONCE = ("--all", "--minimum-age", "0s")


@pytest.fixture
async def tag(stand: Stand) -> str:
    """An image of two platforms in the registry, and on the node for the host and for `arm`."""
    tag = await stand.publisher.index("team/app:1", LAYERS)
    for handler in ("", "arm"):
        await stand.runtime.pull(ImageSpec(image=tag, runtime_handler=handler))
    return tag


def golden(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


async def handlers(stand: Stand) -> list[str]:
    return sorted(image.runtime_handler for image in await stand.runtime.images())


async def arm_image_id(stand: Stand) -> str:
    (arm,) = [image for image in await stand.runtime.images() if image.runtime_handler]
    return arm.id


def declare_in_use(stand: Stand, image_id: str) -> None:
    spec = ImageSpec(image=image_id, runtime_handler="arm")
    running = ContainerState.RUNNING
    web = Container(id="1", name="web", state=running, image=spec, image_id=image_id)
    stand.embedded.declare_containers([web])


async def test_ls_shows_a_line_for_each_tag_and_runtime_class(run: Run, tag: str) -> None:
    assert (await run("ls")).output == golden("""
        IMAGE                      TAG   IMAGE ID        SIZE    RUNTIME CLASS
        registry.local/team/app   1     33eac18b1ca64   101kB   <default>
        registry.local/team/app   1     455a1a2efccc6   2MB     handler:arm
    """)


async def test_ls_shows_digests_pins_and_whole_ids_when_asked(
    run: Run, stand: Stand, tag: str
) -> None:
    (digest,) = {image.repo_digests[0].partition("@")[2] for image in await stand.runtime.images()}
    shown = await run("ls", "--digests", "--pinned", "--runtime", "handler:arm")
    headers, cells = (re.split(r" {3,}", line) for line in shown.output.splitlines())
    assert dict(zip(headers, cells, strict=True)) == {
        "IMAGE": "registry.local/team/app",
        "TAG": "1",
        "DIGEST": digest.removeprefix("sha256:")[:13],
        "IMAGE ID": "455a1a2efccc6",
        "SIZE": "2MB",
        "PINNED": "false",
        "RUNTIME CLASS": "handler:arm",
    }
    whole = await run("ls", "-q", "--runtime", "handler:arm")
    assert whole.output.startswith("sha256:455a1a2efccc6")
    assert whole.output.strip() in (await run("ls", "--no-trunc")).output


async def test_ls_filters_by_repository_and_by_tag(run: Run, tag: str) -> None:
    repository = tag.rpartition(":")[0]
    for asked, count in ((repository, 2), (tag, 2), (f"{repository}:2", 0)):
        assert len((await run("ls", "-q", asked)).output.splitlines()) == count


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        (("dangling=true",), 0),
        (("dangling=false",), 2),
        (("reference=/team/a.p/",), 2),
        (("reference=^team",), 0),
        (("dangling=false", "reference=sha256:"), 2),
    ],
)
async def test_ls_takes_crictls_filters(
    run: Run, tag: str, wanted: tuple[str, ...], count: int
) -> None:
    options = [word for one in wanted for word in ("--filter", one)]
    assert len((await run("ls", "-q", *options)).output.splitlines()) == count


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("since=app:1", "the runtime does not report when an image was pulled"),
        ("dangling=perhaps", "expected dangling=true|false or reference=REGEXP"),
        ("reference=[", "not a regular expression"),
    ],
)
async def test_a_filter_that_means_nothing_is_a_usage_error(
    run: Run, tag: str, wanted: str, said: str
) -> None:
    refused = await run("ls", "-f", wanted)
    assert refused.code == 2
    assert said in refused.errors


async def test_json_and_yaml_say_the_same_in_crictls_words(run: Run, tag: str) -> None:
    document = json.loads((await run("ls", "-o", "json")).output)
    default, arm = document["images"]
    assert 100_000 < int(default["size"]) < 102_000
    assert isinstance(default["size"], str), "64-bit numbers are text in protobuf's JSON"
    assert "spec" not in default
    assert arm["spec"]["runtimeHandler"] == "arm"
    assert yaml.safe_load((await run("ls", "-o", "yaml")).output) == document


async def test_with_the_gate_off_no_runtime_class_is_seen_or_taken(run: Run, tag: str) -> None:
    assert "handler:arm" not in (await run("ls", gate=False)).output
    refused = await run("pull", tag, "--runtime", "handler:arm", gate=False)
    assert refused.code == 2
    assert f"--feature-gates {GATE}" in refused.errors


async def test_pull_brings_the_image_of_the_runtime_class(run: Run, stand: Stand) -> None:
    tag = await stand.publisher.index("team/app:1", LAYERS)
    pulled = await run("pull", tag, "--runtime", "handler:arm")
    assert pulled.code == 0
    assert pulled.output.startswith("Image is up to date for sha256:455a1a2efccc6")
    assert await handlers(stand) == ["arm"]


async def test_a_runtime_class_of_the_cluster_may_be_named(
    run: Run, stand: Stand, tag: str
) -> None:
    async with api_server.serve(stand.folder / "api", SystemClock(), port=0) as api:
        body = {"metadata": {"name": "arm-guests"}, "handler": "arm"}
        await KubeClient(api.exchange).create(RUNTIME_CLASSES, body)
        named = ("--kubeconfig", str(api.kubeconfig), "--runtime")
        shown = await run("ls", "-q", *named, "arm-guests")
        missing = await run("ls", "-q", *named, "kata")
    assert shown.output.startswith("sha256:455a1a2efccc6")
    assert (missing.code, missing.output) == (1, "")
    assert "no RuntimeClass 'kata'" in missing.errors


async def test_ls_shows_the_names_of_the_classes_where_the_cluster_knows_them(
    run: Run, stand: Stand, tag: str
) -> None:
    async with api_server.serve(stand.folder / "api", SystemClock(), port=0) as api:
        body = {"metadata": {"name": "arm-guests"}, "handler": "arm"}
        await KubeClient(api.exchange).create(RUNTIME_CLASSES, body)
        shown = await run("ls", "--kubeconfig", str(api.kubeconfig))
    assert re.findall(r"(\S+)\n", shown.output) == ["CLASS", "<default>", "arm-guests"]
    unreachable = await run("ls", "--kubeconfig", str(api.kubeconfig))
    assert "handler:arm" in unreachable.output


async def test_a_table_of_the_machine_may_name_the_classes(
    run: Run, stand: Stand, tag: str
) -> None:
    table = stand.folder / "guest-platforms.toml"
    table.write_text('[runtimes.arm]\nruntime_class_names = ["arm-guests", "slow"]\n')
    shown = await run("ls", "--runtime", "slow")
    assert re.findall(r"(\S+)\n", shown.output) == ["CLASS", "arm-guests,slow"]
    assert "arm-guests,slow" in (await run("gc")).output


@asynccontextmanager
async def guarded(stand: Stand) -> AsyncIterator[Reference]:
    """An image that only carol may pull."""
    guard = Passwords({"carol": "right"})
    async with registry_server.serve(stand.folder / "guarded", guard=guard) as url:
        app = references.parse(f"{url.removeprefix('http://')}/team/app:1")
        allowed = stand.registry.with_credential(Credential(username="carol", password="right"))
        await sample_images.push(allowed, app, sample_images.image([{"file": b"content"}]))
        yield app


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


@pytest.mark.parametrize(
    ("arguments", "typed"),
    [
        (("--creds", "carol:right"), ""),
        (("--auth", "Y2Fyb2w6cmlnaHQ="), ""),
        (("--creds", "-"), "carol:right\n"),
    ],
)
async def test_pull_shows_the_registry_what_is_given_with_it(
    run: Run, stand: Stand, arguments: tuple[str, ...], typed: str
) -> None:
    async with guarded(stand) as app:
        pulled = await run("pull", str(app), *arguments, typed=typed)
    assert pulled.code == 0, pulled.errors
    assert len(await stand.runtime.images()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--creds", "a:secret", "--auth", "c2VjcmV0OmI="), "give one of them"),
        (("--creds", ":secret"), "--creds: expected USER[:PASSWORD]"),
        (("--auth", "no secret"), "--auth: expected USER[:PASSWORD] in base64"),
    ],
)
async def test_a_credential_that_cannot_be_read_is_a_usage_error_that_does_not_show_it(
    run: Run, arguments: tuple[str, ...], said: str
) -> None:
    refused = await run("pull", "app", *arguments)
    assert refused.code == 2
    assert said in refused.errors
    assert "secret" not in refused.errors


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
        ("team/app:2", (), "check the name and the tag"),
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


async def test_images_are_asked_of_the_image_service_where_there_is_one(
    run: Run, stand: Stand, tag: str
) -> None:
    apart = ("--runtime-endpoint", "unix:///nowhere.sock", "--image-endpoint", stand.endpoint)
    assert len((await run("ls", "-q", *apart)).output.splitlines()) == 2
    unknown_use = await run("gc", *AT_ONCE, "--yes", *apart)
    assert unknown_use.code == 1
    assert await handlers(stand) == ["", "arm"]


async def test_a_runtime_that_does_not_answer_is_said_to_be_so(run: Run) -> None:
    failed = await run("ls", "--runtime-endpoint", "unix:///nowhere.sock")
    assert failed.code == 1
    assert "is the runtime running" in failed.errors


async def test_inspect_shows_the_guest_and_misses_what_is_not_there(run: Run, tag: str) -> None:
    shown = json.loads((await run("inspect", tag, "--runtime", "handler:arm")).output)
    assert shown["status"]["spec"]["runtimeHandler"] == "arm"
    assert shown["info"]["guestPlatform"] == "linux/arm64"
    missing = await run("inspect", f"{tag}x")
    assert (missing.code, missing.output) == (1, "")
    assert "no such image" in missing.errors


async def test_fsinfo_counts_the_bytes_of_the_images(run: Run, tag: str) -> None:
    (usage,) = json.loads((await run("fsinfo")).output)["status"]["imageFilesystems"]
    assert int(usage["usedBytes"]["value"]) > 2_100_000
    assert "2.1" in (await run("fsinfo", "-o", "table")).output


async def test_rm_removes_for_one_runtime_class_only(run: Run, stand: Stand, tag: str) -> None:
    removed = await run("rm", tag, "--runtime", "handler:arm")
    assert (removed.code, removed.output) == (0, "Deleted: registry.local/team/app:1\n")
    assert await handlers(stand) == [""]


async def test_rm_all_removes_every_image_of_the_class_that_nobody_needs(
    run: Run, stand: Stand, tag: str
) -> None:
    await stand.runtime.pull(ImageSpec(image=await stand.publisher.index("team/b:1", LAYERS)))
    removed = await run("rm", "--all")
    assert (removed.code, len(removed.output.splitlines())) == (0, 2)
    assert await handlers(stand) == ["arm"]
    assert (await run("rm", "-a", "--runtime", "handler:arm")).code == 0
    assert await handlers(stand) == []


async def test_rm_all_fails_on_what_is_needed_and_rm_prune_only_says_so(
    run: Run, stand: Stand, tag: str
) -> None:
    declare_in_use(stand, await arm_image_id(stand))
    for option, code, word in (("--all", 1, "Error"), ("--prune", 0, "Kept")):
        refused = await run("rm", option, "--runtime", "handler:arm")
        assert (refused.code, refused.output) == (code, "")
        assert refused.errors.startswith(f"{word}: registry.local/team/app:1 is needed: run by")
    assert (await run("rm", "-q")).output == "Deleted: registry.local/team/app:1\n"
    assert (await run("rm", "-a", "--force", "--runtime", "handler:arm")).code == 0
    assert await handlers(stand) == []


@pytest.mark.parametrize(
    "arguments", [(), ("--all", "--prune"), ("app:1", "--all"), ("--prune", "--force")]
)
async def test_rm_wants_to_know_exactly_what_to_remove(
    run: Run, stand: Stand, tag: str, arguments: tuple[str, ...]
) -> None:
    assert (await run("rm", *arguments)).code == 2
    assert await handlers(stand) == ["", "arm"]


async def test_an_image_that_is_the_hosts_and_a_classs_is_removed_by_force_only(
    run: Run, stand: Stand, tag: str
) -> None:
    """On runtimes that keep no images by class, where the guests have the host's platform."""
    (host,) = [image for image in await stand.runtime.images() if not image.runtime_handler]
    pull = DigestPull(
        reference=tag, runtime_handler="kata", platform="", pulled=host.repo_digests[0]
    )
    await stand.state.save_digest_pull(pull)
    (row,) = [line for line in (await run("ls")).output.splitlines() if "33eac18b1ca64" in line]
    assert row.endswith("<default>, [handler:kata]")
    refused = await run("rm", tag)
    assert refused.code == 1
    assert refused.errors == (
        "Error: registry.local/team/app:1 is needed: it is here for runtime handler kata;"
        " --force removes it for all\n"
    )
    assert (await run("rm", tag, "--force")).code == 0
    assert await handlers(stand) == ["arm"]
    await stand.runtime.pull(ImageSpec(image=tag))
    assert "handler:kata" not in (await run("ls")).output, "nobody pulled it for kata again"


async def test_rm_goes_on_after_an_image_that_is_not_there(
    run: Run, stand: Stand, tag: str
) -> None:
    removed = await run("rm", f"{tag}x", tag)
    assert removed.code == 1
    assert "no such image" in removed.errors
    assert await handlers(stand) == ["arm"]


async def test_rm_keeps_what_a_container_needs_unless_forced(
    run: Run, stand: Stand, tag: str
) -> None:
    declare_in_use(stand, await arm_image_id(stand))
    remove = ("rm", tag, "--runtime", "handler:arm")
    refused = await run(*remove)
    assert refused.code == 1
    assert "run by container web (running); --force removes it anyway" in refused.errors
    assert await handlers(stand) == ["", "arm"]
    assert (await run(*remove, "--force")).code == 0
    assert await handlers(stand) == [""]


async def test_gc_without_yes_shows_the_plan_and_changes_nothing(
    run: Run, stand: Stand, tag: str
) -> None:
    shown = await run("gc", *AT_ONCE)
    assert shown.output == golden("""
        IMAGE                        RUNTIME CLASS   DECISION   FREES   REASON   BECAUSE
        registry.local/team/app:1   <default>       remove     100kB   Unused   no container uses it
        registry.local/team/app:1   handler:arm     remove     2MB     Unused   no container uses it
    """)
    assert "2 to remove, which frees 2.1MB; add --yes to do it" in shown.errors
    assert await handlers(stand) == ["", "arm"]


async def test_gc_with_yes_removes_what_the_plan_says(run: Run, stand: Stand, tag: str) -> None:
    declare_in_use(stand, await arm_image_id(stand))
    collected = await run("gc", *AT_ONCE, "--yes", "-o", "json")
    reasons = {
        each["runtimeHandler"]: each["reason"] for each in json.loads(collected.output)["verdicts"]
    }
    assert reasons == {"": "Unused", "arm": "InUse"}
    assert await handlers(stand) == ["arm"]


async def test_the_first_gc_of_a_node_only_records_the_images(run: Run, tag: str) -> None:
    shown = await run("gc", "--all", "--yes")
    assert shown.output.count("TooYoung") == 2
    assert "Nothing to remove; the first image is old enough at" in shown.errors


async def test_gc_never_claims_to_have_removed_what_the_gate_hides(
    run: Run, stand: Stand, tag: str
) -> None:
    collected = await run("gc", *AT_ONCE, "--yes", gate=False)
    assert collected.code == 1
    assert collected.errors.count("Deleted:") == 1
    assert "the runtime still lists it" in collected.errors
    assert await handlers(stand) == ["arm"]


async def test_cleanup_removes_what_was_pulled_for_runtime_classes(
    run: Run, stand: Stand, tag: str
) -> None:
    shown = await run("cleanup", gate=False)
    assert "1 to remove" in shown.errors
    assert await handlers(stand) == ["", "arm"]
    assert (await run("cleanup", "--yes", gate=False)).code == 0
    assert await handlers(stand) == [""]


async def test_thresholds_in_the_wrong_order_are_a_usage_error(run: Run) -> None:
    refused = await run("gc", "--low", "90")
    assert refused.code == 2
    assert "--low must not be above --high" in refused.errors
