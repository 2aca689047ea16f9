"""The two options that name credential plugins, in the kubelet's own words."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from lading.wiring.registries import CredentialPlugins


def plugin_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options, and hands over what they name as `plugins`."""

    @click.option(
        "--image-credential-provider-config",
        "plugin_config",
        type=click.Path(path_type=Path, dir_okay=False, exists=True),
        help="The CredentialProviderConfig that the kubelet is started with.",
    )
    @click.option(
        "--image-credential-provider-bin-dir",
        "plugin_folder",
        type=click.Path(path_type=Path, file_okay=False, exists=True),
        help="Where the plugins lie that it names.",
    )
    @functools.wraps(command)
    def with_plugins(
        *args: Any, plugin_config: Path | None, plugin_folder: Path | None, **more: Any
    ) -> Any:
        plugins = None
        if plugin_config and plugin_folder:
            plugins = CredentialPlugins(config=plugin_config, folder=plugin_folder)
        elif plugin_config or plugin_folder:
            raise click.UsageError(
                "--image-credential-provider-config and --image-credential-provider-bin-dir"
                " belong together; name both"
            )
        return command(*args, plugins=plugins, **more)

    return with_plugins
