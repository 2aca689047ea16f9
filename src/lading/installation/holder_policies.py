"""The admission policy of the pods that hold images: no held image runs its own code. Pure."""

from lading.installation import pod_policies, policies
from lading.installation.policies import (
    OURS,
    WRITES,
    AdmissionPolicy,
    AdmissionRule,
    Check,
)
from lading.prepull.types import (
    HOLD_FOLDER_PREFIX,
    HOLD_PROGRAM,
    HOLDER_LABELS,
    HOLDER_NAME,
    IMAGE_FOLDER,
)

_OWNER = f"DaemonSet {HOLDER_NAME}"
_FOLDER = f"^{HOLD_FOLDER_PREFIX}[0-9a-f]+$"
_OWN_IMAGE = pod_policies.is_own("--prepull-hold-image")
_COMMAND = "one.?command.orValue([])"
_MOUNTS = "one.?volumeMounts.orValue([])"
_IN_FOLDER = (
    f"{_MOUNTS}.size() == 1 && {_MOUNTS}[0].name in variables.folders"
    f' && {_MOUNTS}[0].mountPath.matches("{_FOLDER}")'
)


def daemon_set(namespace: str) -> AdmissionPolicy:
    return AdmissionPolicy(
        name="lading-controller-daemon-set",
        rules=(
            AdmissionRule(group="apps", version="v1", resources=("daemonsets",), operations=WRITES),
        ),
        labels=OURS,
        parameter=pod_policies.own_pods(namespace),
        variables={
            **pod_policies.template_variables("object.spec.template"),
            **pod_policies.OWN_VARIABLES,
            "folders": "variables.volumes.filter(one, has(one.emptyDir)).map(one, one.name)",
        },
        checks=(*pod_policies.restricted(_OWNER, HOLDER_LABELS), *_pod(), *_containers()),
    )


def _pod() -> tuple[Check, ...]:
    account = 'variables.pod.?serviceAccountName.orValue("default") in ["", "default"]'
    argument = '"--prepull-pull-secret=" + one.?name.orValue("")'
    return (
        Check(
            expression=(
                f"{account} && variables.pod.?automountServiceAccountToken.orValue(true) == false"
            ),
            message=(
                f"{_OWNER}: its pods must have the account default and"
                " automountServiceAccountToken: false"
            ),
        ),
        policies.none_of(
            "otherVolumes",
            "variables.volumes.filter(one, !has(one.emptyDir) && !has(one.image))"
            ".map(one, one.name)",
            before=f"{_OWNER}: volume",
            after="must be of type emptyDir or image",
        ),
        policies.none_of(
            "otherPullSecrets",
            "variables.pod.?imagePullSecrets.orValue([])"
            f".map(one, {argument})"
            ".filter(one, !(variables.isEnding || one in variables.arguments))",
            before=f"{_OWNER}: a pull secret must be named by an argument of the controller:",
            after="is not among its arguments",
        ),
    )


def _containers() -> tuple[Check, ...]:
    """Each container runs only Lading's program that waits, and nothing of the held image.

    A container of Lading's image has the program, and mounts only the held image. A container of
    the held image has it in a folder that an init container of Lading's image filled.
    """
    visible = (
        f"{_MOUNTS}.all(mount, mount.?readOnly.orValue(false)"
        f' && mount.mountPath == "{IMAGE_FOLDER}")'
    )
    waits = f'{_COMMAND} == ["{HOLD_PROGRAM}"] && {_OWN_IMAGE} && {visible}'
    waits_in_folder = (
        f'{_IN_FOLDER} && {_COMMAND} == [{_MOUNTS}[0].mountPath + "/hold"]'
        f" && {_MOUNTS}[0].?readOnly.orValue(false)"
    )
    copies = (
        f"{_OWN_IMAGE} && {_IN_FOLDER}"
        f' && {_COMMAND} == ["{HOLD_PROGRAM}", {_MOUNTS}[0].mountPath + "/hold"]'
    )
    named = 'map(one, one.name + " of " + one.image)'
    return (
        pod_policies.each_container(
            "withInput",
            policies.empty("one", "args", "env", "envFrom"),
            _OWNER,
            "must have neither args nor env nor envFrom",
        ),
        policies.none_of(
            "running",
            f"variables.pod.containers.filter(one, !({waits} || {waits_in_folder})).{named}",
            before=f"{_OWNER}: container",
            after=(
                f"must run only {HOLD_PROGRAM} of the controller's image, with no mount but"
                f" {IMAGE_FOLDER}, or the copy that an init container made of it"
            ),
        ),
        policies.none_of(
            "copying",
            f"variables.pod.?initContainers.orValue([]).filter(one, !({copies})).{named}",
            before=f"{_OWNER}: init container",
            after=f"must run only {HOLD_PROGRAM} FOLDER/hold of the controller's image",
        ),
        Check(
            expression="variables.folders.size() <= 1",
            message=f"{_OWNER}: its pods must have at most one emptyDir",
        ),
    )
