"""ServiceAccounts and ClusterRoleBindings, cut down to the fields that Lading reads."""

from lading.kernel.objects import Model, Object, Resource

RBAC_GROUP = "rbac.authorization.k8s.io"


class ServiceAccount(Object, frozen=True, kw_only=True):
    pass


class RoleReference(Model, frozen=True, kw_only=True):
    api_group: str = ""
    kind: str = ""
    name: str = ""


class RoleSubject(Model, frozen=True, kw_only=True):
    kind: str = ""
    name: str = ""
    namespace: str = ""
    api_group: str = ""


class ClusterRoleBinding(Object, frozen=True, kw_only=True):
    role_ref: RoleReference = RoleReference()
    subjects: tuple[RoleSubject, ...] | None = ()


SERVICE_ACCOUNTS: Resource[ServiceAccount] = Resource(
    group="",
    version="v1",
    kind="ServiceAccount",
    plural="serviceaccounts",
    namespaced=True,
    type=ServiceAccount,
)
CLUSTER_ROLE_BINDINGS: Resource[ClusterRoleBinding] = Resource(
    group=RBAC_GROUP,
    version="v1",
    kind="ClusterRoleBinding",
    plural="clusterrolebindings",
    namespaced=False,
    type=ClusterRoleBinding,
)
