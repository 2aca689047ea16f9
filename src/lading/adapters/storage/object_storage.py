"""Opens a `Storage` by its address; object storage is on obstore, and its errors are translated.

A request that is given up may still be executed, so one that changes something has a long limit of
its own. obstore repeats reads, and all that the storage refuses for the moment; it does not repeat
a deletion that got no answer.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import obstore
from obstore import exceptions
from obstore.store import ObjectStore, from_url

from lading.adapters.storage.file_storage import FileStorage
from lading.kernel import texts
from lading.kernel.errors import Malformed
from lading.ports import storage
from lading.ports.storage import OnlyNew, OnlyVersion, Storage, StorageError, StoredObject

if TYPE_CHECKING:
    from obstore import ObjectMeta, UpdateVersion
    from obstore.store import ClientConfig, RetryConfig

PAGE_OBJECTS = 1000  # the most that S3 lists or deletes in one request
BULK_DELETIONS_MAX = 4  # requests at a time; a server may delete their objects one by one
DELETIONS_MAX = 16  # of single objects at a time, and without an answer one after the other
COPY_BYTES_MAX = {"s3": 5_000_000_000, "az": 0}
"""S3 copies at most 5 GB in one request. Azure may answer before a copy is done."""
SCHEMES = ("file", "s3", "gs", "az")
ENDPOINT_VARIABLES = (
    *("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT"),
    *("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT", "GOOGLE_BASE_URL"),
)
_PRECONDITION_FAILED = (exceptions.PreconditionError, exceptions.NotModifiedError)
_DENIED = (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError, PermissionError)
_UNSUPPORTED = (exceptions.NotSupportedError, NotImplementedError)
_ANSWER_DENIED = re.compile(r"status code: 40[13]|AccessDenied")
_ANSWER_NOT_FOUND = re.compile(r"status code: 404|NoSuchBucket|code: NoSuchKey")
_ANSWER_OF_ONE_KEY = re.compile(r"request failed for key ")
"""The storage answers, and cannot delete this object."""
_REASONS = (
    re.compile(r"<Code>(.*?)</Code>(?:.*?<Message>([^<\n]*))?", re.DOTALL),
    re.compile(r"status code: (.*)", re.DOTALL),
)
"""Where the answer of a storage says what is wrong: in its document, or in its status."""
_NO_SPACE = re.compile(r"No space left on device|InsufficientStorage|Disk quota exceeded")
_BAD_URL = re.compile(r"Generic URL error: (.*)")
_HTTP_FAILED = re.compile(r"HTTP error: |HTTP client error: ")
_NO_ANSWER = re.compile(r"kind: Timeout")
_CAUSES = (
    re.compile(r'message: "([^"]+)"'),
    re.compile(r'error: "([^"]+)"'),
    re.compile(r'General\(\s*"([^"]+)"'),
)
"""Why no request was sent, in the debugging text of obstore."""
CONNECT_TIMEOUT = timedelta(seconds=10)
READ_TIMEOUT = timedelta(minutes=1)
"""Of one attempt to read an object or a page of a list; others follow."""
CHANGE_TIMEOUT = timedelta(minutes=3)
"""versitygw deletes 1,000 objects in 11 s on an idle machine, and may be 10 times as slow under
load; S3 copies 5 GB in one request. It is below the period of the lock of a sweep, so that a
renewal that hangs does not lose it."""
_RETRIES: "RetryConfig" = {"max_retries": 10, "retry_timeout": timedelta(minutes=2)}
"""With waits from 0.1 to 15 s, so that the time ends them and not their number."""


def open_storage(url: str, *, environment: Mapping[str, str]) -> Storage:
    """Of `file:///var/lib/registry`, `s3://bucket/prefix`, `gs://...` or `az://...`.

    Credentials and endpoints come from the environment, by the names that each provider uses.
    """
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in SCHEMES:
        raise _malformed(url, "expected file:///PATH, s3://BUCKET, gs://BUCKET or az://CONTAINER")
    parts = urlsplit(url)
    if scheme == "file" and (parts.netloc or parts.path in ("", "/")):
        raise _malformed(url, "expected file:// and the absolute path of a folder")
    if scheme != "file" and not parts.netloc:
        raise _malformed(url, f"expected the name of a bucket or container after {scheme}://")
    if parts.query or parts.fragment or parts.username is not None:
        raise _malformed(url, "it must not have a user, a query or a fragment")
    try:
        if scheme == "file":
            return _open_folder(url, Path(unquote(parts.path)))
        may_be_plain = _has_plain_endpoint(environment)
        reads, changes = (
            _store(url, timeout, may_be_plain=may_be_plain)
            for timeout in (READ_TIMEOUT, CHANGE_TIMEOUT)
        )
    except exceptions.BaseError as error:
        if bad := _BAD_URL.match(str(error)):
            raise _malformed(url, bad[1]) from error
        raise StorageError(
            f"{url}: cannot be opened: {_sentence(error)}; check the environment variables of the"
            " storage (AWS_*, GOOGLE_*, AZURE_*) and the certificate authorities of this machine"
        ) from error
    return ObjectStorage(
        reads=reads, changes=changes, name=url, copy_bytes_max=COPY_BYTES_MAX.get(scheme)
    )


def _store(url: str, timeout: timedelta, *, may_be_plain: bool) -> ObjectStore:
    options: ClientConfig = {
        "allow_http": may_be_plain,
        "connect_timeout": CONNECT_TIMEOUT,
        "timeout": timeout,
    }
    return from_url(url, client_options=options, retry_config=_RETRIES)


def _open_folder(url: str, folder: Path) -> FileStorage:
    try:
        return FileStorage(folder, name=url)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _malformed(url, "there is no such folder") from error
    except OSError as error:
        raise storage.Denied(f"{url}: {error.strerror}") from error


def _has_plain_endpoint(environment: Mapping[str, str]) -> bool:
    """Only an endpoint that says http:// is spoken to without TLS."""
    return any(environment.get(name, "").startswith("http://") for name in ENDPOINT_VARIABLES)


