"""Options that configure features: their gates, and the credentials of registries.

They load the features and the registry client, which most commands do not need.
"""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from lading.cli import options
from lading.cli.options import Decorator
from lading.wiring.gates import GATES, parse_gates
from lading.wiring.registries import CredentialPlugins, CredentialSettings


def feature_gates_option() -> Decorator:
    """Passes `gates`: every gate with its value."""
    known = ", ".join(f"{gate.name} (default {str(gate.default).lower()})" for gate in GATES)
    return click.option(
        "--feature-gates",
        "gates",
        envvar="LADING_FEATURE_GATES",
        metavar="NAME=BOOL,...",
        callback=options.meaning(parse_gates),
        default="",
        help=f"Features to turn on or off: {known}.",
    )


def credential_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options, and passes `credentials`."""

    @click.option(
        "--pull-secrets",
        "folders",
        metavar="FOLDER",
        type=click.Path(path_type=Path, file_okay=False),
        multiple=True,
        help="The folder where a Kubernetes pull secret (.dockerconfigjson or .dockercfg) is "
        "mounted; may be repeated.",
    )
    @click.option(
        "--image-credential-provider-config",
        "plugin_config",
        metavar="FILE",
        type=click.Path(path_type=Path, exists=True),
        help="The CredentialProviderConfig that the kubelet is started with, or a folder of them.",
    )
    @click.option(
        "--image-credential-provider-bin-dir",
        "plugin_folder",
        metavar="FOLDER",
        type=click.Path(path_type=Path, file_okay=False, exists=True),
        help="The folder with the plugins that the configuration names.",
    )
    @functools.wraps(command)
    def with_credentials(
        *args: Any,
        folders: tuple[Path, ...],
        plugin_config: Path | None,
        plugin_folder: Path | None,
        **more: Any,
    ) -> Any:
        credentials = CredentialSettings(
            pull_secret_folders=folders, plugins=_plugins(plugin_config, plugin_folder)
        )
        return command(*args, credentials=credentials, **more)

    return with_credentials


def _plugins(config: Path | None, folder: Path | None) -> CredentialPlugins | None:
    if config and folder:
        return CredentialPlugins(config=config, folder=folder)
    if config or folder:
        raise click.UsageError(
            "--image-credential-provider-config and --image-credential-provider-bin-dir"
            " belong together; name both"
        )
    return None
