"""The options that every image command has, as one value, and what they open."""

import functools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import click
import msgspec

from lading.cli.feature_gates import feature_gates_option
from lading.cli.image import endpoints
from lading.cli.image.endpoints import Endpoints
from lading.cli.image.runtime_classes import RuntimeClasses
from lading.kernel.feature_gates import Gates
from lading.kernel.platforms import Platform
from lading.ports.cri import Cri
from lading.runtime_images import handlers
from lading.runtime_images.gate import RUNTIME_CLASS_IN_IMAGE_CRI_API
from lading.runtime_images.state import ImageStateFile
from lading.wiring import image_commands as wiring
from lading.wiring import runtime_handlers

_DEFAULT_STATE = "/var/lib/lading/images.json"


class NodeOptions(msgspec.Struct, frozen=True, kw_only=True):
    endpoints: Endpoints
    gates: Gates
    state_file: Path
    guest_files: tuple[Path, ...]
    """The runtime's own configuration last, because it wins."""
    kubeconfig: Path | None

    @asynccontextmanager
    async def runtime(self) -> AsyncIterator[Cri]:
        """The runtime as the feature gate lets us see it."""
        async with self.whole_runtime() as runtime:
            yield handlers.gated(runtime, self.gates)

    @asynccontextmanager
    async def whole_runtime(self) -> AsyncIterator[Cri]:
        """The runtime with its handlers, also with the gate off."""
        endpoint, images = self.endpoints.runtime, self.endpoints.images
        async with wiring.open_cri(endpoint, image_endpoint=images) as runtime:
            yield runtime

    @property
    def state(self) -> ImageStateFile:
        return wiring.image_state(self.state_file)

    @property
    def runtime_classes(self) -> RuntimeClasses:
        return RuntimeClasses(files=self.guest_files, kubeconfig=self.kubeconfig)

    def guests(self) -> dict[str, Platform]:
        return runtime_handlers.guest_platforms(self.guest_files)

    async def handler(self, runtime: str | None) -> str:
        """What `--runtime` names; the default handler without it."""
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
        help="Socket of the container runtime.",
        metavar="ENDPOINT",
    ),
    click.option(
        "--image-endpoint",
        "-i",
        envvar="IMAGE_SERVICE_ENDPOINT",
        default="",
        help="Socket of the image service, if it is another one.",
        metavar="ENDPOINT",
    ),
    click.option(
        "--config",
        "-c",
        metavar="FILE",
        envvar="CRI_CONFIG_FILE",
        default="/etc/crictl.yaml",
        type=click.Path(path_type=Path),
        show_default=True,
        help="crictl's configuration file.",
    ),
    feature_gates_option(),
    click.option(
        "--state",
        metavar="FILE",
        envvar="LADING_IMAGE_STATE",
        default=_DEFAULT_STATE,
        type=click.Path(path_type=Path),
        show_default=True,
        help="The file with the ages of images, and what was pulled by digest.",
    ),
    click.option(
        "--runtime-config",
        metavar="FILE",
        default=Path("/", runtime_handlers.CONTAINERD_CONFIG),
        type=click.Path(path_type=Path),
        show_default=True,
        help="The runtime's configuration, with guest platforms.",
    ),
    click.option(
        "--guest-platforms",
        metavar="FILE",
        envvar="LADING_GUEST_PLATFORMS",
        default=Path("/", runtime_handlers.DECLARED_TABLE),
        type=click.Path(path_type=Path),
        show_default=True,
        help="The file with the guest platforms and runtime classes that you declare.",
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
    """Gives a command the common options, and their meaning as its first argument."""

    @functools.wraps(function)
    def wrapper(
        runtime_endpoint: str,
        image_endpoint: str,
        config: Path,
        gates: Gates,
        state: Path,
        runtime_config: Path,
        guest_platforms: Path,
        kubeconfig: Path | None,
        **arguments: Any,
    ) -> None:
        node = NodeOptions(
            endpoints=endpoints.find(
                runtime=runtime_endpoint, images=image_endpoint, config=config
            ),
            gates=gates,
            state_file=state,
            guest_files=(guest_platforms, runtime_config),
            kubeconfig=kubeconfig,
        )
        function(node, **arguments)

    command: Callable[..., None] = wrapper
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
