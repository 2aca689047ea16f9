"""What a controller that was taken over would try, and the words of the policy that refuses it.

`tests/deploy` runs them on the embedded API server and `tests/real` on a real one, with the same
policies. Beside them is what Lading itself writes, which must be accepted.
"""

import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lading.adapters.kube.client import KubeClient
from lading.api.core import CONFIG_MAPS, CRON_JOBS, DAEMON_SETS, PODS, SECRETS
from lading.api.imageregistry import IMAGE_PRUNERS, StoredImagePruner
from lading.api.rbac import CLUSTER_ROLE_BINDINGS, SERVICE_ACCOUNTS
from lading.installation.controller_policies import (
    SERVICE_ACCOUNT_ANNOTATION,
)
from lading.installation.policies import OURS
from lading.kernel.objects import ObjectMeta, Resource
from lading.ports import kube
from lading.ports.kube import PatchType
from lading.prepull import holder
from lading.prepull.types import (
    CONTAINERS_MAX,
    HOLD_KEY_NAME,
    HOLD_PROGRAM,
    HOLDER_LABELS,
    HoldKey,
    PrePullSettings,
    Toleration,
)
from lading.pruning.operator import effective, objects
from lading.pruning.operator.types import OBJECT_NAME
from tests.deploy import manifests
from tests.deploy.manifests import NAMESPACE, Document

MACHINES, STUB = "default", "worker-spec-3-managed"
"""A namespace of machine sets, and a managed stub there."""
BASE_IMAGE = "lading"
"""In `deploy/base`, before a kustomization names it by its digest."""
HELD = "registry.example.com/held:1"
OTHER_IMAGE = "registry.example.com/other:1"
PULL_SECRET, HOLD_IMAGE, PRUNER_IMAGE = "registry-pull", "mirror/lading:1", "mirror/lading:2"
ARGUMENTS = (
    f"--prepull-pull-secret={PULL_SECRET}",
    f"--prepull-hold-image={HOLD_IMAGE}",
    f"--pruner-image={PRUNER_IMAGE}",
)
"""Of the controller's pod, beside its own: what an administrator decided."""
REGISTRY = {
    "name": "main",
    "url": "registry.example.com",
    "registryNames": ["registry.internal:5000"],
    "policyConfigMapName": "policy",
    "credentialsSecretName": "registry-credentials",
    "certificateAuthorityConfigMapName": "authority",
    "storage": {
        "url": "file:///var/lib/registry",
        "secretName": "storage-credentials",
        "claimName": "registry-data",
    },
    "sweep": {"grace": "24h", "replicas": ["registry-0.registry:5000"]},
    "trash": {"period": "168h"},
    "kubeconfigSecretNames": [f"cluster-{number}" for number in range(16)],
}
PRUNER_SPEC = {
    "logLevel": "Debug",
    "registries": [REGISTRY, *({**REGISTRY, "name": f"other-{number}"} for number in range(1, 8))],
    "nodeSelector": {"pool": "infra"},
    "tolerations": [{"key": "infra", "operator": "Exists"}],
    "affinity": {},
}
CONTROLLER_POD = "lading-controller-0"
_DEFAULTS = PrePullSettings()
_KEY = HoldKey(bytes(32))
_HOLDER = "/spec/template/spec"
_JOB = "/spec/jobTemplate/spec/template/spec"
_FIRST = "/containers/0"

Write = Callable[["Attacker"], Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attacker:
    """The controller's account, and what stands in the cluster for it to start from."""

    controller: KubeClient
    own_image: str
    """Of the controller's pod."""

    def daemon_set(self) -> Document:
        return daemon_set(self.own_image)

    def cron_job(self) -> Document:
        return cron_job(self.own_image)

    async def create(self, resource: Resource[Any], body: Document, **where: str) -> None:
        place = where or {"namespace": NAMESPACE}
        with contextlib.suppress(kube.AlreadyExists):  # only after the policies accept it
            await self.controller.create(resource, body, dry_run=True, **place)

    async def patch(self, resource: Resource[Any], name: str, patch: Any, **where: str) -> None:
        kind = PatchType.JSON if isinstance(patch, list) else PatchType.MERGE
        place = where or {"namespace": NAMESPACE}
        await self.controller.patch(resource, name, patch, patch_type=kind, dry_run=True, **place)

    async def delete(self, resource: Resource[Any], name: str) -> None:
        await self.controller.delete(resource, name, namespace=NAMESPACE, dry_run=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Escape:
    sentence: str
    words: str
    """Of the policy."""
    writes: tuple[Write, ...]


def daemon_set(own_image: str, settings: PrePullSettings = _DEFAULTS) -> Document:
    """Held by containers of the images, as on nodes that cannot mount image volumes."""
    return holder.daemon_set(
        (HELD, own_image), (), settings, namespace=NAMESPACE, hold_image=own_image, key=_KEY
    )


def cron_job_of_an_earlier_release(own_image: str) -> Document:
    """Its controller writes it while an upgrade is in progress."""
    text = json.dumps(cron_job(own_image))
    text = text.replace("--run-name=", "--report-as=").replace("ok-if-no-registry", "allow-nothing")
    document: Document = json.loads(text)
    return document


def cron_job(own_image: str, spec: Mapping[str, Any] = PRUNER_SPEC) -> Document:
    return objects.cron_job(
        PRUNER,
        effective.effective(spec),
        namespace=NAMESPACE,
        image=own_image,
        prune_registry=True,
        reports_to_map=False,
    )


PRUNER = StoredImagePruner(metadata=ObjectMeta(name="cluster", uid="uid-of-pruner"))


def image_pruner(spec: Mapping[str, Any]) -> Document:
    return {
        "apiVersion": IMAGE_PRUNERS.api_version,
        "kind": IMAGE_PRUNERS.kind,
        "metadata": {"name": "cluster"},
        "spec": dict(spec),
    }


def pod(name: str, *, is_holder: bool = True, owner: str = holder.NAME) -> Document:
    """One that a `restricted` namespace accepts."""
    made = daemon_set("lading")["spec"]["template"]
    labels = made["metadata"]["labels"] if is_holder else {"app.kubernetes.io/name": "lading"}
    reference = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "name": owner,
        "uid": "1",
        "controller": True,
    }
    spec = {**made["spec"]}
    spec.pop("priorityClassName", None)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels, "ownerReferences": [reference]},
        "spec": spec,
    }


