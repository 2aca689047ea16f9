"""The DaemonSet: golden files, and what Pod Security `restricted` wants of its pods."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from lading.kernel.values import replace
from lading.prepull import holder
from lading.prepull.holding import HoldingWay
from lading.prepull.types import (
    HOLD_PROGRAM,
    HoldKey,
    ObservedPrePull,
    PrePullSettings,
    Toleration,
)
from tests.prepull.worlds import HOLD_IMAGE, KEY, NAMESPACE, A, B, image, template_urls

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


def built(
    settings: PrePullSettings = DEFAULTS, *urls: str, key: HoldKey | None = None
) -> dict[str, Any]:
    owners = [image("a"), image("b", B)]
    return holder.daemon_set(
        urls or (A, B), owners, settings, namespace=NAMESPACE, hold_image=HOLD_IMAGE, key=key
    )


def pod_of(body: Mapping[str, Any]) -> Any:
    return body["spec"]["template"]["spec"]


@pytest.mark.parametrize(
    ("name", "settings", "key"),
    [
        ("defaults", PrePullSettings(), None),
        ("every-option", EVERYTHING, None),
        ("containers", PrePullSettings(), KEY),
        ("containers-every-option", EVERYTHING, KEY),
    ],
)
def test_the_daemon_set_is_the_golden_one(
    name: str, settings: PrePullSettings, key: HoldKey | None
) -> None:
    """`UPDATE_GOLDEN=1 pytest ...` writes it again."""
    plain = json.loads(json.dumps(built(settings, key=key)))  # so that YAML needs no anchors
    text = yaml.safe_dump(plain, sort_keys=False)
    file = GOLDEN / f"{name}.yaml"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("key", [None, KEY])
def test_pods_are_as_pod_security_restricted_wants_them(key: HoldKey | None) -> None:
    pod = pod_of(built(key=key))
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    kinds = {kind for volume in pod["volumes"] for kind in volume}
    assert kinds == {"name", "emptyDir" if key else "image"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    for container in (*pod.get("initContainers", ()), *pod["containers"]):
        security = container["securityContext"]
        assert security["allowPrivilegeEscalation"] is False
        assert security["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize("key", [None, KEY])
def test_every_container_has_requests_and_limits_and_pulls_only_what_is_missing(
    key: HoldKey | None,
) -> None:
    pod = pod_of(built(key=key))
    assert pod["automountServiceAccountToken"] is False
    for container in (*pod.get("initContainers", ()), *pod["containers"]):
        assert container["resources"]["requests"]
        assert container["resources"]["limits"]
        assert container["imagePullPolicy"] == "IfNotPresent"


def test_an_image_volume_runs_only_the_program_of_lading_s_own_image() -> None:
    pod = pod_of(built())
    assert "initContainers" not in pod
    volumes = {one["name"]: one["image"] for one in pod["volumes"]}
    for container, url in zip(pod["containers"], (A, B), strict=True):
        assert (container["image"], container["command"]) == (HOLD_IMAGE, [HOLD_PROGRAM])
        (mount,) = container["volumeMounts"]
        assert mount["readOnly"] is True
        assert volumes[mount["name"]] == {"reference": url, "pullPolicy": "IfNotPresent"}


def test_containers_of_the_images_wait_with_the_copied_program_and_need_no_shell() -> None:
    pod = pod_of(built(key=KEY))
    (init,) = pod["initContainers"]
    assert (init["name"], init["image"]) == ("copy-hold", HOLD_IMAGE)
    (mount,) = init["volumeMounts"]
    program = f"{mount['mountPath']}/hold"
    assert init["command"] == [HOLD_PROGRAM, program]
    for container, url in zip(pod["containers"], (A, B), strict=True):
        assert (container["image"], container["command"]) == (url, [program])
        assert container["volumeMounts"] == [{**mount, "readOnly": True}]


def folder_of(*urls: str, key: HoldKey = KEY, settings: PrePullSettings = DEFAULTS) -> str:
    pod = pod_of(built(settings, *urls, key=key))
    folder: str = pod["initContainers"][0]["volumeMounts"][0]["mountPath"]
    return folder


def test_the_folder_of_the_program_cannot_be_known_without_the_key() -> None:
    """An image with a program in a folder of a known name had that program started."""
    assert re.fullmatch("/lading-hold-[0-9a-f]{32}", folder_of(A))
    other_key = HoldKey(bytes(31) + b"1")
    others = {
        folder_of(A, key=other_key),
        folder_of(A, B),
        folder_of(A, settings=replace(DEFAULTS, user_id=1000)),
    }
    assert len({folder_of(A), *others}) == 4, "another key or template, another folder"
    assert folder_of(A) == folder_of(A), "the DaemonSet stays as it is"


def test_the_key_is_in_no_text() -> None:
    key = HoldKey(b"0123456789abcdef0123456789abcdef")
    assert "0123" not in f"{key!r} {ObservedPrePull(namespace=NAMESPACE, key=key)!r}"
    assert "0123" not in json.dumps(built(key=key))


def test_the_way_of_a_daemon_set_is_read_from_its_template() -> None:
    before = yaml.safe_load((GOLDEN / "before-image-volumes.yaml").read_text(encoding="utf-8"))
    assert holder.way_of(built()["spec"]) is HoldingWay.IMAGE_VOLUMES
    assert holder.way_of(built(key=KEY)["spec"]) is HoldingWay.CONTAINERS
    assert holder.way_of(before["spec"]) is None
    assert holder.way_of({}) is None


@pytest.mark.parametrize("key", [None, KEY])
def test_a_pod_holds_the_images_of_its_template(key: HoldKey | None) -> None:
    assert template_urls(built(key=key)["spec"]) == [A, B]


def test_a_pod_that_lost_its_image_volumes_holds_nothing() -> None:
    """An API server with the feature gate off drops them, and the containers still start."""
    spec = built()["spec"]
    spec["template"]["spec"]["volumes"] = []
    assert template_urls(spec) == []


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
