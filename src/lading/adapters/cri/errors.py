"""Turns errors of a runtime into errors of the port: by gRPC status, by prefix, by wording.

Runtimes return most pull failures as UNKNOWN with the registry's words inside, so the words
of containerd and CRI-O are recognised here and nowhere else.
"""

import re
from collections.abc import Mapping

from grpclib.const import Status

from lading.ports import cri
from lading.ports.cri import CriError
from lading.wire.calls import CallFailed

# CRI names some errors by a prefix of the message; our embedded service names all of them so.
_BY_PREFIX: Mapping[str, type[CriError]] = {
    "SignatureValidationFailed": cri.ContentRejected,
    "RegistryUnavailable": cri.RegistryUnavailable,
    "ImageNotFound": cri.ImageNotFound,
    "Unauthorized": cri.Unauthorized,
    "NoSpace": cri.NoSpace,
    "NoMatchingPlatform": cri.NoMatchingPlatform,
    "UnknownHandler": cri.UnknownHandler,
    "InvalidReference": cri.InvalidReference,
    "ContentRejected": cri.ContentRejected,
    "InUse": cri.InUse,
}

# The first that fits wins: a refused token also says "not found" further on.
_WORDING: Mapping[type[CriError], tuple[str, ...]] = {
    cri.Unavailable: ("server is not initialized yet",),  # containerd, just started
    cri.NoSpace: ("no space left on device", "disk quota exceeded"),
    cri.NoMatchingPlatform: (
        "no match for platform",
        "no image found in image index",
        "no image found in manifest list",
    ),
    cri.UnknownHandler: (
        # Bounded: a hostile text must not be searched to its end at each beginning.
        "no runtime for .{1,256} is configured",
        "failed to find runtime handler",
    ),
    cri.ContentRejected: (
        "unexpected commit digest",
        "unexpected commit size",
        r"digest \S+ does not match",
        "does(n't| not) match (the )?(expected )?digest",
        "Source image rejected",
    ),
    cri.Unauthorized: (
        "401 Unauthorized",
        "403 Forbidden",
        "StatusCode: 40[13]",  # CRI-O, when the answer is not one of the protocol
        "unauthorized:",
        "authentication required",
        "access denied",
        "access to the resource is denied",
        "denied:",
        "insufficient_scope",
        "authorization failed",
        "invalid username/password",
        "no basic auth credentials",
    ),
    cri.InvalidReference: (
        "invalid reference format",
        "failed to parse (image )?reference",
        "short-name",
        "invalid image name",
        "repository name must be",
    ),
    cri.RegistryUnavailable: (
        "429 Too Many Requests",
        "toomanyrequests",
        "50[0234] (Internal Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out)",
        "connection refused",
        "connection reset",
        "no such host",
        "i/o timeout",
        "handshake timeout",
        "server misbehaving",
        "unexpected EOF",
        "network is unreachable",
        "pinging container registry",
    ),
    cri.ImageNotFound: (
        "manifest unknown",
        "name unknown",
        "repository name not known",
        "not found",
    ),
    cri.InUse: ("image is in use", "image used by", "in use by a container"),
}

_BY_STATUS: Mapping[Status, type[CriError]] = {
    Status.UNAVAILABLE: cri.Unavailable,
    Status.CANCELLED: cri.Unavailable,
    Status.DEADLINE_EXCEEDED: cri.TimedOut,
    Status.UNIMPLEMENTED: cri.Unsupported,
}


def translated(error: CallFailed, *, call: str, image: str = "") -> CriError:
    message = error.message
    about = "" if image in message else f" of {image}"
    # A name may hold any word, so it is taken out before the words are looked at.
    kind = _kind(error.status, message.replace(image, "") if image else message)
    # Without a connection no call was made: its name would only lead away from the socket.
    prefix = "" if message.startswith("cannot connect to ") else f"{call}{about} failed: "
    return kind(f"{prefix}{message}", image=image)


def _kind(status: Status, message: str) -> type[CriError]:
    prefix = message.partition(":")[0].rpartition(" ")[2]
    if prefix in _BY_PREFIX:
        return _BY_PREFIX[prefix]
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    for kind, wording in _WORDING.items():
        if re.search("|".join(wording), message, re.IGNORECASE):
            return kind
    return cri.ImageNotFound if status is Status.NOT_FOUND else CriError
