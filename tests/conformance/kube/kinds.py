"""Built-in kinds as the suite reads them."""

from tests.conformance.kube.api import resource

EVENTS = resource("events", "Event", group="events.k8s.io")
CORE_EVENTS = resource("events", "Event")
RUNTIME_CLASSES = resource("runtimeclasses", "RuntimeClass", group="node.k8s.io", namespaced=False)
RBAC = "rbac.authorization.k8s.io"
ROLES = resource("roles", "Role", group=RBAC)
ROLE_BINDINGS = resource("rolebindings", "RoleBinding", group=RBAC)
CLUSTER_ROLES = resource("clusterroles", "ClusterRole", group=RBAC, namespaced=False)
