"""The rights that a run needs in a cluster, as a role; the reader of references is their source."""

from collections.abc import Iterable

from lading.api.rbac import Right
from lading.pruning.engine import custom_paths, observe

READ = ("get", "list", "watch")


def _by_group(resources: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for group, plural in sorted(resources):
        found[group] = (*found.get(group, ()), plural)
    return found


RIGHTS: tuple[Right, ...] = (
    *(
        Right(group=group, resources=plurals, verbs=READ)
        for group, plurals in _by_group(observe.KINDS).items()
    ),
    *(
        Right(group=group, resources=("*",), verbs=READ, why="custom resources that name images")
        for group in sorted({one.group for one in custom_paths.READY_MADE})
    ),
    Right(
        group="",
        resources=("namespaces",),
        verbs=("get",),
        names=("kube-system",),
        why="its UID is the identity of the cluster",
    ),
    Right(
        group="",
        resources=("limitranges",),
        verbs=("list",),
        why="the rest is only for ImageStreams",
    ),
    Right(group="image.openshift.io", resources=("images",), verbs=("list", "delete")),
    Right(group="image.openshift.io", resources=("imagestreams/status",), verbs=("update",)),
)
