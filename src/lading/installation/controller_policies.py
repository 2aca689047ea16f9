"""The admission policies of the controller, for a namespace and an account. Pure.

An attacker with the rights of the controller could run anything as a DaemonSet or a CronJob. The
policies accept only objects as Lading writes them. They read the decisions of an administrator from
objects that the controller may not write: its own pods (images, pull secrets) and the ImagePruner
(Secrets, ConfigMaps, claims).
"""

from lading.api.definitions import OWNER, OWNER_LABEL
from lading.installation import holder_policies, policies, pruner_policies
from lading.installation.policies import (
    PRESENT,
    WRITES,
    AdmissionPolicy,
    AdmissionRule,
    Check,
    Document,
)
from lading.prepull.types import HOLD_KEY_NAME, HOLDER_LABEL, HOLDER_LABEL_VALUE, HOLDER_NAME
from lading.pruning.operator.types import (
    DECISION_NAME,
    OBJECT_NAME,
    OPENSHIFT_ROLE,
    REPORT_NAME,
    SYSTEM_ROLE,
)

ACCOUNT = "lading-controller"
SERVICE_ACCOUNT_ANNOTATION = "kubernetes.io/service-account.name"
SECRET_TYPES = ("Opaque", "cluster.x-k8s.io/secret")
"""The types of stubs. No controller of Kubernetes acts on a Secret of these types."""
_NAMES = {
    "daemonsets": (HOLDER_NAME,),
    "cronjobs": (OBJECT_NAME,),
    "serviceaccounts": (OBJECT_NAME,),
    "configmaps": (DECISION_NAME, REPORT_NAME),
}
_BOUND_ROLES = (OBJECT_NAME, OPENSHIFT_ROLE, SYSTEM_ROLE)
_KEPT_OF_ACCOUNTS = ("metadata.?annotations", "?secrets", "?imagePullSecrets")
_KEPT_OF_PODS = (
    *("metadata.?labels", "metadata.?annotations", "metadata.?finalizers"),
    *("metadata.?ownerReferences", "spec.?initContainers", "spec.?containers"),
    *("spec.?nodeSelector", "spec.?affinity", "spec.?tolerations", "spec.?activeDeadlineSeconds"),
)
"""All fields of a gated pod that the API server lets a user change, except the gates."""


def controller_policies(*, namespace: str, account: str = ACCOUNT) -> list[Document]:
    """Each policy with its binding."""
    made = (
        _names(namespace),
        holder_policies.daemon_set(namespace),
        pruner_policies.cron_job(namespace),
        pruner_policies.cron_job_sources(),
        pruner_policies.image_pruner(),
        _pods(),
        _secrets(namespace),
        _bindings(namespace),
        _accounts(),
    )
    return policies.documents(made, namespace=namespace, account=account)


def _names(namespace: str) -> AdmissionPolicy:
    """The policies about templates check objects with Lading's label, so each must have it."""
    known = ", ".join(f'"{kind}": {policies.listed(names)}' for kind, names in _NAMES.items())
    ours = policies.label_is("object", OWNER_LABEL, OWNER)
    return AdmissionPolicy(
        name="lading-controller-names",
        rules=(
            AdmissionRule(version="v1", group="apps", resources=("daemonsets",)),
            AdmissionRule(version="v1", group="batch", resources=("cronjobs",)),
            AdmissionRule(version="v1", group="", resources=("serviceaccounts",)),
            # Managed boot images change one of another namespace.
            AdmissionRule(
                version="v1", group="", resources=("configmaps",), operations=("CREATE",)
            ),
        ),
        variables={"names": f"{{{known}}}[request.resource.resource]"},
        checks=(
            Check(
                expression=(
                    f"{PRESENT}.metadata.name in variables.names"
                    f' && request.namespace == "{namespace}"'
                ),
                message_expression=(
                    '"the controller must write only " + variables.names.join(" and ") + " of " '
                    f'+ request.resource.resource + " in namespace {namespace}, not "'
                    f' + request.namespace + "/" + {PRESENT}.metadata.name'
                ),
            ),
            Check(
                expression=f"object == null || {ours}",
                message=f"what the controller writes must have the label {OWNER_LABEL}: {OWNER}",
            ),
        ),
    )