def controller_pod(image: str, arguments: tuple[str, ...] = ARGUMENTS) -> Document:
    """As the Deployment of `deploy/` makes it."""
    (found,) = (one for one in manifests.base() if one["kind"] == "Deployment")
    template: Document = json.loads(json.dumps(found["spec"]["template"]))
    (container,) = template["spec"]["containers"]
    container |= {"image": image, "args": [*container["args"], *arguments]}
    del template["spec"]["priorityClassName"]  # none is installed where nothing runs
    metadata = {**template["metadata"], "name": CONTROLLER_POD}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def secret(name: str, **changes: Any) -> Document:
    metadata = {"name": name, **changes.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, **changes}


async def prepare(admin: KubeClient, own_image: str) -> None:
    """What the administrator, Kubernetes and the controller made before."""
    await admin.create(PODS, controller_pod(own_image), namespace=NAMESPACE)
    await admin.create(IMAGE_PRUNERS, image_pruner(PRUNER_SPEC))
    await admin.create(DAEMON_SETS, daemon_set(own_image), namespace=NAMESPACE)
    await admin.create(CRON_JOBS, cron_job(own_image), namespace=NAMESPACE)
    for name, labels in ((STUB, OURS), ("cloud-credentials", {})):
        body = secret(name, type="Opaque", metadata={"labels": labels})
        await admin.create(SECRETS, body, namespace=MACHINES)
    for one in (
        pod("holder"),
        pod("labelled", owner="other"),
        pod("unlabelled", is_holder=False),
    ):
        await admin.create(PODS, one, namespace=NAMESPACE)


def changed(body: Document, changes: Mapping[str, Any]) -> Document:
    """With other values at these JSON pointers; `-` adds to a list, and None removes a field."""
    made: Document = json.loads(json.dumps(body))  # parts of it may be one object
    for pointer, value in changes.items():
        *parents, last = pointer.removeprefix("/").split("/")
        place: Any = made
        for one in parents:
            place = place[int(one)] if isinstance(place, list) else place.setdefault(_key(one), {})
        if last == "-":
            place.append(value)
        elif value is None:
            del place[_key(last)]
        else:
            place[_key(last)] = value
    return made


def _key(part: str) -> str:
    return part.replace("~1", "/")


def _template(
    resource: Resource[Any], name: str, body: Callable[[Attacker], Document], prefix: str
) -> Callable[[str, str, Mapping[str, Any]], Escape]:
    def escape(sentence: str, words: str, changes: Mapping[str, Any]) -> Escape:
        pointers = {
            pointer if pointer.startswith(("/spec", "/metadata")) else prefix + pointer: value
            for pointer, value in changes.items()
        }

        async def create(attacker: Attacker) -> None:
            await attacker.create(resource, changed(body(attacker), pointers))

        async def update(attacker: Attacker) -> None:
            made = changed(body(attacker), pointers)
            keys = [one for one in ("metadata", "spec") if made[one] != body(attacker)[one]]
            operations = [
                {"op": "add", "path": f"/{key}/{field}", "value": value}
                for key in keys
                for field, value in made[key].items()
                if field not in ("name", "namespace")
            ]
            await attacker.patch(resource, name, operations)

        return Escape(sentence=sentence, words=words, writes=(create, update))

    return escape


_holder = _template(DAEMON_SETS, "lading-prepull", Attacker.daemon_set, _HOLDER)
_pruner = _template(CRON_JOBS, "lading-image-pruner", Attacker.cron_job, _JOB)


