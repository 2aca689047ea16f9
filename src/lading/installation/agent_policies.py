"""The admission policies that bind an agent to its own node, for a namespace and an account. Pure.

The token of a pod names its node (Kubernetes 1.30 and later). The policies compare this name with
the written object.
"""

from lading.installation import policies
from lading.installation.policies import AdmissionPolicy, AdmissionRule, Check, Document
from lading.prepull.types import HOLDER_LABEL, HOLDER_LABEL_VALUE, IMAGES_PRESENT

ACCOUNT = "lading-agent"
CONTROLLER = "lading-agent"
"""The reportingController of the Events of an agent."""
_NODE_KEY = "authentication.kubernetes.io/node-name"
_NODE = {"node": f'request.userInfo.?extra[?"{_NODE_KEY}"][?0].orValue("")'}
_BOUND = Check(
    expression='variables.node != ""',
    message="the agent's token names no node; it must be the token of a pod that runs on a node",
)
_AGENT = '"the agent of node " + variables.node + " must'
_KEPT = ("?spec", "metadata.?labels", "metadata.?finalizers", "metadata.?ownerReferences")
"""Fields of a MachineConfigNode that its agent does not change."""
_KEPT_OF_PODS = (
    *("metadata.?labels", "metadata.?annotations", "metadata.?finalizers"),
    *("status.?phase", "status.?reason", "status.?message", "status.?startTime"),
    *("status.?hostIP", "status.?hostIPs", "status.?podIP", "status.?podIPs"),
    *("status.?nominatedNodeName", "status.?qosClass", "status.?resize"),
    *("status.?initContainerStatuses", "status.?containerStatuses"),
    "status.?ephemeralContainerStatuses",
)


def agent_policies(*, namespace: str, account: str) -> list[Document]:
    """Each policy with its binding."""
    made = (_own_node(), _own_events(), _own_holder_pods())
    return policies.documents(made, namespace=namespace, account=account)


def _own_node() -> AdmissionPolicy:
    other_node = Check(
        expression="request.name == variables.node",
        message_expression=f'{_AGENT} not write MachineConfigNode " + request.name',
    )
    more_than_annotations = Check(
        expression=(
            'request.?subResource.orValue("") == "status"'
            f' || (request.operation == "UPDATE" && {policies.unchanged(_KEPT)})'
        ),
        message_expression=(
            f'{_AGENT} change only the status and the annotations of its MachineConfigNode"'
        ),
    )
    return AdmissionPolicy(
        name="lading-agent-own-node",
        rules=(
            AdmissionRule(
                group="machineconfiguration.openshift.io",
                resources=("machineconfignodes", "machineconfignodes/status"),
            ),
        ),
        checks=(_BOUND, other_node, more_than_annotations),
        variables=_NODE,
    )


def _own_events() -> AdmissionPolicy:
    """An agent writes no Events of the old API group, which name their writer in other fields."""
    writer = f'one.?reportingController.orValue("") == "{CONTROLLER}"'
    instance = 'one.?reportingInstance.orValue("") == variables.node'
    regarding = 'one.?regarding.?name.orValue("") == variables.node'
    kind = 'one.?regarding.?kind.orValue("") in ["MachineConfigNode", "Node"]'
    checks = (
        Check(
            expression='request.resource.group == "events.k8s.io"',
            message="an agent must write only Events of events.k8s.io",
        ),
        Check(
            expression=_of_each(f"{writer} && {instance}"),
            message_expression=(
                f'{_AGENT} write its Events as {CONTROLLER} with its node as reportingInstance"'
            ),
        ),
        Check(
            expression=_of_each(f"{regarding} && {kind}"),
            message_expression=f'{_AGENT} not write Events about other objects"',
        ),
    )
    return AdmissionPolicy(
        name="lading-agent-own-events",
        rules=tuple(
            AdmissionRule(group=one, resources=("events",)) for one in ("", "events.k8s.io")
        ),
        checks=(_BOUND, *checks),
        variables=_NODE,
    )


def _own_holder_pods() -> AdmissionPolicy:
    """An agent writes one condition of the pods that hold images on its node."""
    is_holder = policies.label_is("oldObject", HOLDER_LABEL, HOLDER_LABEL_VALUE)
    on_node = 'oldObject.spec.?nodeName.orValue("") == variables.node'
    others = f'.?conditions.orValue([]).filter(one, one.type != "{IMAGES_PRESENT}")'
    kept = policies.unchanged((*_KEPT_OF_PODS, f"status{others}"))
    checks = (
        Check(
            expression=f"{on_node} && {is_holder}",
            message_expression=(
                f'{_AGENT} write only pods that hold images on that node, not " + request.name'
            ),
        ),
        Check(
            expression=kept,
            message_expression=f'{_AGENT} change only condition {IMAGES_PRESENT} of a pod"',
        ),
    )
    return AdmissionPolicy(
        name="lading-agent-own-pods",
        rules=(AdmissionRule(group="", resources=("pods", "pods/status"), operations=("UPDATE",)),),
        checks=(_BOUND, *checks),
        variables=_NODE,
    )


def _of_each(condition: str) -> str:
    """For the old and the new object, as far as they exist."""
    return f"[object, oldObject].all(one, one == null || ({condition}))"
