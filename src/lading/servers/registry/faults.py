"""The errors that a registry answers with: the codes of the OCI distribution specification."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec


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
    """A request that is refused; `detail` names the object."""

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
