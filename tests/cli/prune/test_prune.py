"""The prune commands against the embedded API server and registry, from flags to exit codes."""

import asyncio
import importlib.util
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from lading.adapters.kube.transport import NetworkTransport
from lading.adapters.registry.administration import AdministrationClient
from lading.adapters.registry.transport import RegistryCall, Transport
from lading.cli.prune import running
from lading.embedded.registry import server as registry_server
from lading.kernel.references import Reference
from lading.ports.http import Request
from lading.ports.registry import Denied, Unavailable
from lading.web.pruning_plan import PlanReader
from lading.web.views import pruning
from tests import command
from tests.cli.prune import benches
from tests.cli.prune.benches import Bench, pod
from tests.pruning.worlds import PODS, Shelf


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with benches.opened(tmp_path) as opened:
        yield opened


async def three(bench: Bench) -> None:
    for tag in ("old", "keep", "used"):
        await bench.shelf.image(f"team/app:{tag}", layers=[tag.encode()])


async def test_a_dry_run_shows_what_would_go_and_only_reads(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await three(bench)
    methods: set[str] = set()
    send = Transport.send

    async def recorded(transport: Transport, call: RegistryCall) -> Any:
        methods.add(call.method)
        return await send(transport, call)

    exchange = NetworkTransport.__call__

    async def recorded_in_the_cluster(network: NetworkTransport, request: Request) -> Any:
        methods.add(request.method)
        return await exchange(network, request)

    monkeypatch.setattr(Transport, "send", recorded)
    monkeypatch.setattr(NetworkTransport, "__call__", recorded_in_the_cluster)
    result = await bench.lading("images")
    monkeypatch.undo()
    assert result.code == 0, result.errors
    assert result.errors.startswith("Dry run enabled - no modifications will be made.")
    assert "Deleting tag team/app:old (no entry of keepTags matches it)" in result.output
    assert result.output.endswith("Summary: deleted 1 tag(s), deleted 1 manifest(s)\n")
    assert "GET" in methods
    assert methods <= {"GET", "HEAD"}
    assert await bench.shelf.tags("team/app") == {"old", "keep", "used"}
    assert await bench.shelf.admin.catalogue(bench.shelf.host) == ("team/app",)


@pytest.mark.parametrize("flag", ["--confirm", "--confirm=true"])
async def test_a_confirmed_run_deletes_and_restore_brings_back(bench: Bench, flag: str) -> None:
    await three(bench)
    result = await bench.lading("images", flag)
    assert result.code == 0, result.errors
    assert "Summary: deleted 1 tag(s), deleted 1 manifest(s)" in result.output
    assert await bench.shelf.tags("team/app") == {"keep", "used"}
    trash = await bench.lading("trash")
    assert "team/app" in trash.output
    assert max(map(len, trash.output.splitlines())) <= 80
    restored = await bench.lading("restore", f"{bench.shelf.host}/team/app:old")
    assert restored.output == "Restored team/app: old\n", restored.errors
    assert await bench.shelf.pullable("team/app:old")


async def test_a_confirmed_run_in_json_prints_nothing_else(bench: Bench) -> None:
    await three(bench)
    result = await bench.lading("images", "--confirm", "-o", "json")
    assert len(json.loads(result.output)["outcomes"]) == 2


async def test_a_registry_that_forbids_deletions_fails_the_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def forbidden(_client: AdministrationClient, _reference: Reference) -> bool:
        raise Denied("the account may not delete", status=403)

    await three(bench)
    monkeypatch.setattr(AdministrationClient, "delete", forbidden)
    result = await bench.lading("images", "--confirm")
    assert result.code == 1
    assert "Refused: team/app:old" in result.errors
    assert await bench.shelf.tags("team/app") == {"old", "keep", "used"}


async def test_without_a_policy_it_is_said_that_tags_stay(bench: Bench) -> None:
    await three(bench)
    where = [one for one in bench.where if one != "--policy" and not one.endswith("policy.yaml")]
    result = await command.lading("prune", "images", *where)
    assert "2 tags stay because no policy names their repositories" in result.errors


async def test_an_age_that_is_not_known_begins_with_a_confirmed_run(bench: Bench) -> None:
    await three(bench)
    dry = await command.lading("prune", "images", *bench.with_age("1h"))
    assert "their age begins with the first run with --confirm" in " ".join(dry.errors.split())
    done = await command.lading("prune", "images", "--confirm", *bench.with_age("1h"))
    assert "their age begins now" in " ".join(done.errors.split())


async def test_without_an_address_the_option_is_named(bench: Bench) -> None:
    result = await command.lading("prune", "images", *bench.cluster)
    assert result.code == 1
    assert "No registry is known" in result.errors
    assert "--registry-url" in result.errors


async def test_confirm_false_is_a_dry_run(bench: Bench) -> None:
    await three(bench)
    assert (await bench.lading("images", "--confirm=false")).code == 0
    assert await bench.shelf.tags("team/app") == {"old", "keep", "used"}


async def test_a_plan_is_written_and_applied(bench: Bench) -> None:
    await three(bench)
    file = bench.folder / "plan.jsonl"
    result = await bench.lading("plan", "-o", str(file))
    assert result.code == 0, result.errors
    header, *lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert header["registry"] == bench.shelf.host
    assert {line["what"] for line in lines} == {"tag", "manifest"}
    assert "Wrote 2 deletions to" in result.output
    other = await command.lading("prune", "apply", str(file), *bench.with_age("1h"))
    assert other.code == 1, other.errors
    assert "applies any more" in " ".join(other.errors.split())
    left_out = "made with keepYoungerThan 0s, and this run has keepYoungerThan 1h"
    assert left_out in " ".join(other.errors.split())
    assert await bench.shelf.tags("team/app") == {"old", "keep", "used"}
    applied = await bench.lading("apply", str(file), "-o", "json")
    assert applied.code == 0, applied.errors
    results = {one["result"] for one in json.loads(applied.output)["outcomes"]}
    assert results == {"Deleted"}
    assert await bench.shelf.tags("team/app") == {"keep", "used"}


async def test_the_names_of_the_trash_are_whole_at_80_columns(bench: Bench) -> None:
    """`restore` takes them."""
    await bench.shelf.image(f"team/{'long' * 20}:old-{'x' * 50}", layers=[b"1"])
    assert (await bench.lading("images", "--confirm")).code == 0
    (record,) = json.loads((await bench.lading("trash", "-o", "json")).output)
    shown = (await bench.lading("trash")).output
    assert record["name"] in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert (await bench.lading("restore", record["name"])).code == 0


@pytest.mark.parametrize("name", ["../x", "Team App", "", "a/", "a?b"])
async def test_a_repository_that_is_none_is_refused(bench: Bench, name: str) -> None:
    refused = await bench.lading("images", "--repository", name)
    assert refused.code == 2
    assert f"{name!r} is not a repository" in refused.errors


async def test_why_takes_an_address_and_refuses_nothing(bench: Bench) -> None:
    await three(bench)
    found = await bench.lading("why", "https://registry.test/team/app:used")
    assert "keep (Used: tag is used by Pod default/web)" in found.output
    assert (await bench.lading("why", " ")).code == 2


async def test_a_plan_that_was_edited_says_why_it_leaves_lines_out(bench: Bench) -> None:
    """Sorted, with lines twice, one of another registry, and without that of a manifest."""
    await three(bench)
    await bench.shelf.image("team/app:old-2", layers=[b"2"])
    file = bench.folder / "plan.jsonl"
    await bench.lading("plan", "-o", str(file))
    header, *lines = file.read_text().splitlines()
    alone = [line for line in lines if "old-2" in line]
    digest = json.loads(alone[0])["digest"]
    whole = [line for line in lines if digest not in line]
    foreign = whole[0].replace("team/app", "other/app")
    file.write_text("\n".join([header, *sorted([*whole, *whole, foreign, *alone])]) + "\n")
    applied = await bench.lading("apply", str(file))
    assert applied.code == 0, applied.errors
    assert applied.output.endswith("Summary: deleted 1 tag(s), deleted 1 manifest(s)\n")
    assert "because a new plan does not have them: 1" in " ".join(applied.errors.split())
    assert "does not have every line: 1" in " ".join(applied.errors.split())
    assert await bench.shelf.tags("team/app") == {"old-2", "keep", "used"}
    assert await bench.shelf.pullable("team/app:old-2")


async def test_a_plan_with_contents_is_walked_from_its_file_and_applied(bench: Bench) -> None:
    await three(bench)
    planned, saved = bench.folder / "plan.jsonl", bench.folder / "saved.jsonl"
    result = await bench.lading("images", "--save-plan", str(planned))
    assert result.code == 0, result.errors
    contents = await PlanReader(planned).contents()
    assert contents is not None
    used = pruning.explained(contents, "team/app:used")
    assert used is not None
    assert used["chains"] == [["tag team/app:used", "tag is used by Pod default/web"]]
    run = await bench.lading("images", "--confirm", "--save-plan", str(saved))
    assert run.code == 0, run.errors
    found = await PlanReader(saved).contents()
    assert found is not None
    old = pruning.explained(found, "team/app:old")
    assert old is not None
    assert old["verdicts"][0]["decision"] == "delete"
    assert await bench.shelf.tags("team/app") == {"keep", "used"}
    applied = await bench.lading("apply", str(planned))
    assert applied.code == 1, "all of it is deleted already"
    assert sorted(one.name for one in bench.folder.glob("*.jsonl")) == ["plan.jsonl", "saved.jsonl"]


async def test_a_plan_that_cannot_be_saved_stops_no_run(bench: Bench) -> None:
    await three(bench)
    run = await bench.lading("images", "--confirm", "--save-plan", str(bench.folder / "a" / "b"))
    assert run.code == 0, run.errors
    assert "the plan was not saved" in " ".join(run.errors.split())
    assert await bench.shelf.tags("team/app") == {"keep", "used"}


async def test_why_knows_a_signature_without_a_tag_where_nothing_goes(bench: Bench) -> None:
    used = await bench.shelf.image("team/app:used")
    subject = bench.shelf.entry(used.digest, len(used.content), used.media_type)
    signature = await bench.shelf.image("team/app:sig", layers=[b"sig"], subject=subject)
    assert await bench.shelf.admin.delete(bench.shelf.at("team/app:sig"))
    found = await bench.lading("why", f"team/app@{signature.digest}")
    assert found.code == 0, found.errors
    assert "keep (Reachable" in found.output


async def test_why_names_the_pod_or_the_rule(bench: Bench) -> None:
    await three(bench)
    used = await bench.lading("why", "team/app:used")
    assert "tag is used by Pod default/web" in used.output
    old = await bench.lading("why", "team/app:old", "-o", "yaml")
    assert yaml.safe_load(old.output)["verdicts"][0]["decision"] == "delete"
    for name in (f"{bench.shelf.host}/team/app:used", "Registry.test/team/app:used"):
        assert (await bench.lading("why", name)).output == used.output
    absent = await bench.lading("why", "team/app:absent")
    assert absent.code == 1
    assert "team/app has no tag absent; its tags are: keep, old, used" in absent.errors
    other = await bench.lading("why", "team/other:1")
    assert "has no repository team/other" in " ".join(other.errors.split())
    for name in (f"team/app@sha256:{'0' * 64}", f"sha256:{'0' * 64}"):
        untagged = await bench.lading("why", name)
        assert f"no such manifest or blob: {name}; it lists no untagged" in untagged.errors


async def test_a_guard_ends_with_3(bench: Bench) -> None:
    await three(bench)
    result = await bench.lading("images", "--confirm", "--max-delete-bytes", "1")
    assert result.code == 3
    assert "--ignore-guard=bytes" in result.errors
    assert await bench.shelf.tags("team/app") == {"old", "keep", "used"}
    result = await bench.lading(
        "images", "--confirm", "--max-delete-bytes", "1", "--ignore-guard", "bytes"
    )
    assert result.code == 0


async def test_references_of_a_file_protect(bench: Bench) -> None:
    await three(bench)
    file = bench.folder / "references.json"
    result = await command.lading("prune", "references", "-o", str(file), *bench.cluster)
    assert result.code == 0, result.errors
    where = [one for one in bench.where if one not in bench.cluster]
    result = await command.lading("prune", "images", "--references", str(file), *where, "--confirm")
    assert result.code == 0, result.errors
    assert await bench.shelf.tags("team/app") == {"keep", "used"}
    document = json.loads(file.read_text())
    document["takenAt"] = (datetime.now(UTC) - timedelta(hours=2)).isoformat()
    file.write_text(json.dumps(document))
    result = await command.lading("prune", "images", "--references", str(file), *where)
    assert result.code == 1
    assert "older than 1h" in result.errors


async def test_the_ledger_is_kept_in_the_trash_repository_or_in_a_folder(bench: Bench) -> None:
    await three(bench)
    await bench.lading("images", "--confirm")
    assert "ledger" in await bench.shelf.tags("lading-trash")
    await bench.lading("images", "--confirm", "--state-dir", str(bench.folder / "state"))
    assert (bench.folder / "state" / bench.shelf.host / "ledger.json").exists()


async def test_a_damaged_file_of_known_manifests_costs_only_time(bench: Bench) -> None:
    await three(bench)
    words = ("images", "--state-dir", str(bench.folder / "state"))
    first = await bench.lading(*words)
    known = bench.folder / "state" / bench.shelf.host / "manifests"
    whole = known.read_bytes()
    changed = bytearray(whole)
    changed[len(whole) // 2] ^= 1
    for content in (whole[:-1], bytes(changed), b""):
        known.write_bytes(content)
        again = await bench.lading(*words)
        assert (again.code, again.output) == (0, first.output), again.errors
        assert len(known.read_bytes()) == len(whole)


async def test_an_age_in_one_registry_is_none_in_another(bench: Bench) -> None:
    """Both are pruned with the same folder; what is new in the second is not old there."""
    await three(bench)
    words = (
        *("images", "--confirm", "--state-dir", str(bench.folder / "state")),
        *("--policy", str(bench.folder / "policy.yaml"), "--keep-younger-than", "1s"),
        *("--registry-name", "registry.test", *bench.cluster),
    )
    await command.lading("prune", *words, "--registry-url", f"http://{bench.shelf.host}")
    await asyncio.sleep(1.1)
    async with registry_server.serve(bench.folder / "other") as url:
        other = Shelf(bench.shelf.admin, url.partition("://")[2])
        await other.image("team/app:old", layers=[b"old"])
        await command.lading("prune", *words, "--registry-url", url)
        assert await other.tags("team/app") == {"old"}


async def test_a_cluster_that_is_named_beside_a_file_of_references_protects(bench: Bench) -> None:
    await three(bench)
    file = bench.folder / "references.json"
    await command.lading("prune", "references", "-o", str(file), *bench.cluster)
    await bench.kube.create(PODS, pod("registry.test/team/app:old", "b"), namespace="default")
    result = await bench.lading("images", "--confirm", "--references", str(file))
    assert result.code == 0, result.errors
    assert await bench.shelf.tags("team/app") == {"old", "keep", "used"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--keep-tag-revisions=-1",), "'--keep-tag-revisions': -1 is not in the range x>=0"),
        (
            ("--keep-younger-than=-1h",),
            "'--keep-younger-than': '-1h' is not a valid duration: expected 0 or more",
        ),
        (
            ("--prune-over-size-limit", "--keep-tag-revisions=3"),
            (
                "--prune-over-size-limit cannot be specified with --keep-tag-revisions nor"
                " --keep-younger-than"
            ),
        ),
        (("--registry-url=ftp://x",), "the scheme must be http or https"),
        (("--custom-path=x",), "expected KIND.GROUP=JSONPATH"),
        (("--all=perhaps",), "is not a valid boolean"),
    ],
)
async def test_bad_input_is_a_usage_error(words: tuple[str, ...], sentence: str) -> None:
    result = await command.lading("prune", "images", *words)
    assert result.code == 2
    assert sentence in " ".join(result.errors.split())


async def test_an_authority_and_no_verification_do_not_go_together(tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.write_text("x")
    for words in (("--force-insecure",), ("--registry-url=http://x",)):
        result = await command.lading(
            "prune", "images", "--certificate-authority", str(file), *words
        )
        assert result.code == 2


@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b"- " * 100_000, b"a: &a [*a]", b"\xff\xfe\x00"]
)
async def test_a_policy_that_is_no_usable_yaml_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "policy.yaml"
    file.write_bytes(content)
    result = await command.lading("prune", "images", "--policy", str(file))
    assert result.code == 2
    (error,) = (line for line in result.errors.splitlines() if line.startswith("Error: "))
    assert error.startswith(f"Error: Invalid value for --policy: {file}: this is not YAML: ")


