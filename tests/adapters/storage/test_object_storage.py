"""The `Storage` port on S3 and Google Cloud Storage, and the addresses that it accepts."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from aiohttp import web

from lading.adapters.storage import object_storage
from lading.kernel.errors import Malformed
from lading.ports import storage as storages
from lading.ports.storage import Storage
from lading.pruning.sweep import lock
from tests.adapters.storage import s3
from tests.adapters.storage.s3 import Bucket
from tests.conformance.storage.suite import StorageSuite


@pytest.fixture
def on_s3(bucket: Bucket) -> Storage:
    url = f"s3://{bucket.name}/root"
    return object_storage.open_storage(url, environment=os.environ)


class TestS3(StorageSuite):
    @pytest.fixture
    def storage(self, on_s3: Storage) -> Storage:
        return on_s3


class TestGoogleCloudStorage(StorageSuite):
    @pytest.fixture
    def storage(self, bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Storage:
        for name, value in s3.google_environment(bucket).items():
            monkeypatch.setenv(name, value)
        url = f"gs://{bucket.name}/root"
        return object_storage.open_storage(url, environment=os.environ)


async def test_a_partial_failure_of_a_bulk_deletion_names_what_is_left(
    bucket: Bucket, on_s3: Storage
) -> None:
    for path in ("a", "b", "c"):
        await on_s3.put(path, b"")
    bucket.locked = {"root/b"}
    failures = await on_s3.delete(["a", "b", "c"])
    assert list(failures) == ["b"]
    assert isinstance(failures["b"], storages.Denied)
    assert set(bucket.objects) == {"root/b"}


async def test_what_another_has_just_deleted_is_deleted(bucket: Bucket, on_s3: Storage) -> None:
    """As a bulk deletion that got no answer, and that the server still works on."""
    bucket.names_missing_keys = True
    await on_s3.put("a", b"")
    assert await on_s3.delete(["a", "b", "c"]) == {}
    assert bucket.objects == {}


async def test_a_server_that_does_not_know_the_deletion_has_deleted_nothing(
    bucket: Bucket, on_s3: Storage
) -> None:
    """It answers 404 to the request itself, as it does for a path that it has not."""
    await on_s3.put("a", b"1")

    async def unknown(request: web.Request) -> web.StreamResponse | None:
        return s3.error(404, "NoSuchMethod") if request.method == "POST" else None

    bucket.fault = unknown
    failures = await on_s3.delete(["a", "b"])
    assert list(failures) == ["a"]
    assert "a: the storage answers 404 to its deletion, and still has it" in str(failures["a"])
    assert set(bucket.objects) == {"root/a"}


async def test_what_cannot_be_looked_at_after_a_deletion_is_not_deleted(
    bucket: Bucket, on_s3: Storage
) -> None:
    async def unknown(request: web.Request) -> web.StreamResponse | None:
        if request.method == "HEAD":
            return s3.error(403, "AccessDenied")
        return s3.error(404, "NoSuchMethod") if request.method == "POST" else None

    bucket.fault = unknown
    assert isinstance((await on_s3.delete(["a"]))["a"], storages.Denied)


async def test_a_forbidden_list_is_an_error(bucket: Bucket, on_s3: Storage) -> None:
    bucket.forbidden_methods = {"GET"}
    with pytest.raises(storages.Denied, match="s3://images/root: a"):
        [page async for page in on_s3.pages("a")]


async def test_a_bucket_that_does_not_exist_is_an_error(bucket: Bucket) -> None:
    storage = object_storage.open_storage("s3://other", environment=os.environ)
    with pytest.raises(storages.NotFound, match="s3://other"):
        [page async for page in storage.pages("a")]


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("/var/lib/registry", "expected file:///PATH"),
        ("ftp://host/a", "expected file:///PATH"),
        ("file://relative/path", "absolute path"),
        ("file:///", "absolute path"),
        ("file:///no/such/folder", "no such folder"),
        ("s3://", "name of a bucket or container after s3://"),
        ("az:///prefix", "name of a bucket or container after az://"),
        ("s3://bucket/a//b", "empty path segment"),
        ("s3://user:secret@bucket", "must not have a user"),
        ("s3://bucket?region=x", "must not have"),
    ],
)
def test_bad_addresses(url: str, reason: str) -> None:
    with pytest.raises(Malformed, match=reason):
        object_storage.open_storage(url, environment={})


@pytest.mark.parametrize(
    ("url", "bytes_max"), [("s3://a", 5_000_000_000), ("gs://a", None), ("az://a", 0)]
)
def test_what_a_storage_surely_copies(
    url: str, bytes_max: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    assert object_storage.open_storage(url, environment={}).copy_bytes_max == bytes_max


@pytest.mark.parametrize("name", object_storage.ENDPOINT_VARIABLES)
def test_only_an_endpoint_that_says_http_is_spoken_to_without_tls(name: str) -> None:
    assert object_storage._has_plain_endpoint({name: "http://127.0.0.1:9000"})
    assert not object_storage._has_plain_endpoint({name: "https://storage.example.com"})
    assert not object_storage._has_plain_endpoint({})


async def test_an_answer_that_repeats_a_signature_is_cut_and_redacted(
    bucket: Bucket, on_s3: Storage
) -> None:
    bucket.refusal = "x" * 100_000
    with pytest.raises(storages.Denied) as caught:
        await on_s3.read("a", bytes_max=1)
    assert len(str(caught.value)) < 5000
    bucket.refusal = "not allowed with {authorization}"
    with pytest.raises(storages.Denied, match="not allowed with") as caught:
        await on_s3.read("a", bytes_max=1)
    assert "Signature=[redacted]" in str(caught.value)
    assert bucket.signature not in str(caught.value)


async def test_a_signature_does_not_go_along_with_a_redirect(
    bucket: Bucket, on_s3: Storage
) -> None:
    async with s3.serving() as other:
        bucket.moved_to = other.url.replace("127.0.0.1", "localhost") + "/elsewhere/a"
        with pytest.raises(storages.StorageError):
            await on_s3.read("a", bytes_max=1)
    assert bucket.signature
    assert other.methods == ["GET"]
    assert other.signature == ""


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"SSL_CERT_FILE": "/no/such", "SSL_CERT_DIR": "/no/such"}, "No CA certificates"),
        ({"AWS_SKIP_SIGNATURE": "perhaps"}, '"perhaps" as boolean'),
    ],
)
def test_a_client_that_cannot_be_made_is_no_bad_address(
    settings: dict[str, str], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(storages.StorageError, match=r"s3://images: cannot be opened") as caught:
        object_storage.open_storage("s3://images", environment={})
    assert reason in str(caught.value)
    assert "check the environment variables" in str(caught.value)


Fault = Callable[[web.Request], Awaitable[web.StreamResponse | None]]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that changes something ends soon, and is soon repeated."""
    monkeypatch.setattr(object_storage, "CHANGE_TIMEOUT", timedelta(seconds=0.3))
    waits = {"init_backoff": timedelta(milliseconds=1), "max_backoff": timedelta(milliseconds=2)}
    monkeypatch.setitem(object_storage._RETRIES, "backoff", waits)


