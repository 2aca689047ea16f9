"""The options that say which machine sets and boot images Lading may change."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec

from lading.boot_images.types import BootImageSettings
from lading.wiring import clouds

_DEFAULTS = BootImageSettings()
_OPTIONS = (
    click.option(
        "--cluster-api-namespace",
        "cluster_api_namespaces",
        metavar="NAMESPACE",
        multiple=True,
        default=_DEFAULTS.cluster_api_namespaces,
        show_default=True,
        help="A namespace with machine sets of Cluster API; may be repeated.",
    ),
    click.option(
        "--cluster-name",
        metavar="NAME",
        default="",
        help="The Cluster of Cluster API; default: OpenShift's infrastructure name. Without a "
        "name, no machine set of Cluster API is changed.",
    ),
    click.option(
        "--trusted-boot-image",
        "trusted_boot_images",
        metavar="IMAGE",
        multiple=True,
        help="A boot image that may be replaced without proof that it is the cluster's own; "
        "it may end with *; may be repeated.",
    ),
)

_EC2_OPTIONS = (
    click.option(
        "--ask-aws",
        is_flag=True,
        help="Ask EC2 for the owner of an AMI. AWS credentials come from the environment, a web "
        "identity or the metadata service.",
    ),
    click.option(
        "--aws-credentials-file",
        type=click.Path(path_type=Path, dir_okay=False, exists=True),
        help="Ask EC2 with the credentials in this file, profile `default`.",
    ),
)


def settings_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options, and passes `settings`."""
    names = {one.name for one in msgspec.structs.fields(BootImageSettings)}

    @functools.wraps(command)
    def with_settings(*args: Any, **given: Any) -> Any:
        chosen = {name: given.pop(name) for name in names & set(given)}
        return command(*args, settings=BootImageSettings(**chosen), **given)

    for option in reversed(_OPTIONS):
        with_settings = option(with_settings)
    return with_settings


def ec2_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options and hands them over as `clouds`."""

    @functools.wraps(command)
    def with_clouds(
        *args: Any, ask_aws: bool, aws_credentials_file: Path | None, **given: Any
    ) -> Any:
        access = clouds.cloud_access(ask_aws=ask_aws, aws_credentials_file=aws_credentials_file)
        return command(*args, clouds=access, **given)

    for option in reversed(_EC2_OPTIONS):
        with_clouds = option(with_clouds)
    return with_clouds