async def test_z06_a_policy_by_pull_time_is_refused(tmp_path: Path) -> None:
    """No registry says when an image was pulled; a rule that cannot be kept is no rule."""
    file = tmp_path / "policy.yaml"
    file.write_text('policies: [{repositories: ["*"], keepTags: [{newest: 3, by: pulled}]}]')
    result = await command.lading("prune", "images", "--policy", str(file))
    assert result.code == 2
    assert "Invalid enum value 'pulled'" in " ".join(result.errors.split())


async def test_e11_an_unreadable_reference_stops_nothing_and_hints_at_no_version(
    bench: Bench,
) -> None:
    """oc stops, and hints at its own version when that differs from the server's."""
    await three(bench)
    body = pod("registry.test/team/App:UPPER CASE")
    body["metadata"]["name"] = "typo"
    await bench.kube.create(PODS, body, namespace="default")
    result = await bench.lading("images")
    assert result.code == 0, result.errors
    assert "Pod default/typo" in result.errors
    assert "is not a valid image reference" in result.errors
    assert "version" not in result.errors
    assert "Deleting tag team/app:old" in result.output, "it does not contain team/app"


async def test_a_bad_policy_names_the_field(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text('policies: [{repositories: ["*"], keepTags: [{newest: -1}]}]')
    result = await command.lading("prune", "images", "--policy", str(file))
    assert result.code == 2
    assert "policies[0].keepTags[0].newest must be 0 or more" in " ".join(result.errors.split())


@pytest.mark.parametrize("package", ["numpy", "obstore"])
async def test_without_its_packages_the_commands_say_how_to_install_them(
    monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == package else find(name)
    )
    result = await command.lading("prune", "images")
    assert result.code == 1
    assert f"needs {package}" in result.errors
    assert "pip install lading[prune]" in result.errors


async def test_the_storage_of_the_registry_shows_the_history_of_a_tag(bench: Bench) -> None:
    for number in range(5):
        await bench.shelf.image("team/app:keep", layers=[str(number).encode()])
    storage = ("--storage", f"file://{bench.folder / 'registry'}")
    shown = await bench.lading("images", *storage)
    assert shown.code == 0, shown.errors
    assert shown.output.endswith("Summary: deleted 2 manifest(s)\n")
    assert "OldRevision" in shown.output
    assert "The registry frees this space after" in shown.errors
    done = await bench.lading("images", "--confirm", *storage)
    assert done.output.endswith("Summary: deleted 2 manifest(s)\n"), done.errors
    assert "deleted 0 objects" in (await bench.lading("images", *storage)).output
    assert await bench.shelf.pullable("team/app:keep")


@pytest.mark.parametrize(
    "place", ["repositories/team", "repositories/team/app/_manifests", "blobs"]
)
async def test_a_link_in_the_storage_ends_the_run_before_anything_is_deleted(
    bench: Bench, place: str
) -> None:
    for number in range(5):
        await bench.shelf.image("team/app:keep", layers=[str(number).encode()])
    linked, outside = bench.folder / "registry/docker/registry/v2" / place, bench.folder / "outside"
    linked.rename(outside)
    linked.symlink_to(outside)
    before = {one: one.read_bytes() for one in outside.rglob("*") if one.is_file()}
    done = await bench.lading(
        "images", "--confirm", "--storage", f"file://{bench.folder / 'registry'}"
    )
    assert done.code == 1, done.output
    assert f"{place} is a symbolic link, and links in a storage are not" in " ".join(
        done.errors.split()
    )
    after = {one: one.read_bytes() for one in outside.rglob("*") if one.is_file()}
    assert before.items() <= after.items(), "the lock of the run may be new"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--storage", "/var/lib/registry"), "expected file:///PATH"),
        (("--storage", "file:///no/such/folder"), "there is no such folder"),
        (("--source", "storage"), "--source=storage needs --storage URL"),
        (("--storage", "file:///tmp", "--source", "registry"), "no other --source takes it"),
    ],
)
async def test_bad_storage_is_a_clear_error(
    bench: Bench, words: tuple[str, ...], reason: str
) -> None:
    result = await bench.lading("images", *words)
    assert result.code in (1, 2)
    assert reason in " ".join(result.errors.split())
    assert "Traceback" not in result.errors


def test_a_registry_that_does_not_answer_is_named_and_not_what_was_read() -> None:
    error = Unavailable("manifest r:1/lading-trash:ledger: cannot connect to r:1: refused")
    assert running.reason(error) == "cannot connect to r:1: refused"


async def test_a_file_that_is_no_plan_is_refused(bench: Bench) -> None:
    file = bench.folder / "plan.jsonl"
    file.write_text("nothing\n")
    result = await bench.lading("apply", str(file))
    assert result.code == 2
    assert "line 1 is not what `lading prune plan` writes" in " ".join(result.errors.split())
