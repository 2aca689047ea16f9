"""A real containerd of a chosen release line, in a sandbox, with a plain-HTTP registry allowed.

In the sandbox it is where its packages put it. 2.3 and 1.7 can pin images; 1.6, Debian's own
package, cannot.
"""

import contextlib
import os
import pathlib
from collections.abc import Iterator, Sequence

import tomli_w

from tests.real.bed import containerd_config, images, network, registry, runtime, sandbox
from tests.real.setup import binaries

VERSIONS = ("2.3", "1.7", "1.6")
PAUSE_REPOSITORY = "lading/pause"
ENDPOINT = "unix:///run/containerd/containerd.sock"
ROOT = pathlib.Path("/var/lib/containerd")
CONFIGURATION = pathlib.Path("/etc/containerd")


@contextlib.contextmanager
def containerd(
    version: str = "2.3",
    *,
    registries: Sequence[registry.Registry],
    root: pathlib.Path | None = None,
) -> Iterator[runtime.Runtime]:
    """The first registry also holds the pause image. A root elsewhere may be a small disk."""
    with sandbox.sandbox() as place:
        yield start(place, version, registries=registries, root=root)


def start(
    place: sandbox.Sandbox,
    version: str,
    *,
    registries: Sequence[registry.Registry],
    root: pathlib.Path | None = None,
) -> runtime.Runtime:
    settings = containerd_config.Settings(
        cni_conf_dir=network.configure(place),
        cni_bin_dir=network.plugin_folder(),
        runc=binaries.unpacked("runc", "usr/sbin/runc"),
        pause_image=push_pause_image(registries[0]),
    )
    configuration = place.make_host_folder(CONFIGURATION)
    (configuration / "config.toml").write_bytes(tomli_w.dumps(_config(version, settings)).encode())
    certs_dir = configuration / "certs.d"
    for each in registries:
        allow_plain_http(certs_dir, each)
    return _launch(place, version, certs_dir, place.make_root(ROOT, root))


def allow_plain_http(certs_dir: pathlib.Path, allowed: registry.Registry) -> None:
    """Also for a registry that comes later: containerd reads the folder at each pull."""
    hosts_file = certs_dir / allowed.host / "hosts.toml"
    hosts_file.parent.mkdir(parents=True)
    host = {allowed.url: {"capabilities": ["pull", "resolve"]}}
    hosts_file.write_text(tomli_w.dumps({"server": allowed.url, "host": host}))


def push_pause_image(target: registry.Registry) -> str:
    """The image of a pod's own container has only to stay alive."""
    pause = images.busybox("/bin/sleep", "1000000")
    return images.push(pause, host=target.host, repository=PAUSE_REPOSITORY, tag="1")


def _launch(
    place: sandbox.Sandbox, version: str, certs_dir: pathlib.Path, root: pathlib.Path
) -> runtime.Runtime:
    program = _program(version)
    process = place.start(
        "containerd",
        [program],
        # The shim is looked for on PATH, and must be of the same release.
        PATH=f"{program.parent}:{os.environ['PATH']}",
    )
    running = runtime.Runtime(
        kind="containerd",
        version=version,
        endpoint_inside=ENDPOINT,
        host_root=place.host_root,
        root=root,
        conf_dir=certs_dir,
        pid=process.pid,
        sandbox_folder=place.folder,
    )
    process.wait_until(running.answers, what=f"{running.endpoint} answered")
    return running


def _program(version: str) -> pathlib.Path:
    match version:
        case "2.3":
            return binaries.built("containerd", "containerd")
        case "1.7":
            return binaries.built("containerd-1.7", "containerd")
        case _:
            return binaries.unpacked("containerd", "usr/bin/containerd")


def _config(version: str, settings: containerd_config.Settings) -> dict[str, object]:
    if version == "2.3":
        return containerd_config.version_3(settings)
    return containerd_config.version_2(settings)