def _malformed(url: str, reason: str) -> Malformed:
    return Malformed(what="storage URL", text=url, reason=reason)


class ObjectStorage:
    """Implements the `Storage` port."""

    def __init__(
        self,
        *,
        reads: ObjectStore,
        changes: ObjectStore,
        name: str,
        copy_bytes_max: int | None = None,
    ) -> None:
        """The same store twice, with the limits of requests that read and that change."""
        self._reads = reads
        self._changes = changes
        self._name = name
        self._copy_bytes_max = copy_bytes_max

    @property
    def copy_bytes_max(self) -> int | None:
        return self._copy_bytes_max

    async def pages(self, prefix: str) -> AsyncIterator[Sequence[StoredObject]]:
        storage.check_path(prefix)
        with self._translated(prefix):
            async for page in obstore.list(self._reads, prefix, chunk_size=PAGE_OBJECTS):
                yield [_stored(one) for one in page]

    async def head(self, path: str) -> StoredObject | None:
        storage.check_path(path)
        try:
            with self._translated(path):
                return _stored(await obstore.head_async(self._reads, path))
        except storage.NotFound:
            return None

    async def read(self, path: str, *, bytes_max: int) -> bytes:
        storage.check_path(path)
        with self._translated(path):
            found = await obstore.get_async(self._reads, path)
            if found.meta["size"] > bytes_max:
                size = found.meta["size"]
                raise storage.TooLarge(f"{self._name}: {path} has {size} bytes, over {bytes_max}")
            return bytes(await found.bytes_async())

    async def put(
        self, path: str, content: bytes, *, condition: OnlyNew | OnlyVersion | None = None
    ) -> None:
        storage.check_path(path)
        with self._translated(path):
            match condition:
                case None:
                    await obstore.put_async(self._changes, path, content)
                case OnlyNew():
                    await obstore.put_async(self._changes, path, content, mode="create")
                case OnlyVersion(version):
                    tag, _, number = version.rpartition(" ")
                    known: UpdateVersion = {"e_tag": tag, "version": number}
                    await obstore.put_async(self._changes, path, content, mode=known)

    async def move(self, source: str, target: str) -> None:
        storage.check_path(source)
        storage.check_path(target)
        with self._translated(source):
            await obstore.rename_async(self._changes, source, target)

    async def delete(self, paths: Sequence[str]) -> Mapping[str, StorageError]:
        """In bulk, and where that fails one by one: the failure does not say which are left."""
        slots = asyncio.Semaphore(BULK_DELETIONS_MAX)
        patience = _Patience()

        async def deleted(some: list[str]) -> dict[str, StorageError]:
            async with slots:
                if patience.ended is not None:
                    return dict.fromkeys(some, patience.ended)
                try:
                    with self._translated(some[0]):
                        await obstore.delete_async(self._changes, some)
                except StorageError:
                    return await self._delete_singly(some, patience)
            return {}

        refused = storage.bad_paths(paths)
        good = [path for path in paths if path not in refused] if refused else paths
        begins = range(0, len(good), PAGE_OBJECTS)
        bulks = [list(good[one : one + PAGE_OBJECTS]) for one in begins]
        failures = await asyncio.gather(*map(deleted, bulks))
        return refused | {path: error for found in failures for path, error in found.items()}

    async def remove_empty_folders(self, prefix: str, *, before: datetime) -> int:
        storage.check_path(prefix)
        return 0  # there are none

    async def _delete_singly(
        self, paths: Sequence[str], patience: "_Patience"
    ) -> dict[str, StorageError]:
        slots = asyncio.Semaphore(DELETIONS_MAX)

        async def deleted(path: str) -> StorageError | None:
            async with slots:
                if patience.ended is not None:
                    return patience.ended
                try:
                    with self._translated(path):
                        await obstore.delete_async(self._changes, path)
                except storage.NotFound:
                    return patience.noted(await self._still_there(path))
                except StorageError as error:
                    return patience.noted(error)
            return patience.noted(None)

        results = await asyncio.gather(*map(deleted, paths))
        return {
            path: error for path, error in zip(paths, results, strict=True) if error is not None
        }

    async def _still_there(self, path: str) -> StorageError | None:
        """A server may answer 404 to the request and not about the object: it deletes nothing."""
        try:
            found = await self.head(path)
        except StorageError as failure:
            return failure
        if found is None:
            return None
        return StorageError(
            f"{self._name}: {path}: the storage answers 404 to its deletion, and still has it"
        )

    @contextmanager
    def _translated(self, path: str) -> Iterator[None]:
        place = f"{self._name}: {path}" if path else self._name
        try:
            yield
        except (FileNotFoundError, exceptions.NotFoundError) as error:
            raise storage.NotFound(f"{place}: not found") from error
        except exceptions.AlreadyExistsError as error:
            raise storage.AlreadyExists(f"{place}: exists already") from error
        except _PRECONDITION_FAILED as error:
            raise storage.Changed(f"{place}: was changed by another writer") from error
        except _DENIED as error:
            raise storage.Denied(f"{place}: {_sentence(error)}") from error
        except _UNSUPPORTED as error:
            raise storage.Unsupported(f"{place}: {_sentence(error)}") from error
        except (exceptions.BaseError, OSError) as error:
            kind = _kind(str(error))
            raise kind(f"{place}: {_sentence(error)}") from error


