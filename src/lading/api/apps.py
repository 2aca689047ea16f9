"""apps: DaemonSets, with their spec as the API server sends it."""

from typing import Any

from lading.kernel.objects import Object, Resource


class DaemonSet(Object, frozen=True, kw_only=True):
    spec: dict[str, Any] = {}


DAEMON_SETS = Resource(
    group="apps",
    version="v1",
    kind="DaemonSet",
    plural="daemonsets",
    namespaced=True,
    type=DaemonSet,
)
