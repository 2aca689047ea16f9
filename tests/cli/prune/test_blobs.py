"""`lading prune blobs` on the embedded registry, from the first look to the freed storage."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web

from lading.adapters.storage import object_storage
from lading.embedded.registry import server as registry_server
from lading.pruning.engine.inventory.observe_storage import data_path
from lading.pruning.sweep import layout, lock
from lading.pruning.sweep import state as states
from tests.adapters.storage import s3
from tests.adapters.storage.s3 import Bucket
from tests.cli.up_process import up
from tests.command import lading
from tests.pruning import worlds
from tests.pruning.sweep.memory_storage import MemoryStorage
from tests.pruning.sweep.storage_registry import StorageRegistry
from tests.pruning.worlds import Shelf

AT_ONCE = ("--grace=0s", "--second-look-after=0s", "--max-delete-percent=100")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "registry"


@pytest.fixture
async def shelf(root: Path) -> AsyncIterator[Shelf]:
    async with registry_server.serve(root) as url, worlds.shelf_at(url) as shelf:
        yield shelf


@pytest.fixture
async def bucket(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bucket]:
    async with s3.serving() as served:
        for name, value in s3.environment(served).items():
            monkeypatch.setenv(name, value)
        yield served


def registry_on(bucket: Bucket, *, age: timedelta) -> StorageRegistry:
    """A registry that writes objects of this age."""
    storage = MemoryStorage(objects=bucket.objects, now=datetime.now(UTC) - age)
    return StorageRegistry(storage)


def has_data(root: Path, digest: object) -> bool:
    return (root / data_path(str(digest))).exists()


async def test_orphans_are_freed_while_the_registry_runs(
    shelf: Shelf, root: Path, tmp_path: Path
) -> None:
    kept = await shelf.image("a:v1", layers=[b"kept"])
    orphan = await shelf.admin.push_blob(shelf.at("a"), b"orphan")
    report = tmp_path / "report"
    online = (f"--storage=file://{root}", f"--registry-url=http://{shelf.host}", *AT_ONCE)
    dry = await lading("prune", "blobs", *online, f"--save-plan={report}")
    assert (dry.code, has_data(root, orphan.digest)) == (0, True)
    assert "Dry run" in dry.errors
    assert "Would condemn 1 and delete 0 blobs" in dry.output
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    assert {line["digest"]: line["reason"] for line in lines}[str(orphan.digest)] == "Condemned"
    assert {line["decision"] for line in lines} == {"keep", "condemn"}

    first = await lading("prune", "blobs", *online, "--confirm")
    assert (first.code, first.errors) == (0, "")
    assert "condemned 1 blobs" in first.output
    assert has_data(root, orphan.digest)
    assert not await shelf.admin.has_blob(shelf.at("a"), orphan.digest)

    second = await lading("prune", "blobs", *online, "--confirm", "-o", "json")
    found = json.loads(second.output)
    assert (found["blobsFreed"], found["bytesFreed"], found["failed"]) == (1, 6, 0)
    assert not has_data(root, orphan.digest)
    assert await shelf.pullable(f"a@{kept.digest}")
    assert not (root / "lading" / "sweep" / "lock").exists()
    again = await shelf.admin.push_blob(shelf.at("a"), b"orphan")
    assert await shelf.admin.has_blob(shelf.at("a"), again.digest)


@pytest.mark.soak
@pytest.mark.timeout(300)
async def test_the_registry_of_lading_up_is_swept_while_it_runs(tmp_path: Path) -> None:
    """What was deleted goes, what the cluster came with stays, and the image can come back."""
    root = tmp_path / "registry"
    async with up(tmp_path):
        url = f"http://127.0.0.1:{(tmp_path / 'registry-port').read_text()}"
        async with worlds.shelf_at(url) as shelf:
            before = set((root / layout.BLOBS).rglob("data"))
            image = await shelf.image("a:v1", layers=[b"layer"])
            await shelf.admin.delete(shelf.at(f"a@{image.digest}"))
            online = (f"--storage=file://{root}", f"--registry-url={url}", *AT_ONCE)
            for _ in range(2):
                done = await lading("prune", "blobs", *online, "--confirm", "-o", "json")
                assert done.code == 0, done.errors
            assert json.loads(done.output)["blobsFreed"] == 3
            assert set((root / layout.BLOBS).rglob("data")) == before
            again = await shelf.image("a:v1", layers=[b"layer"])
            assert again.digest == image.digest
            assert await shelf.pullable("a:v1")


async def test_offline_everything_goes_in_one_pass(shelf: Shelf, root: Path) -> None:
    kept = await shelf.image("a:v1", layers=[b"kept"])
    orphan = await shelf.admin.push_blob(shelf.at("a"), b"orphan")
    done = await lading(
        "prune", "blobs", f"--storage=file://{root}", "--offline", "--confirm", *AT_ONCE
    )
    assert done.code == 0, done.errors
    assert "freed 6" in done.output
    assert not has_data(root, orphan.digest)
    assert await shelf.pullable(f"a@{kept.digest}")


async def test_state_and_known_manifests_in_a_directory(
    shelf: Shelf, root: Path, tmp_path: Path
) -> None:
    await shelf.image("a:v1")
    await shelf.admin.push_blob(shelf.at("a"), b"orphan")
    state = tmp_path / "state"
    online = (f"--storage=file://{root}", f"--registry-url=http://{shelf.host}", *AT_ONCE)
    done = await lading("prune", "blobs", *online, f"--state-dir={state}", "--confirm")
    assert done.code == 0, done.errors
    assert {one.name for one in state.iterdir()} == {"sweep-state.json", "sweep-manifests"}
    assert not [one for one in (root / "lading").rglob("*") if one.is_file()]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--confirm",), 2, "name every replica of the registry with --registry-url"),
        (("--offline", "--registry-url=r.test"), 2, "remove --registry-url"),
        (("--grace=-1h",), 2, "expected 0 or more"),
        (("--offline", "--confirm", "--save-plan=/no/such/folder/report"), 2, "no such folder"),
        (("--registry-url=ftp://r.test",), 2, "ftp"),
        (("--offline", "--confirm"), 1, "nothing in docker/registry/v2/repositories"),
        ((), 1, "nothing in docker/registry/v2/repositories"),
    ],
)
async def test_bad_input_is_one_sentence_and_changes_nothing(
    tmp_path: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    answer = await lading("prune", "blobs", f"--storage=file://{tmp_path}", *words)
    assert answer.code == code
    assert message in " ".join(answer.errors.split())
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("url", "message"),
    [("/var/lib/registry", "expected file:///PATH"), ("file:///no/such/folder", "folder")],
)
async def test_a_bad_storage_is_named(url: str, message: str) -> None:
    answer = await lading("prune", "blobs", f"--storage={url}")
    assert answer.code == 1
    assert message in answer.errors
    assert "Traceback" not in answer.errors


@pytest.mark.parametrize(
    ("name", "forbidden", "message"),
    [
        (
            "other",
            set(),
            "v2/repositories: NoSuchBucket: NoSuchBucket; check the name of the bucket or folder",
        ),
        (
            "images",
            {"GET"},
            "v2/repositories: AccessDenied: AccessDenied; allow the pruner to list, read, write",
        ),
        (
            "images",
            {"GET", "HEAD"},
            "Error: s3://images: docker/registry/lockfiles/database-in-use: 403 Forbidden",
        ),
        ("images", set(), "nothing in docker/registry/v2/repositories"),
    ],
)
async def test_a_bucket_that_is_missing_forbidden_or_empty_is_one_sentence(
    name: str, forbidden: set[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with s3.serving() as bucket:
        for variable, value in s3.environment(bucket).items():
            monkeypatch.setenv(variable, value)
        bucket.forbidden_methods = forbidden
        for words in ((), ("--offline", "--confirm")):
            answer = await lading("prune", "blobs", f"--storage=s3://{name}", *words)
            assert answer.code == 1
            (sentence,) = [one for one in answer.errors.splitlines() if "Dry run" not in one]
            assert message in sentence
            assert sentence.startswith(("Error: the storage has", f"Error: s3://{name}: docker"))
        assert bucket.objects == {}


@pytest.mark.parametrize("words", [("--untagged",), ("--cluster-images",), ()])
async def test_what_clusters_decide_about_is_not_decided_without_them(
    shelf: Shelf, root: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    await shelf.image("a:v1")
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        json.dumps(
            {
                "current-context": "absent",
                "contexts": [{"name": "absent", "context": {"cluster": "absent", "user": "u"}}],
                "clusters": [{"name": "absent", "cluster": {"server": "http://127.0.0.1:1"}}],
                "users": [{"name": "u", "user": {}}],
            }
        )
    )
    answer = await lading(
        "prune", "blobs", f"--storage=file://{root}", f"--kubeconfig={kubeconfig}", *words
    )
    assert answer.code == (1 if words else 0)
    assert ("127.0.0.1:1" in answer.errors) is bool(words)


async def test_a_registry_that_cannot_store_the_probe_is_refused(shelf: Shelf, root: Path) -> None:
    await shelf.image("a:v1")
    answer = await lading(
        *("prune", "blobs", f"--storage=file://{root}", "--registry-url=http://127.0.0.1:1"),
        *("--confirm", *AT_ONCE),
    )
    assert answer.code == 3
    assert "the probe image failed" in " ".join(answer.errors.split())
    assert "--offline" in answer.errors


async def test_a_second_sweep_is_refused(shelf: Shelf, root: Path) -> None:
    await shelf.image("a:v1")
    held = root / lock.PATH
    held.parent.mkdir(parents=True)
    held.write_text('{"token": "other", "host": "elsewhere", "pid": 7}')
    answer = await lading(
        "prune", "blobs", f"--storage=file://{root}", "--offline", "--confirm", *AT_ONCE
    )
    assert answer.code == 3
    assert "process 7 on elsewhere" in " ".join(answer.errors.split())


async def test_too_large_a_share_is_refused(shelf: Shelf, root: Path) -> None:
    await shelf.image("a:v1")
    for number in range(12):
        await shelf.admin.push_blob(shelf.at("a"), b"%d" % number)
    words = ("prune", "blobs", f"--storage=file://{root}", "--offline", "--grace=0s")
    assert "guard share" in (await lading(*words)).errors
    answer = await lading(*words, "--confirm")
    assert answer.code == 3
    assert "--ignore-guard=share" in " ".join(answer.errors.split())
    assert (await lading(*words, "--confirm", "--ignore-guard=share")).code == 0


async def test_by_default_only_what_is_older_than_a_day_goes(bucket: Bucket) -> None:
    registry_on(bucket, age=timedelta(days=9)).image("a", "v1")
    young, old = (
        registry_on(bucket, age=timedelta(hours=hours)).upload("a", b"%d" % hours)
        for hours in (23, 25)
    )
    answer = await lading(
        "prune", "blobs", f"--storage=s3://{bucket.name}", "--offline", "--confirm"
    )
    assert answer.code == 0, answer.errors
    assert layout.data_path(young) in bucket.objects
    assert layout.data_path(old) not in bucket.objects


async def test_an_empty_folder_goes_only_when_it_is_old(shelf: Shelf, root: Path) -> None:
    """A push makes the folder before the file."""
    await shelf.image("a:v1")
    young, old = (root / layout.REPOSITORIES / "a/_uploads" / one for one in ("young", "old"))
    day = 24 * 3600
    for folder, age in ((young, day - 600), (old, day + 600)):
        folder.mkdir(parents=True)
        time = datetime.now(UTC).timestamp() - age
        os.utime(folder, (time, time))
    answer = await lading("prune", "blobs", f"--storage=file://{root}", "--offline", "--confirm")
    assert answer.code == 0, answer.errors
    assert (young.exists(), old.exists()) == (True, False)


async def test_what_could_not_be_deleted_ends_with_an_error(bucket: Bucket) -> None:
    registry = registry_on(bucket, age=timedelta(days=2))
    registry.image("a", "v1")
    locked, free = (registry.upload("a", one) for one in (b"1", b"2"))
    bucket.locked = {layout.data_path(locked)}
    answer = await lading(
        "prune", "blobs", f"--storage=s3://{bucket.name}", "--offline", "--confirm"
    )
    assert answer.code == 1
    assert "failed 1 times" in answer.output
    assert layout.data_path(locked) in bucket.objects
    assert layout.data_path(free) not in bucket.objects


async def test_a_bucket_that_stops_deleting_is_one_clear_message_and_the_next_run_finishes(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_storage, "CHANGE_TIMEOUT", timedelta(seconds=0.3))
    registry = registry_on(bucket, age=timedelta(days=2))
    kept = registry.image("a", "v1")
    for number in range(40):
        registry.upload("a", b"%d" % number)
    end = asyncio.Event()

    async def never(request: web.Request) -> web.StreamResponse | None:
        if request.method != "POST" or "/blobs/" not in await request.text():
            return None
        await end.wait()
        return s3.error(503, "SlowDown")

    bucket.fault = never
    words = ("prune", "blobs", f"--storage=s3://{bucket.name}", "--offline", "--confirm")
    everything = ("--max-delete-percent=100", "-o", "json")
    answer = await lading(*words, *everything)
    end.set()
    bucket.fault = None
    found = json.loads(answer.output)
    assert (answer.code, found["blobsFreed"], found["failed"]) == (1, 0, 40)
    assert "no answer in time" in answer.errors
    assert (
        "20 more failures are not shown. Correct the cause of each failure, then run"
        in answer.errors
    )
    again = await lading(*words, *everything)
    assert (again.code, json.loads(again.output)["blobsFreed"]) == (0, 40)
    assert registry.can_pull("a", kept)


async def test_a_bucket_that_deletes_on_after_the_time_limit_has_true_counts(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_storage, "CHANGE_TIMEOUT", timedelta(seconds=0.3))
    registry = registry_on(bucket, age=timedelta(days=2))
    kept = registry.image("a", "v1")
    for number in range(20):
        registry.upload("a", b"%02d" % number)
    bulks: list[str] = []

    async def late(request: web.Request) -> None:
        if request.method == "POST" and (await request.text()).count("<Key>") == 20:
            bulks.append(request.method)
            await asyncio.sleep(0.5)

    bucket.fault = late
    words = ("prune", "blobs", f"--storage=s3://{bucket.name}", "--offline", "--confirm")
    answer = await lading(*words, "--max-delete-percent=100", "-o", "json")
    assert len(bulks) == 2, "of links and of data"
    found = json.loads(answer.output)
    assert (answer.code, answer.errors) == (0, "")
    assert (found["blobsFreed"], found["bytesFreed"], found["failed"]) == (20, 40, 0)
    assert len([one for one in bucket.objects if one.startswith(layout.BLOBS)]) == 3
    assert registry.can_pull("a", kept)


async def test_a_client_that_cannot_be_opened_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.setenv(name, "/no/such")
    answer = await lading("prune", "blobs", "--storage=s3://images")
    assert answer.code == 1
    assert "Error: s3://images: cannot be opened: the HTTP client failed: No CA" in answer.errors
    assert "URL" not in answer.errors


async def test_a_state_that_cannot_be_written_changes_nothing(
    shelf: Shelf, root: Path, tmp_path: Path
) -> None:
    await shelf.image("a:v1")
    orphan = await shelf.admin.push_blob(shelf.at("a"), b"orphan")
    state = tmp_path / "file"
    state.write_bytes(b"")
    answer = await lading(
        *("prune", "blobs", f"--storage=file://{root}", f"--registry-url=http://{shelf.host}"),
        *(f"--state-dir={state / 'below'}", "--confirm", *AT_ONCE),
    )
    assert answer.code == 1
    assert "Not a directory" in answer.errors
    assert await shelf.admin.has_blob(shelf.at("a"), orphan.digest)


async def test_what_the_bucket_cannot_copy_waits_for_offline(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(object_storage.COPY_BYTES_MAX, "s3", 3)
    age = timedelta(days=2)
    registry = registry_on(bucket, age=age)
    registry.image("a", "v1")
    digests = [registry.upload("a", one) for one in (b"large", b"fit")]
    for digest in digests:
        del bucket.objects[layout.layer_link("a", digest)]
    since = datetime.now(UTC) - age
    condemned = states.with_condemned(states.EMPTY, digests, (), since)
    registry.write(f"{layout.OWN}/state.json", states.encode(condemned))
    report = tmp_path / "report"
    answer = await lading(
        "prune", "blobs", f"--storage=s3://{bucket.name}", f"--save-plan={report}"
    )
    assert answer.code == 0, answer.errors
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    reasons = {line["digest"]: line["reason"] for line in lines}
    assert [reasons[one] for one in digests] == ["TooLargeToMove", "Unreferenced"]


OUTSIDE = ("_uploads/old/startedat", "data", "link", "sha256/ab/data", "folder/file")
R = "docker/registry/v2"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that has nothing to do with the registry, old enough for every deletion."""
    folder = tmp_path / "outside"
    for name in OUTSIDE:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"precious")
    (folder / "empty").mkdir()
    for one in folder.rglob("*"):
        os.utime(one, (0, 0))
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    files = (one for one in folder.rglob("*"))
    return {
        str(one.relative_to(folder)): one.read_bytes() if one.is_file() else b"" for one in files
    }