class _Patience:
    """Ends when one object after the other gets no answer: each would wait for minutes."""

    def __init__(self) -> None:
        self._failed = 0
        self.ended: StorageError | None = None

    def noted(self, error: StorageError | None) -> StorageError | None:
        self._failed = self._failed + 1 if isinstance(error, storage.Unavailable) else 0
        if self._failed == DELETIONS_MAX:
            self.ended = error
        return error


def _stored(found: "ObjectMeta") -> StoredObject:
    """S3 and Azure compare the first part of a version, Google Cloud Storage the second."""
    version = f"{found['e_tag'] or ''} {found['version'] or ''}"
    return StoredObject(found["path"], found["size"], found["last_modified"], version)


def _kind(message: str) -> type[StorageError]:
    """Lists and bulk deletions fail with a generic error that has the answer in its text."""
    if _ANSWER_DENIED.search(message):
        return storage.Denied
    if _NO_SPACE.search(message):
        return storage.Full
    if _ANSWER_NOT_FOUND.search(message):
        return storage.NotFound
    return StorageError if _ANSWER_OF_ONE_KEY.search(message) else storage.Unavailable


def _sentence(error: Exception) -> str:
    """The reason in the answer of the storage, or else what obstore says.

    Not the debugging text that obstore adds after an empty line: it has the whole answer in it,
    which may repeat what was asked with. Only where there was no answer it has the cause.
    """
    text, _, debugging = str(error).partition("\n\n")
    text = text.strip()
    if _HTTP_FAILED.search(text):
        return texts.bounded_text(_without_answer(text, debugging))
    for reason in _REASONS:
        if found := reason.search(text):
            text = ": ".join(part.strip() for part in found.groups() if part)
            break
    return texts.bounded_text(text.rstrip("."))


def _without_answer(text: str, debugging: str) -> str:
    if _NO_ANSWER.search(debugging):
        return "no answer in time; the storage may be overloaded, and may still do what was asked"
    causes = [found[1] for cause in _CAUSES if (found := cause.search(debugging))]
    reason = causes[0] if causes else text.rpartition(" - ")[2]
    return f"the HTTP client failed: {reason}"
