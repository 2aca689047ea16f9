"""The checks of every pod template that the controller writes: no way out of the pod. Pure.

They are the rules of the Pod Security Standard `restricted`, and they refuse every other field that
gives a pod more than its image and that Lading does not write. Each message names the offender and
the expectation.
"""

from collections.abc import Iterator, Mapping

from lading.installation import policies
from lading.installation.policies import Check, Parameter

CONTROLLER_CONTAINER = "controller"
"""The container of the controller's pods with Lading's own image."""
CONTROLLER_LABELS = {
    "app.kubernetes.io/name": "lading",
    "app.kubernetes.io/component": "controller",
}
OWN_VARIABLES = {
    "controller": f'params.spec.containers.filter(one, one.name == "{CONTROLLER_CONTAINER}")[0]',
    "arguments": "variables.controller.?args.orValue([])",
    "isEnding": (
        "has(params.metadata.deletionTimestamp)"
        ' || params.?status.?phase.orValue("") in ["Failed", "Succeeded"]'
    ),
}
"""For a policy with the controller's pods as its parameters. The controller may not write its own
pods, so they show what the administrator decided. Pods that end or were evicted are ignored: they
may be of an earlier release, on a node that does not answer."""


def own_pods(namespace: str) -> Parameter:
    """Pods, not the Deployment: kube-apiserver 1.36 stops watching Deployments when the last policy
    that compares with one is deleted, and uses an old copy for the next policy. It always watches
    pods."""
    return Parameter(api_version="v1", kind="Pod", labels=CONTROLLER_LABELS, namespace=namespace)


def is_own(option: str) -> str:
    """Whether a container has the image of a controller's pod, or that of an option of it."""
    return (
        "(variables.isEnding || one.image == variables.controller.image"
        f' || "{option}=" + one.image in variables.arguments)'
    )


_SHARED = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace")
_PLACES = (
    *("nodeName", "runtimeClassName", "resourceClaims", "ephemeralContainers"),
    # Another host under the name of a registry would get its login.
    *("hostAliases", "dnsConfig"),
)
_USERS = ("runAsUser", "runAsGroup", "fsGroup")
_OVERRIDES = (
    *("runAsUser", "runAsGroup", "seccompProfile", "appArmorProfile", "seLinuxOptions"),
    "windowsOptions",
)
_REACHED = (
    *("ports", "lifecycle", "livenessProbe", "readinessProbe", "startupProbe", "volumeDevices"),
)
_PARTS = ("subPath", "subPathExpr")
_TERMINATION_LOG = "/dev/termination-log"
"""The default of the API server. The kubelet mounts a writable file there."""
_ANNOTATIONS = (
    'one.startsWith("lading.dev/") || one.startsWith("cluster-autoscaler.kubernetes.io/")'
)


def template_variables(template: str) -> dict[str, str]:
    """The parts of a pod template that the checks look at."""
    return {
        "pod": f"{template}.spec",
        "containers": "variables.pod.containers + variables.pod.?initContainers.orValue([])",
        "volumes": "variables.pod.?volumes.orValue([])",
        "annotations": f"{template}.?metadata.?annotations.orValue({{}})",
        "labels": f"{template}.?metadata.?labels.orValue({{}})",
    }


def restricted(owner: str, labels: Mapping[str, str]) -> tuple[Check, ...]:
    """The checks of all pods and containers of the owner, such as DaemonSet NAME."""
    return (*_namespaces(owner), *_security(owner), *_metadata(owner, labels), *_containers(owner))


def _namespaces(owner: str) -> Iterator[Check]:
    yield Check(
        expression=" && ".join(f"!variables.pod.?{one}.orValue(false)" for one in _SHARED),
        message=f"{owner}: its pods must not have {_listed(_SHARED)}",
    )
    yield Check(
        expression=_without("variables.pod", _PLACES),
        message=f"{owner}: its pods must not have {_listed(_PLACES)}",
    )


