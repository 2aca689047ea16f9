"""The `Storage` port on S3 and Google Cloud Storage, and the addresses that it accepts."""

import os

import pytest

from lading.adapters.storage import object_storage
from lading.kernel.errors import Malformed
from lading.ports import storage as storages
from lading.ports.storage import Storage
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
