"""The options that every image command has, and the runtime that they lead to.

The socket of the runtime is found as crictl finds it: the option, its variable, crictl's
configuration file, then the first usual socket that exists.
"""

import functools
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import click
import msgspec
import yaml

from lading import files
from lading.cli import feature_options, options
from lading.cli.image.runtime_classes import RuntimeClasses
from lading.kernel import yaml_text
from lading.kernel.feature_gates import Gates
from lading.kernel.platforms import Platform
from lading.ports.cri import Cri
from lading.runtime_images import handlers
from lading.runtime_images.state import ImageStateFile
from lading.runtime_images.types import RUNTIME_CLASS_IN_IMAGE_CRI_API
from lading.wiring import machine

CRICTL_CONFIG = Path("/etc/crictl.yaml")
USUAL_SOCKETS = (
    Path("/run/containerd/containerd.sock"),
    Path("/run/crio/crio.sock"),
    Path("/run/cri-dockerd.sock"),
)
_STATE_FILE = "images.json"


class _Crictl(msgspec.Struct, rename="kebab"):
    runtime_endpoint: str = ""


def find_endpoint(
    named: str, *, config: Path = CRICTL_CONFIG, sockets: Iterable[Path] = USUAL_SOCKETS
) -> str:
    found = named or _read(config).runtime_endpoint or _existing(sockets)
    if not found:
        raise click.ClickException(
            "no container runtime was found on this machine; name its socket with"
            " --runtime-endpoint unix:///path/to.sock"
        )
    # crictl also accepts a plain path as a socket.
    return f"unix://{found}" if found.startswith("/") else found


def _read(config: Path) -> _Crictl:
    try:
        content = files.read_bounded(config)
    except FileNotFoundError:
        return _Crictl()
    try:
        return msgspec.convert(yaml_text.value(content) or {}, _Crictl)
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise click.ClickException(
            f"{config} cannot be read as crictl's configuration: {error}"
        ) from error


def _existing(sockets: Iterable[Path]) -> str:
    return next((f"unix://{socket}" for socket in sockets if socket.exists()), "")


class NodeOptions(msgspec.Struct, frozen=True, kw_only=True):
    endpoint: str
    gates: Gates
    state_file: Path
    guest_files: tuple[Path, ...]
    """The runtime's own configuration last, because it wins."""
    kubeconfig: Path | None

    @asynccontextmanager
    async def runtime(self) -> AsyncIterator[Cri]:
        """Without the gate, every image is for the host."""
        async with self.whole_runtime() as runtime:
            yield handlers.gated(runtime, self.gates)

    @asynccontextmanager
    async def whole_runtime(self) -> AsyncIterator[Cri]:
        """The runtime with its handlers, whatever the gate."""
        async with machine.open_cri(self.endpoint) as runtime:
            yield runtime

    @property
    def state(self) -> ImageStateFile:
        return machine.image_state(self.state_file)

    @property
    def runtime_classes(self) -> RuntimeClasses:
        return RuntimeClasses(files=self.guest_files, kubeconfig=self.kubeconfig)

    def guests(self) -> dict[str, Platform]:
        return machine.guest_platforms(self.guest_files)

    async def handler(self, runtime: str | None) -> str:
        """The handler of `--runtime`, or the default handler."""
        if not runtime:
            return ""
        if not handlers.gate_is_on(self.gates):
            name = RUNTIME_CLASS_IN_IMAGE_CRI_API.name
            raise click.UsageError(
                f"--runtime needs the feature gate {name}, which is off;"
                f" add --feature-gates {name}=true"
            )
        return await self.runtime_classes.handler(runtime)


_OPTIONS = (
    click.option(
        "--runtime-endpoint",
        "-r",
        envvar="CONTAINER_RUNTIME_ENDPOINT",
        default="",
        help="Socket of the container runtime; default: that of /etc/crictl.yaml, else the first "
        "usual socket.",
        metavar="SOCKET",
    ),
    feature_options.feature_gates_option(),
    options.state_dir_option(
        help="The folder of images.json, with the ages of images and those pulled by digest."
    ),
    click.option(
        "--runtime-config",
        metavar="FILE",
        default=Path("/", machine.CONTAINERD_CONFIG),
        type=click.Path(path_type=Path),
        show_default=True,
        help="The runtime's configuration, with guest platforms.",
    ),
    click.option(
        "--kubeconfig",
        metavar="FILE",
        default=None,
        type=click.Path(path_type=Path),
        help="The kubeconfig of the cluster with the runtime classes.",
    ),
)


def with_node_options(function: Callable[..., None]) -> Callable[..., None]:
    """Adds the options, and passes a NodeOptions as the first argument."""

    @functools.wraps(function)
    def wrapper(
        runtime_endpoint: str,
        gates: Gates,
        state_dir: Path,
        runtime_config: Path,
        kubeconfig: Path | None,
        **arguments: Any,
    ) -> None:
        node = NodeOptions(
            endpoint=find_endpoint(runtime_endpoint),
            gates=gates,
            state_file=state_dir / _STATE_FILE,
            guest_files=(Path("/", machine.DECLARED_TABLE), runtime_config),
            kubeconfig=kubeconfig,
        )
        function(node, **arguments)

    command: Callable[..., None] = wrapper
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
