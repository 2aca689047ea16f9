"""rbac.authorization.k8s.io: the rights that a process needs, as values.

A feature declares them; the Roles and bindings in `deploy/` are generated from them.
"""

from enum import StrEnum

import msgspec

NAMESPACE = "lading-system"
"""Where the controller runs, with the pods that hold images and those that prune."""
AGENT_NAMESPACE = "lading-agents"
"""Where the agents run. They are root on their node, so nothing else may run beside them."""
READ = ("get", "list", "watch")


class Process(StrEnum):
    CONTROLLER = "controller"
    AGENT = "agent"
    PRUNE = "prune"

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
    """What a reader of the Role cannot guess."""