def _pods() -> AdmissionPolicy:
    """Checks the label and the owner, because any writer of the pod can set the label."""
    owner = (
        f'one.kind == "DaemonSet" && one.name == "{HOLDER_NAME}" && one.?controller.orValue(false)'
    )
    return AdmissionPolicy(
        name="lading-controller-pods",
        rules=(AdmissionRule(version="v1", group="", resources=("pods", "pods/*")),),
        checks=(
            Check(
                expression=(
                    'request.operation != "CREATE"'
                    f" && {policies.label_is('oldObject', HOLDER_LABEL, HOLDER_LABEL_VALUE)}"
                    f" && oldObject.metadata.?ownerReferences.orValue([]).exists(one, {owner})"
                ),
                message_expression=(
                    '"the controller must change and delete only pods that hold images, of'
                    f' DaemonSet {HOLDER_NAME}, not " + {PRESENT}.metadata.name'
                ),
            ),
            Check(
                expression=(
                    'request.operation != "UPDATE" || (request.?subResource.orValue("") == ""'
                    f" && {policies.unchanged(_KEPT_OF_PODS)})"
                ),
                message="the controller must change only the scheduling gates of a pod",
            ),
        ),
    )


def _secrets(namespace: str) -> AdmissionPolicy:
    """For a Secret of another type Kubernetes would write the token of any account into it."""
    annotation = f'"{SERVICE_ACCOUNT_ANNOTATION}" in object.metadata.?annotations.orValue({{}})'
    return AdmissionPolicy(
        name="lading-controller-secrets",
        rules=(AdmissionRule(version="v1", group="", resources=("secrets",), operations=WRITES),),
        checks=(
            Check(
                expression=f'object.?type.orValue("Opaque") in {policies.listed(SECRET_TYPES)}',
                message_expression=(
                    '"the controller must write only Secrets of type Opaque or that of Cluster API,'
                    ' not " + object.?type.orValue("")'
                ),
                message="the controller must write only Secrets of type Opaque",
            ),
            Check(
                expression=f"!({annotation})",
                message=(
                    "the controller must write only Secrets without the annotation"
                    f" {SERVICE_ACCOUNT_ANNOTATION}"
                ),
            ),
            Check(
                expression=(
                    f'request.namespace != "{namespace}"'
                    f' || (object.metadata.name == "{HOLD_KEY_NAME}"'
                    ' && object.?type.orValue("Opaque") == "Opaque")'
                ),
                message_expression=(
                    f'"the controller must write only Secret {HOLD_KEY_NAME}, of type Opaque, in'
                    f' namespace {namespace}, not " + object.metadata.name'
                ),
            ),
        ),
    )


def _bindings(namespace: str) -> AdmissionPolicy:
    """The controller gives rights only to the account of the pruner."""
    subject = f'one.kind == "ServiceAccount" && one.name == "{OBJECT_NAME}"'
    own = f'{subject} && one.?namespace.orValue("") == "{namespace}"'
    return AdmissionPolicy(
        name="lading-controller-bindings",
        rules=(
            AdmissionRule(
                version="v1", group="rbac.authorization.k8s.io", resources=("clusterrolebindings",)
            ),
        ),
        checks=(
            Check(
                expression=f"object == null || object.?subjects.orValue([]).all(one, {own})",
                message=f"the controller must bind roles only to ServiceAccount {OBJECT_NAME}",
            ),
            Check(
                expression=(
                    'object == null || (object.roleRef.kind == "ClusterRole"'
                    f" && object.roleRef.name in {policies.listed(_BOUND_ROLES)})"
                ),
                message=f"the controller must bind only the roles {', '.join(_BOUND_ROLES)}",
            ),
        ),
    )


def _accounts() -> AdmissionPolicy:
    """Annotations of an account set its identity in a cloud."""
    none = " && ".join(f"!object.{one}.hasValue()" for one in _KEPT_OF_ACCOUNTS)
    kept = policies.unchanged(_KEPT_OF_ACCOUNTS)
    return AdmissionPolicy(
        name="lading-controller-accounts",
        rules=(
            AdmissionRule(
                version="v1", group="", resources=("serviceaccounts",), operations=WRITES
            ),
        ),
        checks=(
            Check(
                expression=f'request.operation == "CREATE" ? ({none}) : ({kept})',
                message=(
                    "the controller must not set annotations, secrets or imagePullSecrets of"
                    " an account"
                ),
            ),
        ),
    )
