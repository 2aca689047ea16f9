"""What the words of kubelets and runtimes mean."""

import msgspec
import pytest

from lading.api.core import ContainerStatus
from lading.api.longhorn import FAILURE_CHARACTERS_MAX
from lading.prepull import faults, holder
from lading.prepull.types import Fault, ImageReason
from tests.prepull.worlds import HOLD_IMAGE, A, pod, waiting

CONTAINERD = 'failed to pull and unpack image "r.example.com/a:1": '


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (
            f"{CONTAINERD}failed to resolve reference: r.example.com/a:1: not found",
            ImageReason.NOT_FOUND,
        ),
        ("reading manifest 1 in r.example.com/a: manifest unknown", ImageReason.NOT_FOUND),
        (f"{CONTAINERD}unexpected status code 401 Unauthorized", ImageReason.UNAUTHORIZED),
        (f"{CONTAINERD}pull access denied, repository does not exist", ImageReason.UNAUTHORIZED),
        (f"{CONTAINERD}write /var/x: no space left on device", ImageReason.NO_SPACE),
        (
            f"{CONTAINERD}no match for platform in manifest: not found",
            ImageReason.NO_MATCHING_PLATFORM,
        ),
        (
            f"{CONTAINERD}dial tcp 10.0.0.1:40404: connect: connection refused",
            ImageReason.REGISTRY_UNAVAILABLE,
        ),
        (f"{CONTAINERD}dial tcp 10.0.0.1:403: i/o timeout", ImageReason.REGISTRY_UNAVAILABLE),
        (
            f"{CONTAINERD}unexpected status: 503 Service Unavailable",
            ImageReason.REGISTRY_UNAVAILABLE,
        ),
        (
            "unable to pull image or OCI artifact: pull image err: manifest unknown; artifact err",
            ImageReason.NOT_FOUND,
        ),
        pytest.param(
            "pull QPS exceeded",
            ImageReason.REGISTRY_UNAVAILABLE,
            id="the kubelet itself pulls no faster, and goes on soon",
        ),
    ],
)
def test_a_pull_that_failed(message: str, why: ImageReason) -> None:
    status = msgspec.convert(waiting(A, "ErrImagePull", message), ContainerStatus)
    found = faults.of_container(status)
    assert found is not None
    assert found.why is why


@pytest.mark.parametrize(
    "reason", ["CreateContainerError", "CrashLoopBackOff", "RunContainerError"]
)
def test_a_container_that_cannot_start(reason: str) -> None:
    found = faults.of_container(msgspec.convert(waiting(A, reason, "x"), ContainerStatus))
    assert found is not None
    assert (found.why, found.message) == (ImageReason.CANNOT_START, f"{reason}: x")


def test_an_image_that_the_runtime_cannot_mount() -> None:
    """The words of CRI-O 1.36 about an image without layers."""
    message = "ImageVolumeMountFailed: mount storage: layer not known"
    status = waiting(A, "CreateContainerError", message)
    found = faults.of_container(msgspec.convert(status, ContainerStatus))
    assert found is not None
    assert found.why is ImageReason.CANNOT_START
    assert found.message == f"CreateContainerError: {message}"


def test_a_fault_of_lading_s_own_image_names_it() -> None:
    name = holder.container_name(A)
    spec = {
        "containers": [{"name": name, "image": HOLD_IMAGE}],
        "volumes": [{"name": name, "image": {"reference": A}}],
    }
    own = f'failed to pull and unpack image "{HOLD_IMAGE}": not found'
    held = pod("pod", waiting(A, "ErrImagePull", own), spec=spec)
    fault = Fault(why=ImageReason.NOT_FOUND, message=own)
    found = faults.with_own_image(fault, held, name)
    assert found.message == f"Lading's own image {HOLD_IMAGE}: {own}"
    of_held = Fault(why=ImageReason.NOT_FOUND, message=f'"{A}": not found')
    assert faults.with_own_image(of_held, held, name) == of_held


@pytest.mark.parametrize("reason", ["ContainerCreating", "PodInitializing"])
def test_work_that_goes_on_is_no_fault(reason: str) -> None:
    assert faults.of_container(msgspec.convert(waiting(A, reason), ContainerStatus)) is None


def test_a_pod_that_cannot_be_scheduled() -> None:
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes are available: Insufficient cpu",
    }
    found = faults.of_pod(pod(conditions=[condition]))
    assert found is not None
    assert found.why is ImageReason.UNSCHEDULABLE


def test_a_pod_that_waits_for_its_gate_is_no_fault() -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
    assert faults.of_pod(pod(conditions=[condition])) is None


def test_an_init_container_without_its_image_is_a_fault_of_the_pod() -> None:
    init = {**waiting(A, "ImagePullBackOff", "not found"), "name": "copy-hold"}
    found = faults.of_pod(pod(status={"initContainerStatuses": [init]}))
    assert found is not None
    assert (found.why, "copy-hold" in found.message) == (ImageReason.NOT_FOUND, True)


def test_a_secret_in_a_message_is_not_shown() -> None:
    message = f"{CONTAINERD}https://user:secret@r.example.com/v2/: not found"
    found = faults.of_container(
        msgspec.convert(waiting(A, "ErrImagePull", message), ContainerStatus)
    )
    assert found is not None
    assert "secret" not in found.message


def test_a_message_with_the_names_of_many_secrets_fits_the_field() -> None:
    names = [f"pull-secret-of-team-{number:02}" for number in range(20)]
    message = f"failed to pull {'x' * 300}: 401 Unauthorized"
    found = faults.of_container(
        msgspec.convert(waiting(A, "ErrImagePull", message), ContainerStatus)
    )
    assert found is not None
    named = faults.with_missing_secrets(found, names).message
    assert len(named) <= FAILURE_CHARACTERS_MAX
    assert "the Secret pull-secret-of-team-00, pull-secret-of-team-01" in named
    assert "401 Unauthorized" in named
    assert named.endswith("Create it, or correct the option.")
