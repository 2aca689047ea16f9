"""What the kinds of machineconfiguration.openshift.io have in common: names and limits."""

NAME = "machineconfiguration.openshift.io"
ROLE_LABEL = f"{NAME}/role"
SETS_PER_POOL_MAX = 100
SETS_PER_NODE_MAX = 100  # in the status of a MachineConfigNode; a node may be in several pools
ERRORS_PER_SET_MAX = 10
SUBDOMAIN = (
    r"^([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\-]{0,61}[a-zA-Z0-9])"
    r"(\.([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\-]{0,61}[a-zA-Z0-9]))*$"
)
NAME_LENGTH_MAX = 253
