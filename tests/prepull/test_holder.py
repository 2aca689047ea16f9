"""The DaemonSet: a golden file, and what Pod Security `restricted` wants of its pods."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from lading.prepull import holder
from lading.prepull.types import PrePullSettings, Toleration
from tests.prepull.worlds import HOLD_IMAGE, NAMESPACE, A, B, image

GOLDEN = Path(__file__).parents[1] / "golden" / "prepull"
EVERYTHING = PrePullSettings(
    tolerations=(
        Toleration(key="node-role.kubernetes.io/control-plane", effect="NoSchedule"),
        Toleration(key="team", value="a"),
        Toleration(),
    ),
    node_selector=(("disk", "large"),),
    affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
    priority_class="",
    resources={"requests": {"cpu": "2m"}, "limits": {"memory": "64Mi"}},
    user_id=None,
    pull_secrets=("registry",),
)


DEFAULTS = PrePullSettings()


def built(settings: PrePullSettings = DEFAULTS, *urls: str) -> dict[str, Any]:
    owners = [image("a"), image("b", B)]
    return holder.daemon_set(
        urls or (A, B), owners, settings, namespace=NAMESPACE, hold_image=HOLD_IMAGE
    )


@pytest.mark.parametrize(
    ("name", "settings"), [("defaults", PrePullSettings()), ("every-option", EVERYTHING)]
)
def test_the_daemon_set_is_the_golden_one(name: str, settings: PrePullSettings) -> None:
    """`UPDATE_GOLDEN=1 pytest ...` writes it again."""
    plain = json.loads(json.dumps(built(settings)))  # so that YAML needs no anchors
    text = yaml.safe_dump(plain, sort_keys=False)
    file = GOLDEN / f"{name}.yaml"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def test_pods_are_as_pod_security_restricted_wants_them() -> None:
    pod = built()["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert {kind for volume in pod["volumes"] for kind in volume} == {"name", "emptyDir"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    for container in (*pod["initContainers"], *pod["containers"]):
        security = container["securityContext"]
        assert security["allowPrivilegeEscalation"] is False
        assert security["capabilities"] == {"drop": ["ALL"]}


def test_every_container_has_requests_and_limits_and_pulls_only_what_is_missing() -> None:
    pod = built()["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    for container in (*pod["initContainers"], *pod["containers"]):
        assert container["resources"]["requests"]
        assert container["resources"]["limits"]
        assert container["imagePullPolicy"] == "IfNotPresent"


def test_containers_wait_with_the_copied_program_and_need_no_shell() -> None:
    pod = built()["spec"]["template"]["spec"]
    (init,) = pod["initContainers"]
    assert (init["name"], init["image"]) == ("copy-hold", HOLD_IMAGE)
    assert init["command"][1:] == ["/lading-hold/hold"]
    for container in pod["containers"]:
        assert container["command"] == ["/lading-hold/hold"]


def test_an_old_pod_stays_until_the_new_one_is_ready() -> None:
    strategy = built()["spec"]["updateStrategy"]["rollingUpdate"]
    assert strategy == {"maxSurge": "100%", "maxUnavailable": 0}
    gates = built()["spec"]["template"]["spec"]["schedulingGates"]
    assert gates == [{"name": "lading.dev/prepull-wave"}]


def test_the_template_changes_with_the_images_and_not_with_their_owners() -> None:
    def template(*names: str) -> str:
        owners = [image(name) for name in names]
        body = holder.daemon_set(
            (A,), owners, PrePullSettings(), namespace=NAMESPACE, hold_image=HOLD_IMAGE
        )
        annotation: str = body["metadata"]["annotations"][holder.TEMPLATE_ANNOTATION]
        return annotation

    assert template("a") == template("a", "b")
    other = built(DEFAULTS, B)["metadata"]["annotations"][holder.TEMPLATE_ANNOTATION]
    assert template("a") != other