def _security(owner: str) -> Iterator[Check]:
    security = "variables.pod.?securityContext"
    users = "".join(f" && {security}.?{one}.orValue(1) != 0" for one in _USERS)
    yield Check(
        expression=(
            f"{security}.?runAsNonRoot.orValue(false){users}"
            f" && {policies.empty(security, 'supplementalGroups')}"
        ),
        message=(
            f"{owner}: the securityContext of its pods must have runAsNonRoot: true, no user and no"
            " group 0, and no supplementalGroups"
        ),
    )
    options = "".join(f" && !{security}.?{one}.hasValue()" for one in _OVERRIDES[-2:])
    yield Check(
        expression=(
            f'{security}.?seccompProfile.?type.orValue("") == "RuntimeDefault"'
            f' && {security}.?appArmorProfile.?type.orValue("RuntimeDefault") == "RuntimeDefault"'
            f"{options} && {policies.empty(security, 'sysctls')}"
        ),
        message=(
            f"{owner}: the securityContext of its pods must have the seccomp profile"
            " RuntimeDefault, no other AppArmor profile, and no seLinuxOptions, windowsOptions or"
            " sysctls"
        ),
    )


def _metadata(owner: str, labels: Mapping[str, str]) -> Iterator[Check]:
    """Other programs select pods by labels; networks and runtimes read annotations."""
    named = sorted(labels.items())
    shown = ", ".join(f"{key}: {value}" for key, value in named)
    yield Check(
        expression=" && ".join(
            f'variables.labels[?"{key}"].orValue("") == "{value}"' for key, value in named
        ),
        message=f"{owner}: its pods must have the labels {shown}",
    )
    yield policies.none_of(
        "foreignAnnotations",
        f"variables.annotations.filter(one, !({_ANNOTATIONS})).map(one, one)",
        before=f"{owner}: its pods must not have the annotation",
        after="of another program",
    )


def _containers(owner: str) -> Iterator[Check]:
    security = "one.?securityContext"
    yield each_container(
        "privileged",
        f"{security}.?allowPrivilegeEscalation.orValue(true) == false"
        f" && {security}.?readOnlyRootFilesystem.orValue(false)"
        f" && {security}.?privileged.orValue(false) == false"
        f' && {security}.?procMount.orValue("Default") == "Default"',
        owner,
        "must have allowPrivilegeEscalation: false and readOnlyRootFilesystem: true, and neither"
        " privileged nor procMount",
    )
    yield each_container(
        "capable",
        f'"ALL" in {security}.?capabilities.?drop.orValue([])'
        f" && {policies.empty(f'{security}.?capabilities', 'add')}",
        owner,
        "must drop the capabilities ALL and add none",
    )
    yield each_container(
        "overriding",
        f"{_without(security, _OVERRIDES)} && {security}.?runAsNonRoot.orValue(true)",
        owner,
        f"must not override the securityContext of the pod: {_listed(_OVERRIDES)}, runAsNonRoot",
    )
    yield each_container(
        "reached", _without("one", _REACHED), owner, f"must not have {_listed(_REACHED)}"
    )
    yield each_container(
        "misplaced",
        f'one.?terminationMessagePath.orValue("{_TERMINATION_LOG}") == "{_TERMINATION_LOG}"'
        ' && one.?workingDir.orValue("/") == "/" && one.?volumeMounts.orValue([]).all(mount,'
        f" {_without('mount', _PARTS)})",
        owner,
        f"must mount whole volumes, without {_listed(_PARTS)}, and must have no other workingDir"
        f" than / and no other terminationMessagePath than {_TERMINATION_LOG}",
    )


def each_container(variable: str, condition: str, owner: str, expected: str) -> Check:
    """The message names the containers for which the condition does not hold."""
    return policies.none_of(
        variable,
        f"variables.containers.filter(one, !({condition})).map(one, one.name)",
        before=f"{owner}: container",
        after=expected,
    )


def _without(one: str, fields: tuple[str, ...]) -> str:
    return " && ".join(f"!{one}.?{field}.hasValue()" for field in fields)


def _listed(fields: tuple[str, ...]) -> str:
    *first, last = fields
    return f"{', '.join(first)} or {last}"
