"""Refusals of the server: Kubernetes `Status` objects, as exceptions.

Codes, reasons and causes are those of kube-apiserver, because clients act on them.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from lading.embedded.kube.applying.paths import Conflict
from lading.embedded.kube.schema import causes
from lading.embedded.kube.schema.causes import Cause

Document = dict[str, Any]


class ApiError(Exception):
    """Ends a request; `status` is the body of its answer."""

    def __init__(
        self,
        *,
        code: int,
        reason: str,
        message: str,
        details: Document | None = None,
        continue_token: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status: Document = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": continue_token} if continue_token else {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            **({} if details is None else {"details": details}),
            "code": code,
        }


def success(*, group: str, plural: str, name: str, uid: str) -> Document:
    details = {"name": name, **_group(group), "kind": plural, "uid": uid}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }


def bad_request(message: str, found: Sequence[Cause] = ()) -> ApiError:
    details = {"causes": _causes(found)} if found else None
    return ApiError(code=400, reason="BadRequest", message=message, details=details)


def unauthorized() -> ApiError:
    return ApiError(code=401, reason="Unauthorized", message="Unauthorized")


def forbidden(*, group: str, plural: str, name: str, why: str) -> ApiError:
    return ApiError(
        code=403,
        reason="Forbidden",
        message=f"{_resource(group, plural)} {_quoted(name)} is forbidden: {why}",
        details={"name": name, **_group(group), "kind": plural},
    )


def namespace_is_terminating(*, group: str, plural: str, name: str, namespace: str) -> ApiError:
    error = forbidden(
        group=group,
        plural=plural,
        name=name,
        why=f"unable to create new content in namespace {namespace} because it is being terminated",
    )
    error.status["details"]["causes"] = [
        {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
    ]
    return error


def not_found(*, group: str, plural: str, name: str) -> ApiError:
    return ApiError(
        code=404,
        reason="NotFound",
        message=f"{_resource(group, plural)} {_quoted(name)} not found",
        details={"name": name, **_group(group), "kind": plural},
    )


def no_such_resource() -> ApiError:
    message = "the server could not find the requested resource"
    return ApiError(code=404, reason="NotFound", message=message, details={})


def method_not_allowed() -> ApiError:
    message = "the server does not allow this method on the requested resource"
    return ApiError(code=405, reason="MethodNotAllowed", message=message, details={})


def not_acceptable(accepted: Iterable[str]) -> ApiError:
    message = f"only the following media types are accepted: {', '.join(accepted)}"
    return ApiError(code=406, reason="NotAcceptable", message=message, details={})


def already_exists(*, group: str, plural: str, name: str, leaving: bool) -> ApiError:
    prefix = "object is being deleted: " if leaving else ""
    return ApiError(
        code=409,
        reason="AlreadyExists",
        message=f"{prefix}{_resource(group, plural)} {_quoted(name)} already exists",
        details={"name": name, **_group(group), "kind": plural},
    )


MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def conflict(*, group: str, plural: str, name: str, why: str = MODIFIED) -> ApiError:
    resource = _resource(group, plural)
    return ApiError(
        code=409,
        reason="Conflict",
        message=f"Operation cannot be fulfilled on {resource} {_quoted(name)}: {why}",
        details={"name": name, **_group(group), "kind": plural},
    )


def apply_conflict(message: str, found: Sequence[Cause | Conflict]) -> ApiError:
    details = {"causes": _causes(found)}
    return ApiError(code=409, reason="Conflict", message=message, details=details)


def expired(message: str, *, continue_token: str = "") -> ApiError:
    return ApiError(code=410, reason="Expired", message=message, continue_token=continue_token)


def too_large(limit_bytes: int) -> ApiError:
    message = f"Request entity too large: limit is {limit_bytes}"
    return ApiError(code=413, reason="RequestEntityTooLarge", message=message, details={})


def unsupported_media_type(accepted: Iterable[str]) -> ApiError:
    message = (
        "the body of the request was in an unknown format - "
        f"accepted media types include: {', '.join(accepted)}"
    )
    return ApiError(code=415, reason="UnsupportedMediaType", message=message)


def invalid(*, group: str, kind: str, name: str, found: Sequence[Cause]) -> ApiError:
    subject = _resource(group, kind)
    named = {"name": name} if name else {}
    return ApiError(
        code=422,
        reason="Invalid",
        message=f"{subject} {_quoted(name)} is invalid: {causes.summary(found)}",
        details={**named, **_group(group), "kind": kind, "causes": _causes(found)},
    )


def invalid_options(kind: str, found: Sequence[Cause]) -> ApiError:
    return invalid(group="meta.k8s.io", kind=kind, name="", found=found)


def unprocessable(message: str) -> ApiError:
    return ApiError(code=422, reason="Invalid", message=message, details={})


def internal(message: str) -> ApiError:
    message = f"Internal error occurred: {message}"
    details = {"causes": [{"message": message}]}
    return ApiError(code=500, reason="InternalError", message=message, details=details)


def revision_is_in_the_future(*, asked: int, current: int) -> ApiError:
    details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    return ApiError(code=504, reason="Timeout", message=message, details=details)


def _causes(found: Sequence[Cause | Conflict]) -> list[Document]:
    return [
        {"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in found
    ]


def _group(group: str) -> Document:
    return {"group": group} if group else {}


def _resource(group: str, plural: str) -> str:
    return f"{plural}.{group}" if group else plural


def _quoted(name: str) -> str:
    return f'"{name}"'
