"""Each real component starts, does its one real job, and leaves nothing behind."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from tests.real import traces
from tests.real.bed import (
    addresses,
    cluster,
    containerd,
    crio,
    disk,
    images,
    leftovers,
    pods,
    processes,
    registry,
    runtime,
    sandbox,
)
from tests.real.setup import binaries

CONTAINERD = pytest.mark.components("containerd")
CRI_O = pytest.mark.components("cri-o")
CLUSTER = pytest.mark.components("kube", "containerd")
PIN_SECONDS_MAX = 60.0
NO_PIN_SECONDS = 2.0
"""So long a pin stays away that would be seen at once."""
MEBIBYTE = 1 << 20


def push(target: registry.Registry, repository: str, content: bytes = b"") -> str:
    image = images.busybox("/bin/sleep", "1000", extra_files={"content": content})
    return images.push(image, host=target.host, repository=repository, tag="1")


def is_pinned(engine: runtime.Runtime, reference: str) -> bool:
    (image,) = engine.crictl_json("images", reference)["images"]
    return bool(image["pinned"])


def pin_in_containerd(engine: runtime.Runtime, reference: str) -> None:
    ctr = binaries.built("containerd", "ctr")
    where = [f"--address={engine.socket}", "--namespace=k8s.io"]
    label = ["images", "label", reference, "io.cri-containerd.pinned=pinned"]
    subprocess.run([ctr, *where, *label], check=True, capture_output=True)


def eventually(is_so: Callable[[], bool], seconds_max: float = PIN_SECONDS_MAX) -> bool:
    deadline = time.monotonic() + seconds_max
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(processes.POLL_SECONDS)
    return True


@pytest.mark.components("registry")
@pytest.mark.parametrize("version", registry.VERSIONS)
def test_a_registry_serves_deletes_and_collects_what_was_pushed(version: str) -> None:
    with registry.registry(version) as running:
        (place,) = [each for each in sandbox.OPEN if running.root.is_relative_to(each.folder)]
        image = images.busybox("/bin/true")
        images.push(image, host=running.host, repository="team/app", tag="1")
        manifest_url = f"{running.url}/v2/team/app/manifests/{image.digest}"
        urllib.request.urlopen(urllib.request.Request(manifest_url, method="DELETE")).close()
        before = [*running.root.glob("**/blobs/sha256/*/*/data")]
        running.collect_garbage()
        after = [*running.root.glob("**/blobs/sha256/*/*/data")]
    assert (len(before), len(after)) == (3, 0)
    assert traces.of(place.folder, subnet="none") == []


def runtime_of(
    kind: str, version: str, images: registry.Registry
) -> AbstractContextManager[runtime.Runtime]:
    if kind == "cri-o":
        return crio.crio(registries=[images])
    return containerd.containerd(version, registries=[images])


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        pytest.param("containerd", "2.3", marks=CONTAINERD),
        pytest.param("containerd", "1.7", marks=CONTAINERD),
        pytest.param("containerd", "1.6", marks=CONTAINERD),
        pytest.param("cri-o", crio.VERSION, marks=CRI_O),
    ],
)
def test_a_runtime_pulls_and_runs_an_image(
    kind: str, version: str, registry_3_1: registry.Registry
) -> None:
    reference = push(registry_3_1, "smoke")
    with runtime_of(kind, version, registry_3_1) as engine:
        subnet = addresses.subnet(engine.sandbox_folder)
        container = pods.run(engine, name="smoke", image=reference)
        state = engine.crictl_json("inspect", container)["status"]["state"]
        seen = traces.of(engine.sandbox_folder, subnet=subnet)
    assert state == "CONTAINER_RUNNING"
    assert {trace.split()[0] for trace in seen} >= {"folder", "process", "address", "control"}
    assert traces.of(engine.sandbox_folder, subnet=subnet) == []


@CONTAINERD
@pytest.mark.parametrize(("version", "pinned"), [("2.3", True), ("1.7", True), ("1.6", False)])
def test_containerd_knows_pins_from_1_7_on(
    version: str, pinned: bool, registry_3_1: registry.Registry
) -> None:
    reference = push(registry_3_1, "pinned")
    with containerd.containerd(version, registries=[registry_3_1]) as engine:
        engine.crictl("pull", reference)
        assert not is_pinned(engine, reference)
        pin_in_containerd(engine, reference)
        seconds_max = PIN_SECONDS_MAX if pinned else NO_PIN_SECONDS
        assert eventually(lambda: is_pinned(engine, reference), seconds_max) is pinned


def test_crio_pins_by_a_drop_in_and_a_signal(
    crio_1_36: runtime.Runtime, registry_3_1: registry.Registry
) -> None:
    reference = push(registry_3_1, "pinned-by-drop-in")
    crio_1_36.crictl("pull", reference)
    drop_in = crio_1_36.conf_dir / "50-pins.conf"
    drop_in.write_text(f'[crio.image]\npinned_images = ["{reference}"]\n')
    os.kill(crio_1_36.pid, signal.SIGHUP)
    assert eventually(lambda: is_pinned(crio_1_36, reference))
    drop_in.unlink()
    os.kill(crio_1_36.pid, signal.SIGHUP)
    assert eventually(lambda: not is_pinned(crio_1_36, reference))


@CONTAINERD
def test_a_small_disk_is_really_full(registry_3_1: registry.Registry) -> None:
    reference = push(registry_3_1, "large", os.urandom(64 * MEBIBYTE))
    with (
        disk.loop_filesystem(32 * MEBIBYTE) as root,
        containerd.containerd(registries=[registry_3_1], root=root) as engine,
        pytest.raises(AssertionError, match="no space left on device"),
    ):
        engine.crictl("pull", reference)
    assert traces.of(root.parent, subnet="none") == []


@CLUSTER
def test_a_cluster_runs_a_pod() -> None:
    with cluster.cluster() as running:
        folder = running.runtime.sandbox_folder
        subnet = addresses.subnet(folder)
        image = push(running.registry, "pod")
        kubectl = running.api_server.kubectl
        kubectl("run", "smoke", f"--image={image}")
        kubectl("wait", "--for=condition=Ready", "pod/smoke", "--timeout=90s")
        pod = json.loads(kubectl("get", "pod", "smoke", "--output=json"))
    assert pod["spec"]["nodeName"] == running.node_name
    assert traces.of(folder, subnet=subnet) == []


def start_by_hand() -> tuple["subprocess.Popen[str]", pathlib.Path]:
    """`make real-up`, once its cluster is ready, and the folder of its sandbox."""
    up = [sys.executable, "-m", "tests.real.bed.up"]
    run = subprocess.Popen(up, stdout=subprocess.PIPE, text=True)
    assert run.stdout
    kubeconfig = next(line for line in run.stdout if "KUBECONFIG=" in line).split("=")[1]
    return run, pathlib.Path(kubeconfig.strip()).parents[1]


@CLUSTER
def test_a_cluster_started_by_hand_ends_with_an_interrupt() -> None:
    run, folder = start_by_hand()
    with run:
        subnet = addresses.subnet(folder)
        run.send_signal(signal.SIGINT)
        run.communicate()
    assert run.returncode == 0
    assert traces.of(folder, subnet=subnet) == []


@CLUSTER
def test_a_killed_run_is_removed_by_the_next() -> None:
    run, folder = start_by_hand()
    with run:
        run.kill()
    subnet = addresses.subnet(folder)
    assert f"address {subnet}.254 on lo" in traces.of(folder, subnet=subnet)
    leftovers.remove_dead()
    # Another worker that cleans up at this moment may have been first, and still be at it.
    assert eventually(lambda: traces.of(folder, subnet=subnet) == [])


def test_a_living_run_is_not_removed(registry_3_1: registry.Registry) -> None:
    clean = [sys.executable, "-m", "tests.real.bed.clean"]
    subprocess.run(clean, check=True, capture_output=True)
    assert registry_3_1.config_file.exists()
    with contextlib.closing(urllib.request.urlopen(f"{registry_3_1.url}/v2/")) as response:
        assert response.status == 200


def test_a_component_that_does_not_answer_in_time_is_not_ready(tmp_path: pathlib.Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        nowhere = {"root": tmp_path, "program": tmp_path, "config_file": tmp_path}
        assert not registry.answers(registry.Registry(host=host, **nowhere))


def test_a_program_that_ends_too_early_shows_the_end_of_its_log() -> None:
    with sandbox.sandbox() as place:
        noticed = place.folder / "noticed"
        faulty = f"echo the disk is on fire; until [ -e {noticed} ]; do sleep 0.05; done"
        process = place.start("faulty", ["sh", "-c", faulty])
        noticed.touch()
        with pytest.raises(processes.NotReady, match="the disk is on fire"):
            process.wait_until(lambda: False, what="the impossible")


def test_a_failing_test_shows_the_logs_of_what_runs(tmp_path: pathlib.Path) -> None:
    failing = tmp_path / "test_failing.py"
    failing.write_text("def test_failing(registry_3_1): assert False\n")
    plugin = ("-p", "tests.real.conftest", "-p", "no:cacheprovider")
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, f"--rootdir={tmp_path}", str(failing)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 1
    assert "listening on 127.0.0.1" in answer.stdout
