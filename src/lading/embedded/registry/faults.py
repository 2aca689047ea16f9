"""The error codes of the OCI distribution specification, and the checks of names and digests."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from lading.kernel import digests, references
from lading.kernel.digests import Digest
from lading.kernel.errors import Malformed


class Code(StrEnum):
    BLOB_UNKNOWN = "BLOB_UNKNOWN"
    BLOB_UPLOAD_INVALID = "BLOB_UPLOAD_INVALID"
    BLOB_UPLOAD_UNKNOWN = "BLOB_UPLOAD_UNKNOWN"
    DENIED = "DENIED"
    DIGEST_INVALID = "DIGEST_INVALID"
    MANIFEST_BLOB_UNKNOWN = "MANIFEST_BLOB_UNKNOWN"
    MANIFEST_INVALID = "MANIFEST_INVALID"
    MANIFEST_UNKNOWN = "MANIFEST_UNKNOWN"
    NAME_INVALID = "NAME_INVALID"
    NAME_UNKNOWN = "NAME_UNKNOWN"
    PAGINATION_NUMBER_INVALID = "PAGINATION_NUMBER_INVALID"
    RANGE_INVALID = "RANGE_INVALID"
    SIZE_INVALID = "SIZE_INVALID"
    TAG_INVALID = "TAG_INVALID"
    UNAUTHORIZED = "UNAUTHORIZED"
    UNAVAILABLE = "UNAVAILABLE"
    UNSUPPORTED = "UNSUPPORTED"


_STATUS_BY_CODE = {
    Code.BLOB_UNKNOWN: 404,
    Code.BLOB_UPLOAD_UNKNOWN: 404,
    Code.DENIED: 403,
    Code.MANIFEST_UNKNOWN: 404,
    Code.NAME_UNKNOWN: 404,
    Code.RANGE_INVALID: 416,
    Code.UNAUTHORIZED: 401,
    Code.UNAVAILABLE: 503,
    Code.UNSUPPORTED: 405,
}


class Fault(Exception):
    """A refused request; `detail` names the object."""

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        detail: str = "",
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.detail = detail
        self.status = status or _STATUS_BY_CODE.get(code, 400)
        self.headers = headers or {}

    def body(self) -> bytes:
        error = {"code": self.code.value, "message": self.message, "detail": self.detail}
        return msgspec.json.encode({"errors": [error]})


def checked_repository(name: str) -> str:
    try:
        parsed = references.parse(f"localhost/{name}")
    except Malformed as error:
        raise Fault(Code.NAME_INVALID, error.reason, detail=name) from error
    if parsed.repository != name:
        raise Fault(Code.NAME_INVALID, "expected a repository name only", detail=name)
    return name


def checked_digest(text: str) -> Digest:
    try:
        return digests.parse(text)
    except Malformed as error:
        raise Fault(Code.DIGEST_INVALID, error.reason, detail=text) from error
