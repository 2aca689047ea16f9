"""Pruning on a schedule as a feature: its gate, its kind, its rights and its controller."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lading.api import imageregistry, openshift_config
from lading.api.core import CONFIG_MAPS, CRON_JOBS, JOBS, PODS
from lading.api.imageregistry import IMAGE_PRUNER, IMAGE_PRUNERS, IMAGE_REGISTRY_CONFIGS, NAME
from lading.api.rbac import (
    CLUSTER_ROLE_BINDINGS,
    NAMESPACE,
    RBAC_GROUP,
    READ,
    SERVICE_ACCOUNTS,
    Right,
)
from lading.loop.feature import Component, Context, Feature, Kind, Tasks
from lading.pruning.operator import controller as operator
from lading.pruning.operator.metrics import ImagePrunerMetrics
from lading.pruning.operator.types import (
    DECISION_NAME,
    IMAGE_PRUNER_GATE,
    OBJECT_NAME,
    OPENSHIFT_ROLE,
    REPORT_NAME,
    SYSTEM_ROLE,
    PrunerSettings,
)

_OWN = (NAMESPACE,)
_BINDINGS = (OBJECT_NAME, f"{OBJECT_NAME}-system", OPENSHIFT_ROLE)


@asynccontextmanager
async def _open_controller(context: Context) -> AsyncIterator[Tasks]:
    """With the gate off, as after a downgrade, the CronJob stays and works."""
    if not context.gates[IMAGE_PRUNER_GATE]:
        yield Tasks()
        return
    caches = operator.PrunerCaches.of(context.informers, context.namespace)
    configs = context.optional(IMAGE_REGISTRY_CONFIGS)
    cluster_versions = context.optional(openshift_config.CLUSTER_VERSIONS)
    reconciler = operator.ImagePrunerReconciler(
        kube=context.kube,
        clock=context.clock,
        caches=caches,
        configs=configs,
        cluster_versions=cluster_versions,
        settings=context.setting(PrunerSettings) or PrunerSettings(),
        namespace=context.namespace,
        recorder=context.recorder,
    )
    ImagePrunerMetrics(context.metrics.registry, pruner_facts=lambda: reconciler.facts)
    controller = context.controller(
        name=operator.CONTROLLER, reconcile=reconciler.reconcile, workers=1
    )
    operator.watch(controller, caches, configs, cluster_versions)
    yield Tasks(controllers=(controller,), support=(configs, cluster_versions))


def _right(
    group: str,
    *resources: str,
    verbs: tuple[str, ...],
    names: tuple[str, ...] = (),
    namespaces: tuple[str, ...] = (),
    why: str = "",
) -> Right:
    return Right(
        group=group, resources=resources, verbs=verbs, names=names, namespaces=namespaces, why=why
    )


REPORT_RIGHTS = (
    _right(
        imageregistry.GROUP,
        "imagepruners/status",
        verbs=("patch",),
        names=(NAME,),
        why="The Job reports its progress.",
    ),
)
"""Of the Job, in the whole cluster."""
REPORT_MAP_RIGHTS = (
    _right(
        CONFIG_MAPS.group,
        "configmaps",
        verbs=("patch",),
        names=(REPORT_NAME,),
        namespaces=_OWN,
        why="The Job reports here if the status of the ImagePruner has no field for it.",
    ),
)
FEATURE = Feature(
    name="pruning",
    gate=IMAGE_PRUNER_GATE,
    summary="Prunes images on the schedule of an ImagePruner, with a CronJob.",
    owns=(IMAGE_PRUNER,),
    controller=(
        Component(
            open=_open_controller,
            reads=(
                Kind(resource=IMAGE_PRUNERS),
                Kind(resource=CRON_JOBS, namespaces=_OWN, names=(OBJECT_NAME,)),
                Kind(resource=JOBS, namespaces=_OWN),
                Kind(resource=PODS, namespaces=_OWN),
            ),
            rights=(
                _right(
                    imageregistry.GROUP,
                    "imagepruners",
                    verbs=("create",),
                    why="On a new cluster the controller creates the first ImagePruner.",
                ),
                _right(imageregistry.GROUP, "imagepruners/status", verbs=("patch",), names=(NAME,)),
                _right(imageregistry.GROUP, "configs", verbs=READ),
                _right(openshift_config.GROUP, "clusterversions", verbs=READ),
                _right(CRON_JOBS.group, "cronjobs", verbs=("create",), namespaces=_OWN),
                _right(
                    CRON_JOBS.group,
                    "cronjobs",
                    verbs=("patch",),
                    names=(OBJECT_NAME,),
                    namespaces=_OWN,
                ),
                _right(
                    SERVICE_ACCOUNTS.group, "serviceaccounts", verbs=("create",), namespaces=_OWN
                ),
                _right(
                    SERVICE_ACCOUNTS.group,
                    "serviceaccounts",
                    verbs=(*READ, "patch"),
                    names=(OBJECT_NAME,),
                    namespaces=_OWN,
                ),
                _right(CONFIG_MAPS.group, "configmaps", verbs=("create",), namespaces=_OWN),
                _right(
                    CONFIG_MAPS.group,
                    "configmaps",
                    verbs=READ,
                    names=(DECISION_NAME, REPORT_NAME),
                    namespaces=_OWN,
                ),
                _right(
                    RBAC_GROUP,
                    CLUSTER_ROLE_BINDINGS.plural,
                    verbs=("create",),
                    why="Only the roles below can be bound.",
                ),
                _right(
                    RBAC_GROUP,
                    CLUSTER_ROLE_BINDINGS.plural,
                    verbs=(*READ, "patch", "delete"),
                    names=_BINDINGS,
                ),
                _right(
                    RBAC_GROUP,
                    "clusterroles",
                    verbs=("bind",),
                    names=(OBJECT_NAME, OPENSHIFT_ROLE, SYSTEM_ROLE),
                ),
            ),
        ),
    ),
)
