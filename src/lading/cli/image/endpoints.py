"""Where the container runtime listens, found the way crictl finds it.

An option wins over its environment variable (click does that), then crictl's configuration file,
then the first usual socket that exists.
"""

from collections.abc import Iterable
from pathlib import Path

import click
import msgspec

from lading import files

USUAL_SOCKETS = (
    Path("/run/containerd/containerd.sock"),
    Path("/run/crio/crio.sock"),
    Path("/run/cri-dockerd.sock"),
)


class Endpoints(msgspec.Struct, frozen=True, kw_only=True):
    runtime: str
    images: str
    """The same as `runtime`, unless another service manages the images."""


class _Crictl(msgspec.Struct, rename="kebab"):
    runtime_endpoint: str = ""
    image_endpoint: str = ""


def find(
    *, runtime: str, images: str, config: Path, sockets: Iterable[Path] = USUAL_SOCKETS
) -> Endpoints:
    crictl = _read(config)
    found = runtime or crictl.runtime_endpoint or _existing(sockets) or images
    if not found:
        raise click.ClickException(
            "no container runtime was found on this machine; name its socket with"
            " --runtime-endpoint unix:///path/to.sock"
        )
    return Endpoints(
        runtime=_endpoint(found), images=_endpoint(images or crictl.image_endpoint or found)
    )


def _read(config: Path) -> _Crictl:
    try:
        content = files.read_bounded(config)
    except FileNotFoundError:
        return _Crictl()
    import yaml  # slow to load, and most machines have no such file

    from lading.kernel import yaml_text

    try:
        return msgspec.convert(yaml_text.value(content) or {}, _Crictl)
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise click.ClickException(
            f"{config} cannot be read as crictl's configuration: {error}"
        ) from error


def _existing(sockets: Iterable[Path]) -> str:
    return next((f"unix://{socket}" for socket in sockets if socket.exists()), "")


def _endpoint(text: str) -> str:
    """A plain path is a socket, as crictl still accepts it."""
    return f"unix://{text}" if text.startswith("/") else text
