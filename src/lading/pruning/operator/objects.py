"""The objects of the pruner: its account, its bindings and the CronJob. Pure.

The pod has one container for ImageStreams and one for each registry of the spec. Each has its own
exit code and its own report, so that a failure of one does not stop the others.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from lading.api.core import CONFIG_MAPS, CRON_JOBS
from lading.api.definitions import OWNER, OWNER_LABEL
from lading.api.imageregistry import (
    IMAGE_PRUNERS,
    LogLevel,
    StoredImagePruner,
)
from lading.api.pruned_registries import PrunedRegistry, RegistryTrash
from lading.api.rbac import CLUSTER_ROLE_BINDINGS, RBAC_GROUP, SERVICE_ACCOUNTS
from lading.kernel.objects import Resource
from lading.pruning.operator.types import (
    COMPONENT,
    COMPONENT_LABEL,
    FOLDER,
    IMAGE_STREAMS,
    OBJECT_NAME,
    OPENSHIFT_ROLE,
    POD_LABELS,
    REPORT_NAME,
    STORAGE_FOLDER,
    SYSTEM_ROLE,
    EffectiveSpec,
)

Document = dict[str, Any]
HASH_ANNOTATION = "lading.dev/image-pruner-spec"
SELECTOR = f"{COMPONENT_LABEL}={COMPONENT}"
TIME_ZONE = "Etc/UTC"
RETRIES = 3
"""Of failed pods. Evictions do not count."""
USAGE_ERROR, REFUSED = 2, 3
"""Exit codes that a retry would not change."""
_VERBOSE = (LogLevel.DEBUG, LogLevel.TRACE, LogLevel.TRACE_ALL)
_USER_ID = 65532
_CONTAINER_SECURITY = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
_POD_SECURITY = {
    "runAsNonRoot": True,
    "runAsUser": _USER_ID,
    "runAsGroup": _USER_ID,
    "fsGroup": _USER_ID,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def account(pruner: StoredImagePruner, namespace: str) -> Document:
    return _object(SERVICE_ACCOUNTS, OBJECT_NAME, pruner, namespace)


def report_map(pruner: StoredImagePruner, namespace: str) -> Document:
    return _object(CONFIG_MAPS, REPORT_NAME, pruner, namespace)


def bindings(pruner: StoredImagePruner, namespace: str, *, is_openshift: bool) -> list[Document]:
    roles = (SYSTEM_ROLE, OPENSHIFT_ROLE) if is_openshift else (OBJECT_NAME,)
    return [_binding(role, pruner, namespace) for role in roles]


def binding_name(role: str) -> str:
    return {SYSTEM_ROLE: f"{OBJECT_NAME}-system"}.get(role, role)


def _binding(role: str, pruner: StoredImagePruner, namespace: str) -> Document:
    return {
        **_object(CLUSTER_ROLE_BINDINGS, binding_name(role), pruner),
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": OBJECT_NAME, "namespace": namespace}],
    }


def cron_job(
    pruner: StoredImagePruner,
    spec: EffectiveSpec,
    *,
    namespace: str,
    image: str,
    prune_registry: bool,
    reports_to_map: bool,
) -> Document:
    body = _object(CRON_JOBS, OBJECT_NAME, pruner, namespace)
    body["spec"] = {
        "schedule": spec.schedule,
        "timeZone": TIME_ZONE,
        "suspend": spec.suspend,
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": spec.starting_deadline_seconds,
        "successfulJobsHistoryLimit": spec.successful_jobs_history_limit,
        "failedJobsHistoryLimit": spec.failed_jobs_history_limit,
        "jobTemplate": {
            "metadata": {"labels": dict(POD_LABELS)},
            "spec": {
                "backoffLimit": RETRIES,
                "podFailurePolicy": _FAILURE_POLICY,
                "template": {
                    "metadata": {"labels": dict(POD_LABELS)},
                    "spec": _pod(spec, image, prune_registry, reports_to_map),
                },
            },
        },
    }
    body["metadata"]["annotations"] = {HASH_ANNOTATION: hash_of(body["spec"])}
    return body


def hash_of(spec: Mapping[str, Any]) -> str:
    text = json.dumps(spec, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


_FAILURE_POLICY = {
    "rules": [
        {
            "action": "FailJob",
            "onExitCodes": {"operator": "In", "values": [USAGE_ERROR, REFUSED]},
        },
        {
            "action": "Ignore",
            "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
        },
    ]
}


def _object(
    resource: Resource[Any], name: str, pruner: StoredImagePruner, namespace: str = ""
) -> Document:
    metadata: Document = {
        "name": name,
        "labels": {**POD_LABELS, OWNER_LABEL: OWNER},
        "ownerReferences": [
            {
                "apiVersion": IMAGE_PRUNERS.api_version,
                "kind": IMAGE_PRUNERS.kind,
                "name": pruner.metadata.name,
                "uid": pruner.metadata.uid,
                "controller": True,
            }
        ],
    }
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}


def _pod(spec: EffectiveSpec, image: str, prune_registry: bool, reports_to_map: bool) -> Document:
    common = (
        *("prune", "images", "--confirm=true", "--all=true"),
        f"--keep-tag-revisions={spec.keep_tag_revisions}",
        f"--keep-younger-than={spec.keep_younger_than}",
        f"--prune-registry={str(prune_registry).lower()}",
        "--ok-if-no-registry",
        *(("--log-level=debug",) if spec.log_level in _VERBOSE else ()),
        f"--report-to={'configmap' if reports_to_map else 'imagepruner'}",
    )
    own = (*common, f"--run-name={IMAGE_STREAMS}", "--source=imagestreams")
    containers = [_container(IMAGE_STREAMS, own, spec, image)]
    containers += [_of_registry(one, common, spec, image) for one in spec.registries]
    pod: Document = {
        "restartPolicy": "Never",
        "serviceAccountName": OBJECT_NAME,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 30,
        "nodeSelector": {"kubernetes.io/os": "linux", **spec.node_selector},
        "securityContext": _POD_SECURITY,
        "containers": containers,
    }
    volumes = [volume for one in spec.registries for volume, _ in _volumes(one)]
    optional = {
        "affinity": dict(spec.affinity),
        "tolerations": [dict(one) for one in spec.tolerations],
        "volumes": volumes,
    }
    return {**pod, **{name: value for name, value in optional.items() if value}}


def _container(name: str, arguments: tuple[str, ...], spec: EffectiveSpec, image: str) -> Document:
    environment = [
        {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
    ]
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "args": list(arguments),
        "env": environment,
        "resources": dict(spec.resources),
        "securityContext": _CONTAINER_SECURITY,
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def _of_registry(
    one: PrunedRegistry, common: tuple[str, ...], spec: EffectiveSpec, image: str
) -> Document:
    source = "storage" if one.storage else "registry"
    arguments = (
        *common,
        f"--run-name={one.name}",
        f"--source={source}",
        f"--registry-url={one.url}",
        *(f"--registry-name={name}" for name in one.registry_names),
        *_optional_arguments(one),
    )
    made = _container(f"registry-{one.name}", arguments, spec, image)
    mounts = [mount for _, mount in _volumes(one)]
    if mounts:
        made["volumeMounts"] = mounts
    if one.credentials_secret_name:
        file = f"{_folder(one, 'credentials')}/.dockerconfigjson"
        made["env"] = [*made["env"], {"name": "REGISTRY_AUTH_FILE", "value": file}]
    if one.storage and one.storage.secret_name:
        made["envFrom"] = [{"secretRef": {"name": one.storage.secret_name}}]
    return made


def _optional_arguments(one: PrunedRegistry) -> Iterator[str]:
    if one.storage and one.storage.claim_name:
        yield f"--storage=file://{_storage_folder(one)}"
    elif one.storage:
        yield f"--storage={one.storage.url}"
    if one.sweep:
        yield "--sweep-blobs"
        yield f"--sweep-grace={one.sweep.grace}"
        yield from (f"--sweep-replica={replica}" for replica in one.sweep.replicas)
    if one.policy_config_map_name:
        yield f"--policy={_folder(one, 'policy')}/policy.yaml"
    if one.certificate_authority_config_map_name:
        yield f"--certificate-authority={_folder(one, 'authority')}/ca.crt"
    trash = one.trash or RegistryTrash()
    if trash.disabled:
        yield "--no-trash"
    elif one.trash:
        yield f"--trash-period={trash.period}"
        if trash.repository:
            yield f"--trash-repository={trash.repository}"
    for number, _ in enumerate(one.kubeconfig_secret_names):
        yield f"--other-kubeconfig={_folder(one, f'cluster-{number}')}/kubeconfig"


def _folder(one: PrunedRegistry, what: str) -> str:
    return f"{FOLDER}/{one.name}/{what}"


def _volumes(one: PrunedRegistry) -> Iterator[tuple[Document, Document]]:
    """Each volume with its mount."""
    secrets = {
        "credentials": one.credentials_secret_name,
        **{f"cluster-{number}": name for number, name in enumerate(one.kubeconfig_secret_names)},
    }
    config_maps = {
        "policy": one.policy_config_map_name,
        "authority": one.certificate_authority_config_map_name,
    }
    for what, name in config_maps.items():
        if name:
            yield _volume(one, what, {"configMap": {"name": name}})
    for what, name in secrets.items():
        if name:
            yield _volume(one, what, {"secret": {"secretName": name}})
    if one.storage and one.storage.claim_name:
        claim = {"persistentVolumeClaim": {"claimName": one.storage.claim_name}}
        volume, mount = _volume(one, "storage", claim)
        yield volume, {"name": mount["name"], "mountPath": _storage_folder(one)}


def _volume(one: PrunedRegistry, what: str, source: Document) -> tuple[Document, Document]:
    name = f"{one.name}-{what}"
    mount = {"name": name, "mountPath": _folder(one, what), "readOnly": True}
    return {"name": name, **source}, mount


def _storage_folder(one: PrunedRegistry) -> str:
    return f"{STORAGE_FOLDER}/{one.name}"
