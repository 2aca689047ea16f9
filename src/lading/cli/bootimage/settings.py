"""The options by which an administrator says where machine sets and boot images are."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec

from lading.boot_images.types import BootImageSettings
from lading.cli import options
from lading.kernel import durations

_DEFAULTS = BootImageSettings()
_OPTIONS = (
    click.option(
        "--machine-namespace",
        "machine_namespaces",
        metavar="NAMESPACE",
        multiple=True,
        default=_DEFAULTS.machine_namespaces,
        show_default=True,
        help="A namespace with machine sets of OpenShift; may be repeated.",
    ),
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
        "--boot-images-namespace",
        "golden_namespace",
        metavar="NAMESPACE",
        default=_DEFAULTS.golden_namespace,
        show_default=True,
        help="The namespace of ConfigMap coreos-bootimages.",
    ),
    click.option(
        "--trusted-boot-image",
        "trusted_boot_images",
        metavar="IMAGE",
        multiple=True,
        help="A boot image that may be replaced without proof that it is the cluster's own; "
        "it may end with *; may be repeated.",
    ),
    click.option(
        "--keep-unused-templates",
        "unused_templates_retention",
        callback=options.meaning(options.period),
        default=durations.format_duration(_DEFAULTS.unused_templates_retention),
        show_default=True,
        metavar="DURATION",
        help="How long to keep clones of Cluster API templates that nothing needs.",
    ),
)

aws_credentials_option = click.option(
    "--aws-credentials-file",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="A credentials file of AWS, profile `default`, to ask EC2 for the owner of an AMI.",
)


def settings_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options and hands them over as `settings`."""
    names = {one.name for one in msgspec.structs.fields(BootImageSettings)}

    @functools.wraps(command)
    def with_settings(*args: Any, **given: Any) -> Any:
        chosen = {name: given.pop(name) for name in names & set(given)}
        return command(*args, settings=BootImageSettings(**chosen), **given)

    for option in reversed(_OPTIONS):
        with_settings = option(with_settings)
    return with_settings
