"""Errors of the ports as one sentence and the next step, with exit code 1."""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

import click

from lading.adapters.kube.connection import ConfigurationError
from lading.kernel.errors import Malformed
from lading.ports import cri, kube, registry
from lading.ports.cri import ImageSpec
from lading.runtime_images.errors import EnsureError

_NEXT_STEPS: Mapping[type[Exception], str] = {
    cri.Unavailable: "is the runtime running, and may you use its socket?",
    cri.RegistryUnavailable: "the runtime could not reach the registry; try again later",
    cri.Unauthorized: "give credentials with --creds USER:PASSWORD",
    cri.ImageNotFound: "check the name and the tag",
    cri.NoSpace: "free some with `lading image prune`",
    cri.NoMatchingPlatform: "name a runtime class whose guests can run it with --runtime",
    cri.UnknownHandler: "`crictl info` lists the handlers of the runtime",
    ConfigurationError: "or name the handler itself with --runtime handler:NAME",
    registry.Unauthorized: "give credentials with --creds USER:PASSWORD",
}
_EXPECTED = (
    cri.CriError,
    registry.RegistryError,
    kube.KubeError,
    ConfigurationError,
    EnsureError,
    Malformed,
    OSError,
)


def run(work: Coroutine[Any, Any, None]) -> None:
    """Runs the command; what was to be expected ends it in a sentence, a bug in a traceback."""
    try:
        asyncio.run(work)
    except _EXPECTED as error:
        raise click.ClickException(sentence(error)) from error
    except KeyboardInterrupt:
        raise click.Abort from None


def no_such_image(spec: ImageSpec) -> click.ClickException:
    handler = f" for runtime handler {spec.runtime_handler}" if spec.runtime_handler else ""
    return click.ClickException(
        f"no such image {spec.image!r}{handler}; `lading image ls` lists them"
    )


def sentence(error: Exception) -> str:
    step = next((step for kind, step in _NEXT_STEPS.items() if isinstance(error, kind)), "")
    return f"{error}; {step}" if step else str(error)
