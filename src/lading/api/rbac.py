"""rbac.authorization.k8s.io: the rights that a process needs, and the objects that grant them.

A feature declares its rights; the Roles and bindings in `deploy/` are generated from them.
"""

from enum import StrEnum

import msgspec

from lading.kernel.objects import Model, Object, Resource

NAMESPACE = "lading-system"
"""The namespace of the controller, and of the pods that hold or prune images."""
AGENT_NAMESPACE = "lading-agents"
"""The namespace of the agents. They are root on their node, so nothing else may run there."""
READ = ("get", "list", "watch")


class Process(StrEnum):
    CONTROLLER = "controller"
    AGENT = "agent"

    @property
    def namespace(self) -> str:
        return AGENT_NAMESPACE if self is Process.AGENT else NAMESPACE


class Right(msgspec.Struct, frozen=True, kw_only=True):
    group: str
    resources: tuple[str, ...]
    """Plural names, with the subresource if there is one: `nodes/configz`."""
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()
    """Only objects of these names; RBAC cannot restrict `create` and `list` by name."""
    namespaces: tuple[str, ...] = ()
    """Only in these namespaces; none means the whole cluster."""
    overlay: str = ""
    """The optional overlay that grants it; without one it is always granted."""
    why: str = ""
    """A comment for readers of the Role."""


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