def _one(sentence: str, words: str, *writes: Write) -> Escape:
    return Escape(sentence=sentence, words=words, writes=writes)


_TOKEN: dict[str, Any] = {
    "type": "kubernetes.io/service-account-token",
    "metadata": {"annotations": {SERVICE_ACCOUNT_ANNOTATION: "default"}},
}
_SHARED = "must not have hostNetwork, hostPID, hostIPC or shareProcessNamespace"
_USERS = "no user and no group 0"
_KERNEL = "must have the seccomp profile RuntimeDefault"
_CAPABILITIES = "must drop the capabilities ALL and add none"
_OVERRIDE = "must not override the securityContext of the pod"
_REACHED = "must not have ports, lifecycle, livenessProbe"
_RUN = "must run only /usr/local/bin/lading-hold"
_VOLUMES = "must be of type emptyDir or image"
_NAMED = "that ImagePruner cluster names in spec.registries"
_PLACED = "must mount whole volumes"
_ARGUMENTS = "must have only args that Lading writes"
_SECURITY = f"{_FIRST}/securityContext"


def _with_image_volume(
    sentence: str, words: str, mount: Mapping[str, Any] = {}, image: str = ""
) -> Escape:
    """A container of Lading's image that mounts the held image."""

    def made(attacker: Attacker) -> Document:
        body = with_image_volumes(attacker.own_image)
        (container,) = body["spec"]["template"]["spec"]["containers"]
        container["image"] = image or container["image"]
        container["volumeMounts"][0] |= mount
        return body

    async def create(attacker: Attacker) -> None:
        await attacker.create(DAEMON_SETS, made(attacker))

    async def update(attacker: Attacker) -> None:
        template = made(attacker)["spec"]["template"]
        operations = [{"op": "replace", "path": "/spec/template", "value": template}]
        await attacker.patch(DAEMON_SETS, holder.NAME, operations)

    return Escape(sentence=sentence, words=words, writes=(create, update))


_HARMLESS = {
    "name": "image-0",
    "image": OTHER_IMAGE,
    "command": [HOLD_PROGRAM],
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    },
}

