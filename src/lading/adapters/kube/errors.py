"""Translates errors of an API server into the errors of `ports.kube`.

They come as a response or as an ERROR event of a watch. The message of the server is kept word
for word; only an answer that is no `Status` gets a message of ours.
"""

import contextlib
from typing import Any

import msgspec

from lading.kernel import errors as kernel_errors
from lading.kernel.objects import Model
from lading.ports import kube
from lading.ports.kube import Cause, KubeError


class StatusDetails(Model, frozen=True, kw_only=True):
    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[Cause, ...] | None = ()
    retry_after_seconds: int = 0


class StatusMetadata(Model, frozen=True, kw_only=True):
    continue_token: str = msgspec.field(name="continue", default="")


class Status(Model, frozen=True, kw_only=True):
    """`metav1.Status`, the body of every refusal."""

    metadata: StatusMetadata | None = None
    kind: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: StatusDetails | None = None


class Undecodable(KubeError):
    """The server sent an object that does not match its type."""


class UntrustedCertificate(kube.Transient):
    """The certificate of the server is not trusted, until someone fixes it or the kubeconfig."""


class CredentialsFailed(kube.Transient):
    """A plugin or a token file gave no credential; the next attempt asks it again."""


_ERROR_BY_CODE: dict[int, type[KubeError]] = {
    400: kube.Invalid,
    401: kube.Unauthorized,
    403: kube.Forbidden,
    404: kube.NotFound,
    409: kube.Conflict,
    410: kube.Gone,
    413: kube.Invalid,
    422: kube.Invalid,
    429: kube.TooManyRequests,
}
_ERROR_BY_REASON: dict[str, type[KubeError]] = {
    "AlreadyExists": kube.AlreadyExists,
    "Expired": kube.Gone,
}
_SERVER_ERROR_CODE_MIN = 500
_status_decoder = msgspec.json.Decoder(Status)


def of_response(*, what: str, code: int, body: bytes) -> KubeError:
    """The error for a response; `what` is the method and path, used when there is no `Status`."""
    status = Status()
    with contextlib.suppress(*kernel_errors.UNREADABLE):
        status = _status_decoder.decode(body)
    if status.kind != "Status" or not status.message:
        shown = kernel_errors.shown(body.decode(errors="replace").strip())
        status = Status(message=f"{what}: the server answered {code} with {shown}")
    return _of_status(status, code)


def untrusted(what: str, error: Exception) -> UntrustedCertificate:
    return UntrustedCertificate(f"{what}: the server certificate is not trusted: {error}")


def of_event(raw_object: bytes | msgspec.Raw) -> KubeError:
    status = _status_decoder.decode(raw_object)
    return _of_status(status, status.code)


def undecodable(*, what: str, type_: type[Any], error: Exception) -> Undecodable:
    return Undecodable(f"{what}: the answer cannot be read as {type_.__name__}: {error}")


def _of_status(status: Status, code: int) -> KubeError:
    error = _ERROR_BY_REASON.get(status.reason) or _ERROR_BY_CODE.get(code)
    if error is None:
        error = kube.Unavailable if code >= _SERVER_ERROR_CODE_MIN else KubeError
    details = status.details or StatusDetails()
    return error(
        status.message,
        code=code,
        reason=status.reason,
        causes=details.causes or (),
        details=details,
        continue_token=status.metadata.continue_token if status.metadata else "",
    )