async def filled(bucket: Bucket, *, count: int) -> tuple[Storage, list[str]]:
    storage = object_storage.open_storage(f"s3://{bucket.name}", environment=os.environ)
    paths = [f"a/{number}" for number in range(count)]
    for path in paths:
        await storage.put(path, b"")
    bucket.methods.clear()
    return storage, paths


def deletes(bucket: Bucket, after: Fault) -> Fault:
    """The fault of deletions alone."""

    async def fault(request: web.Request) -> web.StreamResponse | None:
        return await after(request) if request.method == "POST" else None

    return fault


@pytest.mark.usefixtures("impatient")
async def test_a_bulk_deletion_that_gets_no_answer_is_asked_for_one_by_one(bucket: Bucket) -> None:
    """The server continues with it: what is gone by then counts as deleted."""
    storage, paths = await filled(bucket, count=20)

    async def late(request: web.Request) -> None:
        if bucket.methods.count("POST") == 1:
            await asyncio.sleep(0.5)

    bucket.fault = deletes(bucket, late)
    assert await storage.delete(paths) == {}
    assert bucket.objects == {}
    assert bucket.methods.count("POST") == 1 + len(paths)


@pytest.mark.usefixtures("impatient")
async def test_when_one_after_the_other_gets_no_answer_the_rest_is_not_tried(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_storage, "PAGE_OBJECTS", 50)
    monkeypatch.setattr(object_storage, "BULK_DELETIONS_MAX", 1)
    storage, paths = await filled(bucket, count=100)
    end = asyncio.Event()
    keys: list[int] = []

    async def never(request: web.Request) -> web.StreamResponse:
        keys.append((await request.text()).count("<Key>"))
        await end.wait()
        return s3.error(503, "SlowDown")

    bucket.fault = deletes(bucket, never)
    failures = await storage.delete(paths)
    end.set()
    assert list(failures) == paths
    assert {type(error) for error in failures.values()} == {storages.Unavailable}
    assert "a/0: no answer in time; the storage may be overloaded" in str(failures["a/0"])
    assert bucket.methods.count("POST") <= 2 * object_storage.DELETIONS_MAX
    assert [one for one in keys if one > 1] == [50], "no second bulk, which would wait as well"