ESCAPES: tuple[Escape, ...] = (
    # host namespaces
    _holder("a holder with the network of the node", _SHARED, {"/hostNetwork": True}),
    _holder("a holder with the processes of the node", _SHARED, {"/hostPID": True}),
    _holder("a holder with the IPC of the node", _SHARED, {"/hostIPC": True}),
    _holder("a holder of one process namespace", _SHARED, {"/shareProcessNamespace": True}),
    _pruner("a pruner with the network of the node", _SHARED, {"/hostNetwork": True}),
    _pruner("a pruner with the processes of the node", _SHARED, {"/hostPID": True}),
    # volumes of the host and of others
    _holder(
        "a holder with a folder of the node",
        _VOLUMES,
        {"/volumes/-": {"name": "host", "hostPath": {"path": "/"}}},
    ),
    _holder(
        "a holder with a token in a projected volume",
        _VOLUMES,
        {
            "/volumes/-": {
                "name": "token",
                "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]},
            }
        },
    ),
    _holder(
        "a holder with a volume of a CSI driver",
        _VOLUMES,
        {"/volumes/-": {"name": "driver", "csi": {"driver": "example.com"}}},
    ),
    _pruner(
        "a pruner with a folder of the node",
        _NAMED,
        {"/volumes/-": {"name": "host", "hostPath": {"path": "/"}}},
    ),
    # privileges
    _holder(
        "a privileged holder",
        "neither privileged nor procMount",
        {f"{_SECURITY}/privileged": True, f"{_SECURITY}/allowPrivilegeEscalation": None},
    ),
    _holder(
        "a holder that may escalate its privileges",
        "must have allowPrivilegeEscalation: false",
        {f"{_SECURITY}/allowPrivilegeEscalation": True},
    ),
    _holder(
        "a holder without a rule about privileges in its init container",
        "container copy-hold must have allowPrivilegeEscalation: false",
        {"/initContainers/0/securityContext/allowPrivilegeEscalation": None},
    ),
    _holder(
        "a holder with an unmasked /proc",
        "neither privileged nor procMount",
        {f"{_SECURITY}/procMount": "Unmasked", "/hostUsers": False},
    ),
    _pruner(
        "a privileged pruner",
        "neither privileged nor procMount",
        {f"{_SECURITY}/privileged": True, f"{_SECURITY}/allowPrivilegeEscalation": None},
    ),
    # capabilities
    _holder(
        "a holder with the capability SYS_ADMIN",
        _CAPABILITIES,
        {f"{_SECURITY}/capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]}},
    ),
    _holder(
        "a holder that keeps the default capabilities",
        _CAPABILITIES,
        {f"{_SECURITY}/capabilities": None},
    ),
    _pruner(
        "a pruner with the capability SYS_MODULE",
        _CAPABILITIES,
        {f"{_SECURITY}/capabilities": {"drop": ["ALL"], "add": ["SYS_MODULE"]}},
    ),
    # users
    _holder("a holder container of root", _OVERRIDE, {f"{_SECURITY}/runAsUser": 0}),
    _holder("a holder container that may be root", _OVERRIDE, {f"{_SECURITY}/runAsNonRoot": False}),
    _holder("a holder pod that may be root", _USERS, {"/securityContext/runAsNonRoot": False}),
    _holder("a holder pod of root", _USERS, {"/securityContext/runAsUser": 0}),
    _holder("a holder pod of the group root", _USERS, {"/securityContext/runAsGroup": 0}),
    _holder(
        "a holder pod with another group",
        _USERS,
        {"/securityContext/supplementalGroups": [0]},
    ),
    _pruner("a pruner container of root", _OVERRIDE, {f"{_SECURITY}/runAsUser": 0}),
    _pruner("a pruner container that may be root", _OVERRIDE, {f"{_SECURITY}/runAsNonRoot": False}),
    _pruner("a pruner that owns its files as root", _USERS, {"/securityContext/fsGroup": 0}),
    # seccomp, AppArmor, SELinux, sysctls
    _holder(
        "a holder pod without seccomp",
        _KERNEL,
        {"/securityContext/seccompProfile": {"type": "Unconfined"}},
    ),
    _holder(
        "a holder container without seccomp",
        _OVERRIDE,
        {f"{_SECURITY}/seccompProfile": {"type": "Unconfined"}},
    ),
    _pruner(
        "a pruner container without seccomp",
        _OVERRIDE,
        {f"{_SECURITY}/seccompProfile": {"type": "Unconfined"}},
    ),
    _holder(
        "a holder pod without AppArmor",
        _KERNEL,
        {"/securityContext/appArmorProfile": {"type": "Unconfined"}},
    ),
    _holder(
        "a holder container without AppArmor",
        _OVERRIDE,
        {f"{_SECURITY}/appArmorProfile": {"type": "Unconfined"}},
    ),
    _holder(
        "a holder without AppArmor by an old annotation",
        "must not have the annotation container.apparmor.security.beta.kubernetes.io/copy-hold",
        {
            "/spec/template/metadata/annotations/"
            "container.apparmor.security.beta.kubernetes.io~1copy-hold": "unconfined"
        },
    ),
    _holder(
        "a holder with another network by an annotation",
        "must not have the annotation k8s.v1.cni.cncf.io/networks",
        {"/spec/template/metadata/annotations/k8s.v1.cni.cncf.io~1networks": "host-device"},
    ),
    _holder(
        "a holder with another SELinux type",
        _OVERRIDE,
        {f"{_SECURITY}/seLinuxOptions": {"type": "spc_t"}},
    ),
    _holder(
        "a holder with a sysctl",
        _KERNEL,
        {"/securityContext/sysctls": [{"name": "kernel.shm_rmid_forced", "value": "0"}]},
    ),
    # images and programs
    _holder(
        "a holder that runs the program of another image",
        f"image-0 of {OTHER_IMAGE} {_RUN}",
        {"/containers": [{**_HARMLESS, "command": ["/bin/sh"]}]},
    ),
    _holder(
        "a holder that runs a hold program of another image",
        f"image-0 of {OTHER_IMAGE} {_RUN}",
        {"/containers": [_HARMLESS]},
    ),
    _holder(
        "a holder that runs the entry point of the held image",
        _RUN,
        {f"{_FIRST}/command": None},
    ),
    _holder(
        "a holder that copies another program",
        f"init container copy-hold of {OTHER_IMAGE} must run only",
        {"/initContainers/0/image": OTHER_IMAGE},
    ),
    _holder(
        "a holder with a held image as the folder of the program",
        _RUN,
        {"/volumes": [{"name": "hold", "image": {"reference": OTHER_IMAGE}}]},
    ),
    _holder(
        "a holder with a writable folder of the program",
        _RUN,
        {f"{_FIRST}/volumeMounts/0/readOnly": False},
    ),
    _with_image_volume(
        "a holder that mounts a held image and runs another", _RUN, image=OTHER_IMAGE
    ),
    _with_image_volume(
        "a holder with a held image over Lading's own program", _RUN, {"mountPath": "/usr/local"}
    ),
    _with_image_volume(
        "a holder with a held image over Lading's libraries", _RUN, {"mountPath": "/lib"}
    ),
    _with_image_volume("a holder with a part of a held image", _PLACED, {"subPath": "a"}),
    _holder(
        "a holder with a part of the folder of the program",
        _PLACED,
        {f"{_FIRST}/volumeMounts/0/subPathExpr": "a"},
    ),
    _holder(
        "a holder in a folder of its choice", _PLACED, {f"{_FIRST}/workingDir": "/proc/self/fd/7"}
    ),
    _holder(
        "a holder with a file over the program",
        _PLACED,
        {f"{_FIRST}/terminationMessagePath": HOLD_PROGRAM},
    ),
    _holder(
        "a holder that may write into its image",
        "and readOnlyRootFilesystem: true",
        {f"{_SECURITY}/readOnlyRootFilesystem": False},
    ),
    _holder(
        "a holder with a folder of the program that an image can foresee",
        _RUN,
        {
            f"{_FIRST}/command": ["/lading-hold/hold"],
            f"{_FIRST}/volumeMounts/0/mountPath": "/lading-hold",
        },
    ),
    _holder("a holder with arguments", "must have neither args", {f"{_FIRST}/args": ["/tmp/copy"]}),
    _pruner(
        "a pruner of another image",
        f"imagestreams of {OTHER_IMAGE} must be of the controller's image",
        {f"{_FIRST}/image": OTHER_IMAGE},
    ),
    _pruner("a pruner with a shell", "must have no command", {f"{_FIRST}/command": ["/bin/sh"]}),
    _pruner(
        "a pruner with another command of Lading",
        "args that begin with prune images",
        {f"{_FIRST}/args": ["apply", "-f", "/storage/main/anything"]},
    ),
    _pruner(
        "a pruner with code of a ConfigMap",
        "must set no variables but",
        {f"{_FIRST}/env": [{"name": "PYTHONPATH", "value": "/etc/lading/main/policy"}]},
    ),
    _pruner(
        "a pruner with a kubeconfig, which may name a program, of a storage",
        _ARGUMENTS,
        {f"{_FIRST}/args/-": "--other-kubeconfig=/storage/main/docker/registry/v2/blobs/data"},
    ),
    _pruner("a pruner with another kubeconfig", _ARGUMENTS, {f"{_FIRST}/args/-": "--kubeconfig=x"}),
    _pruner(
        "a pruner that verifies no certificate",
        _ARGUMENTS,
        {f"{_FIRST}/args/-": "--force-insecure=true"},
    ),
    _pruner(
        "a pruner without guards", _ARGUMENTS, {f"{_FIRST}/args/-": "--ignore-guard=no-references"}
    ),
    _pruner(
        "a pruner that writes a file",
        _ARGUMENTS,
        {f"{_FIRST}/args/-": "--save-plan=/storage/main/plan"},
    ),
    *(
        _pruner(
            f"a pruner with {argument}",
            f"must prune only a registry and a storage {_NAMED}",
            {f"{_FIRST}/args/-": argument},
        )
        for argument in (
            "--registry-url=http://registry.example.com",
            "--storage=s3://other",
            "--storage=file:///",
            "--sweep-replica=other:5000",
        )
    ),
    _pruner(
        "a pruner with logins of a storage",
        "must set no variables but",
        {f"{_FIRST}/env": [{"name": "REGISTRY_AUTH_FILE", "value": "/storage/main/data"}]},
    ),
    _pruner(
        "a pruner with a claim in the place of a Secret",
        "claims only below /storage",
        {
            "/containers/1/volumeMounts": [
                {"name": "main-storage", "mountPath": "/etc/lading/main/cluster-0"},
            ]
        },
    ),
    _pruner(
        "a pruner with a part of a claim",
        _PLACED,
        {
            "/containers/1/volumeMounts": [
                {"name": "main-storage", "mountPath": "/storage/main", "subPath": "docker"},
            ]
        },
    ),
    _pruner(
        "a pruner with another host under the name of the registry",
        "hostAliases or dnsConfig",
        {"/hostAliases": [{"ip": "192.0.2.1", "hostnames": ["registry.example.com"]}]},
    ),
    _pruner(
        "a pruner with a name server of its choice",
        "hostAliases or dnsConfig",
        {"/dnsPolicy": "None", "/dnsConfig": {"nameservers": ["192.0.2.1"]}},
    ),
    _pruner(
        "a pruner with a claim over Lading's own programs",
        "must mount volumes only below /etc/lading, and claims only below /storage",
        {
            "/containers/1/volumeMounts": [
                {"name": "main-storage", "mountPath": "/usr/local/bin"},
            ]
        },
    ),
    _pruner(
        "a pruner with an init container",
        "must not have initContainers",
        {"/initContainers": [{**_HARMLESS, "args": ["prune", "images"]}]},
    ),
    # Secrets
    _holder(
        "a holder with a Secret in a variable",
        "nor env nor envFrom",
        {
            f"{_FIRST}/env": [
                {"name": "A", "valueFrom": {"secretKeyRef": {"name": "stolen", "key": "a"}}}
            ]
        },
    ),
    _holder(
        "a holder with all of a Secret as variables",
        "nor env nor envFrom",
        {f"{_FIRST}/envFrom": [{"secretRef": {"name": "stolen"}}]},
    ),
    _holder(
        "a holder with a Secret in a volume",
        _VOLUMES,
        {"/volumes/-": {"name": "stolen", "secret": {"secretName": "stolen"}}},
    ),
    _holder(
        "a holder with a pull secret that the Deployment does not name",
        "--prepull-pull-secret=stolen is not among its arguments",
        {"/imagePullSecrets": [{"name": "stolen"}]},
    ),
    _pruner(
        "a pruner with a Secret that the ImagePruner does not name",
        f"volume stolen must be of a Secret, a ConfigMap or a claim {_NAMED}",
        {"/volumes/-": {"name": "stolen", "secret": {"secretName": "stolen"}}},
    ),
    _pruner(
        "a pruner with variables of a Secret that the ImagePruner does not name",
        f"must take variables only from Secrets {_NAMED}",
        {f"{_FIRST}/envFrom": [{"secretRef": {"name": "stolen"}}]},
    ),
    _pruner(
        "a pruner with a variable of a Secret",
        "must set no variables but",
        {
            f"{_FIRST}/env": [
                {"name": "POD_NAME", "valueFrom": {"secretKeyRef": {"name": "stolen", "key": "a"}}}
            ]
        },
    ),
    _pruner(
        "a pruner with the claim of another",
        _NAMED,
        {"/volumes/-": {"name": "stolen", "persistentVolumeClaim": {"claimName": "stolen"}}},
    ),
    _one(
        "an ImagePruner that names a Secret",
        "must create an ImagePruner only without spec.registries",
        lambda attacker: attacker.create(
            IMAGE_PRUNERS, image_pruner({"registries": [REGISTRY]}), namespace=""
        ),
    ),
    # tokens and accounts
    _holder(
        "a holder with a token",
        "must have the account default and automountServiceAccountToken: false",
        {"/automountServiceAccountToken": True},
    ),
    _holder(
        "a holder with the account of the controller",
        "must have the account default",
        {"/serviceAccountName": "lading-controller"},
    ),
    _pruner(
        "a pruner with the account of the controller",
        "must have the account lading-image-pruner",
        {"/serviceAccountName": "lading-controller"},
    ),
    _one(
        "a key that gets the token of an account",
        "only Secrets of type Opaque or that of Cluster API, not kubernetes.io/service-account",
        lambda attacker: attacker.create(SECRETS, secret(HOLD_KEY_NAME, **_TOKEN)),
    ),
    _one(
        "a managed stub that gets the token of an account",
        "only Secrets of type Opaque or that of Cluster API, not kubernetes.io/service-account",
        lambda attacker: attacker.create(
            SECRETS, secret("x-spec-3-managed", **_TOKEN), namespace=MACHINES
        ),
    ),
    _one(
        "a managed stub with the annotation of an account",
        f"without the annotation {SERVICE_ACCOUNT_ANNOTATION}",
        lambda attacker: attacker.create(
            SECRETS, secret("x-spec-3-managed", metadata=_TOKEN["metadata"]), namespace=MACHINES
        ),
        lambda attacker: attacker.patch(
            SECRETS, STUB, {"metadata": _TOKEN["metadata"]}, namespace=MACHINES
        ),
    ),
    _one(
        "the change of a Secret of another",
        "must write only Secrets with a name that ends with -spec-3-managed",
        lambda attacker: attacker.patch(
            SECRETS, "cloud-credentials", {"data": {"a": "YQ=="}}, namespace=MACHINES
        ),
    ),
    _one(
        "a Secret with the annotation of an account",
        f"without the annotation {SERVICE_ACCOUNT_ANNOTATION}",
        lambda attacker: attacker.create(
            SECRETS, secret(HOLD_KEY_NAME, metadata=_TOKEN["metadata"])
        ),
    ),
    _one(
        "a Secret with another name",
        f"must write only Secret {HOLD_KEY_NAME}",
        lambda attacker: attacker.create(SECRETS, secret("stolen")),
    ),
    _one(
        "an account with another name",
        "must write only lading-image-pruner of serviceaccounts",
        lambda attacker: attacker.create(
            SERVICE_ACCOUNTS, changed(objects.account(PRUNER, NAMESPACE), {"/metadata/name": "x"})
        ),
    ),
    _one(
        "the pruner's role for another account",
        "must bind roles only to ServiceAccount lading-image-pruner",
        lambda attacker: attacker.create(
            CLUSTER_ROLE_BINDINGS,
            changed(
                objects.bindings(PRUNER, NAMESPACE, is_openshift=False)[0],
                {"/subjects/0/name": "default"},
            ),
            namespace="",
        ),
    ),
    _one(
        "the controller's role for the pruner",
        "must bind only the roles lading-image-pruner",
        lambda attacker: attacker.create(
            CLUSTER_ROLE_BINDINGS,
            changed(
                objects.bindings(PRUNER, NAMESPACE, is_openshift=False)[0],
                {"/metadata/name": "other", "/roleRef/name": "lading-controller"},
            ),
            namespace="",
        ),
    ),
    _one(
        "an account with an identity in a cloud",
        "must not set annotations, secrets or imagePullSecrets of an account",
        lambda attacker: attacker.create(
            SERVICE_ACCOUNTS,
            changed(
                objects.account(PRUNER, NAMESPACE),
                {"/metadata/annotations": {"example.com/a": "b"}},
            ),
        ),
    ),
    _one(
        "a ConfigMap that an ImagePruner may name",
        "must write only lading-image-pruner-decision and lading-image-pruner-report",
        lambda attacker: attacker.create(
            CONFIG_MAPS,
            changed(objects.report_map(PRUNER, NAMESPACE), {"/metadata/name": "policy"}),
        ),
    ),
    # ports, hooks, places
    _holder(
        "a holder with a port of the node",
        _REACHED,
        {f"{_FIRST}/ports": [{"containerPort": 80, "hostPort": 80}]},
    ),
    _holder(
        "a holder with a program at its end",
        _REACHED,
        {f"{_FIRST}/lifecycle": {"preStop": {"exec": {"command": ["/bin/sh"]}}}},
    ),
    _holder(
        "a holder with a program as its probe",
        _REACHED,
        {f"{_FIRST}/livenessProbe": {"exec": {"command": ["/bin/sh"]}}},
    ),
    _pruner(
        "a pruner with a program at its start",
        _REACHED,
        {f"{_FIRST}/lifecycle": {"postStart": {"exec": {"command": ["/bin/sh"]}}}},
    ),
    _holder(
        "a holder on a node of its choice",
        "must not have nodeName, runtimeClassName",
        {"/nodeName": "control-plane"},
    ),
    _holder(
        "a holder with another runtime",
        "must not have nodeName, runtimeClassName",
        {"/runtimeClassName": "host"},
    ),
    # labels and names
    _one(
        "a holder with the labels of the controller",
        "must have the labels app.kubernetes.io/component: prepull",
        lambda attacker: attacker.create(
            DAEMON_SETS,
            changed(
                attacker.daemon_set(),
                {
                    f"{place}/app.kubernetes.io~1component": "controller"
                    for place in ("/spec/selector/matchLabels", "/spec/template/metadata/labels")
                },
            ),
        ),
    ),
    _holder(
        "a DaemonSet without Lading's label, which no policy about templates looks at",
        "must have the label app.kubernetes.io/managed-by: lading",
        {"/metadata/labels": {"a": "b"}},
    ),
    _one(
        "a DaemonSet with another name",
        "must write only lading-prepull of daemonsets in namespace lading-system",
        lambda attacker: attacker.create(
            DAEMON_SETS, changed(attacker.daemon_set(), {"/metadata/name": "other"})
        ),
    ),
    _one(
        "a CronJob with another name",
        "must write only lading-image-pruner of cronjobs in namespace lading-system",
        lambda attacker: attacker.create(
            CRON_JOBS, changed(attacker.cron_job(), {"/metadata/name": "other"})
        ),
    ),
    _one(
        "a pod of another, labelled as a holder",
        "only pods that hold images, of DaemonSet lading-prepull, not unlabelled",
        lambda attacker: attacker.patch(
            PODS, "unlabelled", {"metadata": {"labels": HOLDER_LABELS}}
        ),
    ),
    _one(
        "the deletion of a pod of another",
        "only pods that hold images",
        lambda attacker: attacker.delete(PODS, "unlabelled"),
        lambda attacker: attacker.delete(PODS, "labelled"),
    ),
    _one(
        "a holder pod that loses its label",
        "must change only the scheduling gates",
        lambda attacker: attacker.patch(
            PODS, "holder", {"metadata": {"labels": {"lading.dev/component": None}}}
        ),
    ),
    _one(
        "a holder pod with another image",
        "must change only the scheduling gates",
        lambda attacker: attacker.patch(
            PODS,
            "holder",
            [{"op": "replace", "path": "/spec/containers/0/image", "value": OTHER_IMAGE}],
        ),
    ),
    _one(
        "a holder pod with an annotation",
        "must change only the scheduling gates",
        lambda attacker: attacker.patch(PODS, "holder", {"metadata": {"annotations": {"a": "b"}}}),
    ),
    _one(
        "a holder pod that cannot be deleted",
        "must change only the scheduling gates",
        lambda attacker: attacker.patch(
            PODS, "holder", {"metadata": {"finalizers": ["example.com/kept"]}}
        ),
    ),
    _one(
        "a pod",
        "must change and delete only pods that hold images",
        lambda attacker: attacker.create(PODS, pod("made")),
    ),
)


async def refusal(write: Write, attacker: Attacker) -> str:
    """What the API server answers; empty when it accepts."""
    try:
        await write(attacker)
    except kube.KubeError as error:
        return str(error)
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnWrite:
    """What Lading does itself."""

    sentence: str
    write: Write


def with_image_volumes(own_image: str) -> Document:
    """Each image is a volume of a container of Lading's own image."""
    return holder.daemon_set((HELD,), (), _DEFAULTS, namespace=NAMESPACE, hold_image=own_image)


def with_every_container(own_image: str) -> Document:
    urls = [f"registry.example.com/held-{number}:1" for number in range(CONTAINERS_MAX)]
    return holder.daemon_set(urls, (), _DEFAULTS, namespace=NAMESPACE, hold_image=own_image)


def _holders(sentence: str, made: Callable[[str], Document]) -> OwnWrite:
    async def write(attacker: Attacker) -> None:
        body = made(attacker.own_image)
        await attacker.create(DAEMON_SETS, body)
        operations = [
            {"op": "replace", "path": "/spec/template", "value": body["spec"]["template"]},
        ]
        await attacker.patch(DAEMON_SETS, holder.NAME, operations)

    return OwnWrite(sentence=sentence, write=write)


def _pruners(sentence: str, made: Callable[[str], Document]) -> OwnWrite:
    async def write(attacker: Attacker) -> None:
        body = made(attacker.own_image)
        await attacker.create(CRON_JOBS, body)
        operations = [{"op": "replace", "path": "/spec", "value": body["spec"]}]
        await attacker.patch(CRON_JOBS, OBJECT_NAME, operations)

    return OwnWrite(sentence=sentence, write=write)


_REMOVE_GATE = [
    {"op": "test", "path": "/spec/schedulingGates/0/name", "value": holder.SCHEDULING_GATE},
    {"op": "remove", "path": "/spec/schedulingGates/0"},
]
EVERY_OPTION = PrePullSettings(
    tolerations=(Toleration(),),
    node_selector=(("pool", "a"),),
    priority_class="",
    user_id=None,
    pull_secrets=(PULL_SECRET,),
)
OWN_WRITES: tuple[OwnWrite, ...] = (
    _holders("holders with containers of the images", daemon_set),
    _holders("holders with every option", lambda image: daemon_set(image, settings=EVERY_OPTION)),
    _holders("holders of the image of --prepull-hold-image", lambda _: daemon_set(HOLD_IMAGE)),
    _holders("holders with image volumes", with_image_volumes),
    _holders("holders of as many images as there may be", with_every_container),
    _pruners("a CronJob with every option", cron_job),
    _pruners("a CronJob of an earlier release", cron_job_of_an_earlier_release),
    _pruners("a CronJob without registries", lambda image: cron_job(image, {})),
    _pruners("a CronJob of the image of --pruner-image", lambda _: cron_job(PRUNER_IMAGE)),
    OwnWrite(
        sentence="the first ImagePruner",
        write=lambda attacker: attacker.create(
            IMAGE_PRUNERS, image_pruner({"schedule": "0 0 * * *", "suspend": True}), namespace=""
        ),
    ),
    OwnWrite(
        sentence="the account of the pruner",
        write=lambda attacker: attacker.create(
            SERVICE_ACCOUNTS, objects.account(PRUNER, NAMESPACE)
        ),
    ),
    OwnWrite(
        sentence="the ConfigMap of reports",
        write=lambda attacker: attacker.create(CONFIG_MAPS, objects.report_map(PRUNER, NAMESPACE)),
    ),
    OwnWrite(
        sentence="the roles of the pruner for its account",
        write=lambda attacker: attacker.create(
            CLUSTER_ROLE_BINDINGS,
            objects.bindings(PRUNER, NAMESPACE, is_openshift=False)[0],
            namespace="",
        ),
    ),
    OwnWrite(
        sentence="the key of the holders' folders",
        write=lambda attacker: attacker.create(SECRETS, secret(HOLD_KEY_NAME, type="Opaque")),
    ),
    OwnWrite(
        sentence="a managed stub",
        write=lambda attacker: attacker.create(
            SECRETS, secret(f"other{STUB}", type="Opaque"), namespace=MACHINES
        ),
    ),
    OwnWrite(
        sentence="a managed stub of Cluster API",
        write=lambda attacker: attacker.create(
            SECRETS, secret(f"other{STUB}", type="cluster.x-k8s.io/secret"), namespace=MACHINES
        ),
    ),
    OwnWrite(
        sentence="the content of a managed stub",
        write=lambda attacker: attacker.patch(
            SECRETS, STUB, {"data": {"userData": "YQ=="}}, namespace=MACHINES
        ),
    ),
    OwnWrite(
        sentence="the turn of a holder pod",
        write=lambda attacker: attacker.patch(PODS, "holder", _REMOVE_GATE),
    ),
    OwnWrite(
        sentence="the deletion of a holder pod",
        write=lambda attacker: attacker.delete(PODS, "holder"),
    ),
    OwnWrite(
        sentence="the deletion of the holders",
        write=lambda attacker: attacker.delete(DAEMON_SETS, holder.NAME),
    ),
)
