"""The options that name the API server, and its client.

Without options, the cluster is the one that kubectl would use, else the cluster of `lading up` in
its default folder.
"""

import functools
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import click
import msgspec

from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.connection import Connection, NothingConfigured
from lading.cli import output
from lading.wiring import clusters
from lading.wiring.clock import system_clock


def default_data() -> Path:
    """A user without a home, as in some pods, gets a folder in /var/lib."""
    home = Path(os.path.expanduser("~"))
    data = home / ".local/share" if home.is_absolute() else Path("/var/lib")
    return Path(os.environ.get("XDG_DATA_HOME") or data) / "lading"


DEFAULT_DATA = default_data()


class Target(msgspec.Struct, frozen=True, kw_only=True):
    kubeconfig: Path | None
    context: str
    namespace: str

    @asynccontextmanager
    async def open(self) -> AsyncIterator[KubeClient]:
        async with clusters.open_client(self.found(), system_clock(), on_warning=_warn) as client:
            yield client

    @property
    def default_namespace(self) -> str:
        return self.namespace or self.found().namespace or "default"

    @property
    def names_a_cluster(self) -> bool:
        """Then no other cluster may be used instead."""
        return bool(self.kubeconfig or self.context or os.environ.get("KUBECONFIG"))

    def found(self) -> Connection:
        try:
            return clusters.find(
                os.environ, file=self.kubeconfig, context=self.context, namespace=self.namespace
            )
        except NothingConfigured:
            standalone = DEFAULT_DATA / "kubeconfig"
            if self.names_a_cluster or not standalone.exists():
                raise
            return clusters.find(os.environ, file=standalone, namespace=self.namespace)


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --kubeconfig, --context and -n, and passes `target`."""

    @click.option(
        "--kubeconfig",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
        help="The kubeconfig file; default: KUBECONFIG, ~/.kube/config, the pod's ServiceAccount, "
        "the cluster of `lading up`.",
    )
    @click.option("--context", metavar="NAME", default="", help="The context of the kubeconfig.")
    @click.option(
        "-n",
        "--namespace",
        metavar="NAME",
        default="",
        help="The namespace; default: the namespace of the context.",
    )
    @functools.wraps(command)
    def with_target(
        *args: Any, kubeconfig: Path | None, context: str, namespace: str, **more: Any
    ) -> Any:
        target = Target(kubeconfig=kubeconfig, context=context, namespace=namespace)
        return command(*args, target=target, **more)

    return with_target


def _warn(text: str) -> None:
    output.sentence(f"Warning: {text}", err=True)