@pytest.mark.usefixtures("impatient")
async def test_one_object_that_cannot_be_deleted_does_not_hold_up_the_others(
    bucket: Bucket,
) -> None:
    storage, paths = await filled(bucket, count=3 * object_storage.DELETIONS_MAX)

    async def broken(request: web.Request) -> web.StreamResponse | None:
        is_broken = "<Key>a/7</Key>" in await request.text()
        return s3.error(500, "InternalError") if is_broken else None

    bucket.fault = deletes(bucket, broken)
    failures = await storage.delete(paths)
    assert list(failures) == ["a/7"]
    assert "InternalError" in str(failures["a/7"])
    assert bucket.objects.keys() == {"a/7"}


async def test_many_objects_that_cannot_be_deleted_do_not_hold_up_the_others(
    bucket: Bucket,
) -> None:
    storage, paths = await filled(bucket, count=3 * object_storage.DELETIONS_MAX)
    bucket.broken = set(paths[: 2 * object_storage.DELETIONS_MAX])
    failures = await storage.delete(paths)
    assert failures.keys() == bucket.objects.keys() == bucket.broken
    assert not [one for one in failures.values() if isinstance(one, storages.Unavailable)]


def test_only_failures_one_after_the_other_end_the_patience() -> None:
    patience = object_storage._Patience()
    error = storages.Unavailable("no answer")
    for _ in range(2 * object_storage.DELETIONS_MAX):
        patience.noted(error)
        patience.noted(None)
    assert patience.ended is None
    for _ in range(object_storage.DELETIONS_MAX):
        patience.noted(error)
    assert patience.ended is error


@pytest.mark.usefixtures("impatient")
async def test_deletions_that_are_refused_for_a_while_are_repeated(bucket: Bucket) -> None:
    storage, paths = await filled(bucket, count=2)

    async def busy(request: web.Request) -> web.StreamResponse | None:
        return s3.error(503, "SlowDown") if bucket.methods.count("POST") < 9 else None

    bucket.fault = deletes(bucket, busy)
    assert await storage.delete(paths) == {}
    assert bucket.methods.count("POST") == 9, "in bulk, and never one by one"


async def test_a_list_continues_after_lost_connections(bucket: Bucket) -> None:
    storage, paths = await filled(bucket, count=3 * s3.PAGE_KEYS)

    async def lost(request: web.Request) -> None:
        if bucket.methods.count("GET") in (2, 4):
            assert request.transport is not None
            request.transport.abort()

    bucket.fault = lost
    found = [one.path async for page in storage.pages("a") for one in page]
    assert sorted(found) == sorted(paths)


async def test_a_server_that_is_not_there_is_named(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(object_storage._RETRIES, "max_retries", 0)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    storage = object_storage.open_storage("s3://images", environment=os.environ)
    with pytest.raises(storages.Unavailable) as caught:
        await storage.read("a", bytes_max=1)
    assert str(caught.value) == "s3://images: a: the HTTP client failed: Connection refused"


def test_a_change_that_hangs_ends_before_the_lock_of_a_sweep() -> None:
    """Otherwise one renewal that hangs would lose the lock."""
    renewal = lock.PERIOD_DEFAULT / lock.RENEWALS_PER_PERIOD
    assert object_storage.CHANGE_TIMEOUT + renewal < lock.PERIOD_DEFAULT
