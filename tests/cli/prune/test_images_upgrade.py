"""An upgrade loses nothing: files, trash and CronJobs of an earlier release still work."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from lading.cli.prune.options import REMOVED, RENAMED
from lading.pruning.engine.inventory.observe_storage import data_path
from tests import command
from tests.cli.prune import benches, recorded
from tests.cli.prune.benches import Bench
from tests.cli.prune.recorded import DIGESTS


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    recorded.write_storage(tmp_path / "registry")
    async with benches.opened(tmp_path) as opened:
        yield opened


async def test_an_image_in_the_trash_is_listed_and_restored(bench: Bench) -> None:
    listed = json.loads((await bench.lading("trash", "-o", "json")).output)
    assert {tag for one in listed for tag in one["tags"]} == {"deleted", "stuck"}
    restored = await bench.lading("restore", "team/app:deleted")
    assert restored.code == 0, restored.errors
    assert await bench.shelf.pullable("team/app:deleted")


async def test_a_run_keeps_the_trash_and_finishes_what_was_left(bench: Bench) -> None:
    """Without the recorded ages, `old` would be new and kept."""
    stuck = bench.shelf.at(f"team/app@{DIGESTS['stuck']}")
    assert await bench.shelf.admin.head(stuck) is not None
    done = await command.lading("prune", "images", "--confirm", *bench.with_age("1h"))
    assert done.code == 0, done.errors
    assert await bench.shelf.tags("team/app") == {"keep", "used"}
    assert await bench.shelf.admin.head(stuck) is None
    trash = json.loads((await bench.lading("trash", "-o", "json")).output)
    assert {tag for one in trash for tag in one["tags"]} == {"deleted", "stuck", "old"}


async def test_ages_in_a_state_folder_are_known(bench: Bench) -> None:
    recorded.write_state(bench.folder / "state", host=bench.shelf.host)
    words = ("images", "--confirm", "--state-dir", str(bench.folder / "state"))
    done = await command.lading("prune", *words, *bench.with_age("1h"))
    assert done.code == 0, done.errors
    assert await bench.shelf.tags("team/app") == {"keep", "used"}


async def test_a_saved_plan_is_applied(bench: Bench) -> None:
    file = recorded.write_text(bench.folder / "plan.jsonl", host=bench.shelf.host)
    header, _, rest = file.read_text().partition("\n")
    references = await command.lading(
        "prune", "references", "-o", str(bench.folder / "now"), *bench.cluster
    )
    assert references.code == 0, references.errors
    cluster = json.loads((bench.folder / "now").read_text())["cluster"]
    file.write_text(f"{json.dumps({**json.loads(header), 'clusters': [cluster]})}\n{rest}")
    applied = await bench.lading("apply", str(file))
    assert applied.code == 0, applied.errors
    assert "Deleting tag team/app:old" in applied.output
    assert await bench.shelf.tags("team/app") == {"keep", "used"}


async def test_recorded_references_protect(bench: Bench) -> None:
    file = recorded.write_text(bench.folder / "references.json", host=bench.shelf.host)
    where = [one for one in bench.where if one not in bench.cluster]
    done = await command.lading(
        *("prune", "images", "--confirm", *where),
        *("--references", str(file), "--references-max-age", "876000h"),
    )
    assert done.code == 0, done.errors
    assert await bench.shelf.tags("team/app") == {"keep", "used"}


async def test_a_condemned_blob_is_freed_by_the_next_sweep(bench: Bench) -> None:
    data = bench.folder / "registry" / data_path(DIGESTS["condemned blob"])
    assert data.exists()
    done = await command.lading(
        *("prune", "blobs", f"--storage=file://{bench.folder}/registry", *bench.registry),
        *("--confirm", "--grace=0s", "--second-look-after=0s"),
    )
    assert done.code == 0, done.errors
    assert "freed 6 B in 1 blobs" in done.output
    assert not data.exists()
    restored = await bench.lading("restore", "team/app:deleted")
    assert restored.code == 0, restored.errors


async def test_each_container_of_a_recorded_cron_job_runs(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", bench.cluster[1])
    document = yaml.safe_load((recorded.FOLDER / "cron-job.yaml").read_text())
    pod = document["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    here = {
        "https://registry.example.com": bench.registry[1],
        "other.example.com": bench.shelf.host,
        "http://10.0.0.1:5000": bench.registry[1],
        "mirror.example.com": "registry.test",
        "file:///storage/main": f"file://{bench.folder}/registry",
        "/etc/lading/main/policy": str(bench.folder),
        "/etc/lading/main/cluster-0/kubeconfig": bench.cluster[1],
        "/etc/lading/main/cluster-1/kubeconfig": bench.cluster[1],
    }
    for container in pod["containers"]:
        # The registry of this test has no TLS, and one authority would be refused beside http.
        words = [one for one in container["args"] if "certificate-authority" not in one]
        for before, now in here.items():
            words = [one.replace(before, now) for one in words]
        done = await command.lading(*words)
        assert done.code == 0, (container["name"], done.errors)
    assert await bench.shelf.pullable("team/app:used")


async def test_former_names_of_options_are_taken(bench: Bench) -> None:
    (bench.folder / "certs.d").mkdir()
    (bench.folder / "registries.conf").touch()
    words = (
        *("--allow-nothing", "--report-as", "main", "--ignore-invalid-refs=true", "--trash-copy"),
        *("--registries-conf", str(bench.folder / "registries.conf"), "--sweep-grace=12h"),
        *("--hosts-dir", str(bench.folder / "certs.d"), "--no-trash", "--prune-registry=false"),
    )
    done = await bench.lading("images", *words)
    assert done.code == 0, done.errors
    assert "Nothing to prune" in done.output, "as --ok-if-no-registry"
    warnings = done.errors.splitlines()[:2]
    assert "--ignore-invalid-refs has no effect" in warnings[0]
    assert "--trash-copy has no effect" in warnings[1]


async def test_former_names_are_not_shown() -> None:
    shown = (await command.lading("prune", "images", "--help")).output
    assert "--run-name" in shown
    assert [one for one in (*RENAMED, *REMOVED) if f"{one} " in shown] == []
