"""The rights of a run in a cluster, as a role. They follow the kinds that it reads."""

from collections.abc import Iterable, Iterator

from lading.api.rbac import Right
from lading.kernel.values import replace
from lading.pruning.engine.inventory import observe_streams
from lading.pruning.engine.references import custom_paths, observe

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
        Right(group=group, resources=plurals, verbs=READ, why="custom resources that name images")
        for group, plurals in _by_group(
            {(one.group, one.plural) for one in custom_paths.READY_MADE}
        ).items()
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
    Right(
        group=observe_streams.IMAGE_CONFIGS.group,
        resources=(observe_streams.IMAGE_CONFIGS.plural,),
        verbs=("get",),
        names=(observe_streams.IMAGE_CONFIG,),
        why="It names the registry of the cluster, which alone may get the token.",
    ),
    Right(group="image.openshift.io", resources=("images",), verbs=("get", "list", "delete")),
    Right(group="image.openshift.io", resources=("imagestreams/status",), verbs=("update",)),
)

_OF_SYSTEM_ROLE: dict[tuple[str, str], frozenset[str]] = {
    **dict.fromkeys(
        (
            *(("", one) for one in ("pods", "replicationcontrollers")),
            *(("apps", one) for one in ("daemonsets", "deployments")),
            *(("apps", one) for one in ("replicasets", "statefulsets")),
            *(("batch", one) for one in ("cronjobs", "jobs")),
            *(("build.openshift.io", one) for one in ("buildconfigs", "builds")),
            ("apps.openshift.io", "deploymentconfigs"),
        ),
        frozenset({"get", "list"}),
    ),
    ("", "limitranges"): frozenset({"list"}),
    ("image.openshift.io", "images"): frozenset({"get", "list", "watch", "delete"}),
    ("image.openshift.io", "imagestreams"): frozenset(READ),
    ("image.openshift.io", "imagestreams/status"): frozenset({"update"}),
}
"""What OpenShift's role `system:image-pruner` grants."""


def _lacking() -> Iterator[Right]:
    for right in RIGHTS:
        by_verbs: dict[tuple[str, ...], tuple[str, ...]] = {}
        for resource in right.resources:
            granted = _OF_SYSTEM_ROLE.get((right.group, resource), frozenset())
            verbs = tuple(one for one in right.verbs if one not in granted)
            if verbs:
                by_verbs[verbs] = (*by_verbs.get(verbs, ()), resource)
        for verbs, resources in by_verbs.items():
            yield replace(right, resources=resources, verbs=verbs)


RIGHTS_BESIDE_SYSTEM_ROLE: tuple[Right, ...] = tuple(_lacking())
"""What a run needs on OpenShift besides `system:image-pruner`."""
