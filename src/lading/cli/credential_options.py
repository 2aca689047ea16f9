"""The options that say where credentials are: mounted pull secrets, the kubelet's plugins."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from lading.wiring.registries import CredentialPlugins


def credential_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options, and hands over what they name as `credentials`."""

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
        from lading.wiring.registries import CredentialSettings  # slow to load, unlike --help

        credentials = CredentialSettings(
            pull_secret_folders=folders, plugins=_plugins(plugin_config, plugin_folder)
        )
        return command(*args, credentials=credentials, **more)

    return with_credentials


def _plugins(config: Path | None, folder: Path | None) -> "CredentialPlugins | None":
    from lading.wiring.registries import CredentialPlugins

    if config and folder:
        return CredentialPlugins(config=config, folder=folder)
    if config or folder:
        raise click.UsageError(
            "--image-credential-provider-config and --image-credential-provider-bin-dir"
            " belong together; name both"
        )
    return None
