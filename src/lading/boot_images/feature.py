"""Managed boot images as a feature: its gate, its kinds, its rights and its controllers.

Each API with machine sets is a component, so that neither waits for the kinds of the other.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from lading.api import cluster_api, machine, openshift_config, operator
from lading.api.cluster_api import CLUSTER_MACHINE_SETS
from lading.api.core import CONFIG_MAPS, NODES
from lading.api.machine import MACHINE_SETS
from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.boot_image_history import (
    MACHINE_SET_BOOT_IMAGE_HISTORIES,
    MACHINE_SET_BOOT_IMAGE_HISTORY,
)
from lading.api.operator import MACHINE_CONFIGURATION, MACHINE_CONFIGURATIONS
from lading.api.rbac import NAMESPACE, READ, Right
from lading.boot_images import controller as boot
from lading.boot_images import status_controller
from lading.boot_images.metrics import BootImageMetrics
from lading.boot_images.platforms.types import Api
from lading.boot_images.types import MANAGED_BOOT_IMAGES, BootImageSettings, CloudAccess
from lading.loop.feature import Component, Context, Feature, Kind, Tasks

OVERLAY = "boot-images"
_DEFAULTS = BootImageSettings()
_HISTORIES = Kind(resource=MACHINE_SET_BOOT_IMAGE_HISTORIES, namespaces=(NAMESPACE,))
_CONFIGURATIONS = Kind(resource=MACHINE_CONFIGURATIONS)
_KINDS = {
    Api.MACHINE: Kind(resource=MACHINE_SETS, namespaces=_DEFAULTS.machine_namespaces),
    Api.CLUSTER: Kind(
        resource=CLUSTER_MACHINE_SETS,
        other_versions=cluster_api.VERSIONS[1:],
        namespaces=_DEFAULTS.cluster_api_namespaces,
    ),
}
_COMMON = (
    _CONFIGURATIONS,
    _HISTORIES,
    Kind(resource=NODES),
    Kind(resource=CONFIG_MAPS, namespaces=(_DEFAULTS.golden_namespace,)),
)


@asynccontextmanager
async def _open_machine_sets(api: Api, context: Context) -> AsyncIterator[Tasks]:
    """If the gate is off there is nothing to undo, and the rights may be missing."""
    if not context.gates[MANAGED_BOOT_IMAGES]:
        yield Tasks()
        return
    settings = context.setting(BootImageSettings) or _DEFAULTS
    resource = context.served[_KINDS[api]]
    caches = boot.BootImageCaches.of(context.informers, resource, api, settings, context.namespace)
    cluster_versions = context.optional(openshift_config.CLUSTER_VERSIONS)
    infrastructures = context.optional(openshift_config.INFRASTRUCTURES)
    reconciler = boot.MachineSetsReconciler(
        api=api,
        machine_sets=resource,
        kube=context.kube,
        clock=context.clock,
        caches=caches,
        cluster_versions=cluster_versions,
        infrastructures=infrastructures,
        settings=settings,
        recorder=context.recorder,
        namespace=context.namespace,
        ec2=(context.setting(CloudAccess) or CloudAccess()).ec2,
    )
    controller = context.controller(
        name=f"boot-images-{api.partition('.')[0]}", reconcile=reconciler.reconcile, workers=1
    )
    boot.watch(controller, caches, cluster_versions, infrastructures, settings)
    yield Tasks(controllers=(controller,), support=(cluster_versions, infrastructures))


@asynccontextmanager
async def _open_status(context: Context) -> AsyncIterator[Tasks]:
    caches = status_controller.StatusCaches.of(context.informers, context.namespace)
    reconciler = status_controller.StatusReconciler(
        kube=context.kube,
        clock=context.clock,
        caches=caches,
        metrics=BootImageMetrics(context.metrics.registry),
        is_on=context.gates[MANAGED_BOOT_IMAGES],
    )
    controller = context.controller(
        name="boot-images-report", reconcile=reconciler.reconcile, workers=1
    )
    settings = context.setting(BootImageSettings) or _DEFAULTS
    status_controller.watch(controller, caches, settings, context.pools.changed)
    yield Tasks(controllers=(controller,), pool_facts=reconciler)


def _right(
    api_group: str, *resources: str, verbs: tuple[str, ...], namespaces: tuple[str, ...] = ()
) -> Right:
    return Right(
        group=api_group, resources=resources, verbs=verbs, namespaces=namespaces, overlay=OVERLAY
    )


def _stub_right(namespaces: tuple[str, ...]) -> Right:
    return Right(
        group="",
        resources=("secrets",),
        verbs=("get", "create", "patch"),
        namespaces=namespaces,
        overlay=OVERLAY,
        why="Stubs are read by name and copied; they are neither listed nor deleted.",
    )


def _event_right(namespaces: tuple[str, ...]) -> Right:
    """Events are written in the namespace of the machine set."""
    verbs = ("create", "patch")
    return _right("events.k8s.io", "events", verbs=verbs, namespaces=namespaces)


_CLUSTER_FACTS = _right(openshift_config.GROUP, "clusterversions", "infrastructures", verbs=READ)
_HISTORY_RIGHTS = (
    _right(
        group.NAME,
        "machinesetbootimagehistories",
        verbs=("create", "patch", "delete"),
        namespaces=(NAMESPACE,),
    ),
    _right(
        group.NAME,
        "machinesetbootimagehistories/status",
        verbs=("patch",),
        namespaces=(NAMESPACE,),
    ),
)
_PROOF_RIGHT = Right(
    group="",
    resources=("configmaps",),
    verbs=("patch",),
    names=("coreos-bootimages",),
    namespaces=(_DEFAULTS.golden_namespace,),
    overlay=OVERLAY,
    why="The proof that a node runs the release is kept as an annotation.",
)

FEATURE = Feature(
    name="boot-images",
    gate=MANAGED_BOOT_IMAGES,
    summary=(
        "Keeps machine sets at the boot image of the release, with a stub that the image can read."
    ),
    owns=(MACHINE_CONFIGURATION, MACHINE_SET_BOOT_IMAGE_HISTORY),
    controller=(
        Component(
            open=partial(_open_machine_sets, Api.MACHINE),
            alternatives_group="machine sets",
            reads=(_KINDS[Api.MACHINE], *_COMMON),
            overlay=OVERLAY,
            rights=(
                _right(
                    machine.GROUP,
                    "machinesets",
                    verbs=("patch",),
                    namespaces=_DEFAULTS.machine_namespaces,
                ),
                _stub_right(_DEFAULTS.machine_namespaces),
                _event_right(_DEFAULTS.machine_namespaces),
                _right(
                    machine.GROUP,
                    "machines",
                    verbs=("list",),
                    namespaces=_DEFAULTS.machine_namespaces,
                ),
                _CLUSTER_FACTS,
                _PROOF_RIGHT,
                *_HISTORY_RIGHTS,
            ),
        ),
        Component(
            open=partial(_open_machine_sets, Api.CLUSTER),
            alternatives_group="machine sets",
            reads=(_KINDS[Api.CLUSTER], *_COMMON),
            overlay=OVERLAY,
            rights=(
                _right(
                    cluster_api.GROUP,
                    "machinesets",
                    verbs=("patch",),
                    namespaces=_DEFAULTS.cluster_api_namespaces,
                ),
                Right(
                    group=cluster_api.TEMPLATE_GROUP,
                    resources=(
                        "gcpmachinetemplates",
                        "awsmachinetemplates",
                        "azuremachinetemplates",
                    ),
                    verbs=("get", "list", "create", "patch", "delete"),
                    namespaces=_DEFAULTS.cluster_api_namespaces,
                    overlay=OVERLAY,
                    why="Templates are cloned; a clone that nothing needs is marked and removed.",
                ),
                _right(
                    cluster_api.GROUP,
                    "clusters",
                    verbs=("get",),
                    namespaces=_DEFAULTS.cluster_api_namespaces,
                ),
                _right(
                    cluster_api.GROUP,
                    "machinedeployments",
                    "machines",
                    verbs=("list",),
                    namespaces=_DEFAULTS.cluster_api_namespaces,
                ),
                _right(
                    cluster_api.TEMPLATE_GROUP,
                    "gcpmachines",
                    "awsmachines",
                    "azuremachines",
                    verbs=("list",),
                    namespaces=_DEFAULTS.cluster_api_namespaces,
                ),
                _stub_right(_DEFAULTS.cluster_api_namespaces),
                _event_right(_DEFAULTS.cluster_api_namespaces),
            ),
        ),
        Component(
            open=_open_status,
            reads=(_CONFIGURATIONS, _HISTORIES),
            contributes_to_pools=True,
            rights=(
                Right(
                    group=operator.GROUP,
                    resources=("machineconfigurations/status",),
                    verbs=("patch",),
                ),
            ),
        ),
    ),
)