def link_in_the_place_of(path: Path, target: Path) -> None:
    """What was there moves to the target, as it does when it is put on another volume."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        path.rename(target)
    path.symlink_to(target)


async def test_a_link_below_uploads_is_reported_and_the_rest_is_swept(
    shelf: Shelf, root: Path, outside: Path
) -> None:
    kept = await shelf.image("a:v1", layers=[b"kept"])
    orphan = await shelf.admin.push_blob(shelf.at("a"), b"orphan")
    uploads = root / R / "repositories/a/_uploads"
    uploads.mkdir(exist_ok=True)
    (uploads / "linked").symlink_to(outside)
    (uploads / "forged\nFreed everything").symlink_to(outside)
    deep = uploads / "/".join(["d"] * 300)
    deep.mkdir(parents=True)
    (uploads / "mixed").mkdir()
    (uploads / "mixed/startedat").write_bytes(b"")
    (uploads / "mixed/hashstates").symlink_to(outside)
    (uploads / "old").mkdir()
    (uploads / "old/startedat").write_bytes(b"")
    for name in ("mixed", "old"):
        os.utime(uploads / name / "startedat", (0, 0))
    before = contents(outside)
    words = ("prune", "blobs", f"--storage=file://{root}", "--offline", *AT_ONCE)
    dry = await lading(*words)
    assert "_uploads/linked is a symbolic link" in " ".join(dry.errors.split())
    done = await lading(*words, "--confirm")
    said = " ".join(done.errors.split())
    assert done.code == 1
    assert "_uploads/linked is a symbolic link, and links in a storage are not followed" in said
    assert "Correct the cause of each failure, then run the command again" in said
    assert "_uploads/forged\\nFreed everything is a symbolic link" in said
    assert "is a folder below 256 others, not a file; remove it" in said
    assert deep.exists()
    assert contents(outside) == before, "nothing is deleted outside of the storage"
    assert not has_data(root, orphan.digest), "it holds up nothing else"
    assert {one.name for one in uploads.iterdir()} >= {"linked", "mixed"}
    assert (uploads / "mixed/startedat").exists(), "what is not known stays whole"
    assert not (uploads / "old/startedat").exists()
    assert await shelf.pullable(f"a@{kept.digest}")


@pytest.mark.parametrize(
    "place",
    [
        "docker",
        R,
        f"{R}/repositories",
        f"{R}/repositories/team",
        f"{R}/repositories/a",
        f"{R}/repositories/a/_layers",
        f"{R}/repositories/a/_layers/sha256",
        f"{R}/repositories/a/_manifests",
        f"{R}/repositories/a/_manifests/tags",
        f"{R}/repositories/a/_manifests/revisions/sha256",
        f"{R}/blobs",
        f"{R}/blobs/sha256",
        f"{R}/blobs/sha256/ab",
        f"{R}/stray",
        "lading",
        "lading/sweep",
        "lading/sweep/aside",
        f"lading/sweep/aside/sha256-{'ab' * 32}",
        "lading/sweep/state.json",
        "lading/sweep/lock",
    ],
)
async def test_a_link_anywhere_else_changes_nothing_and_names_the_next_step(
    shelf: Shelf, root: Path, outside: Path, place: str
) -> None:
    await shelf.image("a:v1", layers=[b"kept"])
    orphan = await shelf.admin.push_blob(shelf.at("a"), b"orphan")
    link_in_the_place_of(root / place, outside / "moved")
    before = contents(outside)
    done = await lading(
        "prune", "blobs", f"--storage=file://{root}", "--offline", "--confirm", *AT_ONCE
    )
    said = " ".join(done.errors.split())
    assert done.code == 1, done.output
    assert f"{place} is a symbolic link" in said
    assert "mount --bind" in said
    assert contents(outside) == before
    assert has_data(root, orphan.digest)


@pytest.mark.parametrize("name", ["../../../../../outside", "/etc", "a/../../b", "a\0b", "a\n", ""])
@pytest.mark.parametrize("field", ["layers", "manifests", "aliases", "digest", "alias digest"])
async def test_a_name_in_the_state_that_is_none_ends_the_run_before_it_writes(
    shelf: Shelf, root: Path, outside: Path, name: str, field: str
) -> None:
    kept = await shelf.image("a:v1", layers=[b"kept"])
    digest = str(kept.digest)
    entry: dict[str, object] = {"since": "2026-01-01T00:00:00Z", "layers": ["a"]}
    match field:
        case "aliases":
            entry["aliases"] = [[name, "layer", digest]]
        case "alias digest":
            entry["aliases"] = [["a", "layer", name]]
        case "layers" | "manifests":
            entry[field] = [name]
    condemned = {name if field == "digest" else digest: entry}
    state = root / "lading/sweep/state.json"
    state.parent.mkdir(parents=True)
    written = json.dumps({"version": states.VERSION, "condemned": condemned})
    state.write_text(written)
    before = contents(outside.parent)
    done = await lading(
        "prune", "blobs", f"--storage=file://{root}", "--offline", "--confirm", *AT_ONCE
    )
    said = " ".join(done.errors.split())
    assert done.code == 1, done.output
    assert "digest" in said if "digest" in field else "expected the name of a repository" in said
    assert "$.condemned" in said
    assert "lading/sweep/state.json" in said
    assert contents(outside.parent) == before


async def test_a_lock_with_a_token_that_leads_out_deletes_nothing_there(
    shelf: Shelf, root: Path, outside: Path
) -> None:
    await shelf.image("a:v1")
    held = root / lock.PATH
    held.parent.mkdir(parents=True)
    held.write_text(json.dumps({"token": "/../../../../outside/data", "host": "h", "pid": 1}))
    os.utime(held, (0, 0))
    before = contents(outside)
    done = await lading(
        "prune", "blobs", f"--storage=file://{root}", "--offline", "--confirm", *AT_ONCE
    )
    assert done.code == 0, done.errors
    assert contents(outside) == before


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", ["large", "deep", "pipe"])
async def test_a_hostile_state_file_is_refused_quickly(shelf: Shelf, root: Path, kind: str) -> None:
    await shelf.image("a:v1")
    state = root / "lading/sweep/state.json"
    state.parent.mkdir(parents=True)
    match kind:
        case "large":
            with state.open("wb") as file:
                file.truncate(1 << 30)
        case "deep":
            state.write_bytes(b'{"condemned":' + b"[" * 1_000_000)
        case "pipe":
            os.mkfifo(state)
    done = await lading(
        "prune", "blobs", f"--storage=file://{root}", "--offline", "--confirm", *AT_ONCE
    )
    assert done.code == 1
    assert "state.json" in done.errors
    assert "Traceback" not in done.errors
