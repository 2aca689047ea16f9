"""Expected errors as one sentence with the next step.

Expected are Lading's own errors and those of the operating system (a file, a port). Any other
error is a bug and keeps its traceback.
"""

import errno
import re
from collections.abc import Mapping
from enum import IntEnum

import click

from lading.adapters.kube.connection import NothingConfigured
from lading.ports import cri, kube, registry, storage

_GIVE_CREDENTIALS = (
    "log in to it with `docker login` or `podman login`, name your auth file in"
    " REGISTRY_AUTH_FILE, or use --creds of `lading image pull`"
)
_NEXT_STEPS: Mapping[type[Exception], str] = {
    cri.Unavailable: "check that the runtime runs and that you may use its socket",
    cri.RegistryUnavailable: "check the registry in the name, and that this machine reaches it",
    cri.Unauthorized: _GIVE_CREDENTIALS,
    cri.ImageNotFound: "check the name, and the tag or the digest",
    cri.NoSpace: "free some with `lading image gc`",
    cri.NoMatchingPlatform: "name a runtime class that can run it with --runtime",
    cri.UnknownHandler: "`crictl info` lists the handlers of the runtime",
    registry.Unauthorized: _GIVE_CREDENTIALS,
    registry.NoMatchingPlatform: "name a runtime class that can run it with --runtime",
    kube.Unavailable: "check that the cluster runs, and the server address in the kubeconfig",
    kube.Unauthorized: "the API server refuses the credentials, check the user of the kubeconfig",
    kube.Forbidden: "ask an administrator of the cluster for this right",
    storage.NotFound: "check the name of the bucket or folder",
    storage.Denied: "allow the pruner to list, read, write and delete there",
    storage.Unavailable: "check the storage, and run the command again",
    storage.Full: "stop the registry or make it read-only, and use --offline",
    NothingConfigured: "or start a cluster on this machine with `lading up`",
}
_BOUND_ADDRESS = re.compile(r"address \('(?P<host>[^']+)', (?P<port>\d+)")


def message(error: BaseException) -> str | None:
    """None for a bug."""
    if isinstance(error, BaseExceptionGroup):
        found = [message(inner) for inner in error.exceptions]
        known = [one for one in found if one is not None]
        return "; ".join(dict.fromkeys(known)) if len(known) == len(found) else None
    if isinstance(error, OSError) and error.errno != errno.EPIPE:
        return _of_the_system(error)
    if not type(error).__module__.startswith("lading."):
        return None
    step = next((step for kind, step in _NEXT_STEPS.items() if isinstance(error, kind)), "")
    return _with_step(str(error), step)


def _with_step(text: str, step: str) -> str:
    """Some errors of a registry already end with what to check."""
    if not step or ". Check the " in text:
        return text
    return f"{text.removesuffix('.')}; {step}"


def _of_the_system(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"{_address(error)} is already in use; choose another port, or stop the process that"
            " uses it"
        )
    if error.filename is None:
        return error.strerror or str(error)
    return f"{error.filename}: {error.strerror}"


def _address(error: OSError) -> str:
    """asyncio writes the address that it could not bind into its message, as a tuple."""
    found = _BOUND_ADDRESS.search(error.strerror or "")
    return f"{found['host']}:{found['port']}" if found else "the address"


class ExitCode(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3
    TIMED_OUT = 124  # as timeout(1)
    INTERRUPTED = 130  # as a shell


class RefusedByGuard(click.ClickException):
    exit_code = ExitCode.REFUSED


class CommandTimedOut(click.ClickException):
    exit_code = ExitCode.TIMED_OUT
