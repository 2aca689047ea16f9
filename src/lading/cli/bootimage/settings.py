"""The options by which an administrator says where machine sets and boot images are."""

import functools
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import click

from lading.boot_images.types import BootImageSettings
from lading.cli import options
from lading.kernel import durations

_DEFAULTS = BootImageSettings()


def settings_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options and hands them over as `settings`."""

    @click.option(
        "--machine-namespace",
        "machine_namespaces",
        multiple=True,
        default=_DEFAULTS.machine_namespaces,
        show_default=True,
        help="A namespace with machine sets of OpenShift; may be repeated.",
    )
    @click.option(
        "--cluster-api-namespace",
        "cluster_api_namespaces",
        multiple=True,
        default=_DEFAULTS.cluster_api_namespaces,
        show_default=True,
        help="A namespace with machine sets of Cluster API; may be repeated.",
    )
    @click.option(
        "--cluster-name",
        default="",
        help="The Cluster of Cluster API; else OpenShift's infrastructure name.",
    )
    @click.option(
        "--boot-images-namespace",
        "golden_namespace",
        default=_DEFAULTS.golden_namespace,
        show_default=True,
        help="The namespace of ConfigMap coreos-bootimages.",
    )
    @click.option(
        "--trusted-boot-image",
        "trusted_boot_images",
        multiple=True,
        help="A boot image that may be replaced; * at its end matches all; may be repeated.",
    )
    @click.option(
        "--keep-unused-templates",
        "unused_templates_kept_for",
        callback=options.meaning(durations.parse),
        default=durations.format_duration(_DEFAULTS.unused_templates_kept_for),
        show_default=True,
        metavar="DURATION",
        help="How long clones of templates stay after nothing needs them.",
    )
    @functools.wraps(command)
    def with_settings(
        *args: Any,
        machine_namespaces: tuple[str, ...],
        cluster_api_namespaces: tuple[str, ...],
        cluster_name: str,
        golden_namespace: str,
        trusted_boot_images: tuple[str, ...],
        unused_templates_kept_for: timedelta,
        **more: Any,
    ) -> Any:
        settings = BootImageSettings(
            machine_namespaces=machine_namespaces,
            cluster_api_namespaces=cluster_api_namespaces,
            cluster_name=cluster_name,
            golden_namespace=golden_namespace,
            trusted_boot_images=trusted_boot_images,
            unused_templates_kept_for=unused_templates_kept_for,
        )
        return command(*args, settings=settings, **more)

    return with_settings
