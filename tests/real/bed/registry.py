"""A real distribution registry on loopback, over plain HTTP, with deletion enabled."""

import contextlib
import dataclasses
import json
import pathlib
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any

from tests import free_ports
from tests.real.bed import sandbox
from tests.real.setup import binaries

VERSIONS = ("2.8", "3.1")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    host: str
    """Such as 127.0.0.1:40123, the first part of its image references."""
    root: pathlib.Path
    program: pathlib.Path
    config_file: pathlib.Path

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    def collect_garbage(self, *options: str) -> str:
        """Run the registry's own garbage collection; it must not be written to meanwhile."""
        answer = subprocess.run(
            [self.program, "garbage-collect", *options, self.config_file],
            capture_output=True,
            text=True,
            check=True,
        )
        return answer.stdout


@contextlib.contextmanager
def registry(version: str = "3.1", *, cache: str = "") -> Iterator[Registry]:
    with sandbox.sandbox() as place:
        yield start(place, version, cache=cache)


def start(
    place: sandbox.Sandbox,
    version: str,
    *,
    address: str = "127.0.0.1",
    name: str = "registry",
    cache: str = "",
    root: pathlib.Path | None = None,
    storage: Mapping[str, object] | None = None,
    upstream: str = "",
    umask: int | None = None,
) -> Registry:
    """Pods reach it at an address of the sandbox, not on loopback.

    `cache` is that of blob descriptors; `storage` is another driver than that of files. With the
    URL of an `upstream` it is a pull-through cache of that registry.
    """
    folder = place.make_folder(f"{name}-{version}-{len(place.started)}")
    running = Registry(
        host=f"{address}:{free_ports.find()}",
        root=root or folder / "storage",
        program=program(version),
        config_file=folder / "config.yml",
    )
    config = _config(running, storage or {"filesystem": {"rootdirectory": str(running.root)}})
    if cache:
        config["storage"]["cache"] = {"blobdescriptor": cache}
    if upstream:
        config["proxy"] = {"remoteurl": upstream}
    running.config_file.write_text(json.dumps(config))
    process = place.start(
        f"{name}-{version}",
        [running.program, "serve", running.config_file],
        umask=umask,
        OTEL_TRACES_EXPORTER="none",
    )
    process.wait_until(lambda: answers(running), what=f"{running.url}/v2/ answered")
    return running


def program(version: str) -> pathlib.Path:
    if version == "2.8":
        return binaries.unpacked("docker-registry", "usr/bin/docker-registry")
    return binaries.built("distribution", "registry")


def _config(running: Registry, storage: Mapping[str, object]) -> dict[str, Any]:
    return {
        "version": 0.1,
        "log": {"level": "info", "accesslog": {"disabled": True}},
        "storage": {**storage, "delete": {"enabled": True}},
        "http": {"addr": running.host},
        "validation": {"manifests": {"urls": {"allow": ["^https://layers[.]example[.]com/"]}}},
    }


def write_config(
    place: sandbox.Sandbox,
    *,
    root: pathlib.Path | None = None,
    storage: Mapping[str, object] | None = None,
) -> pathlib.Path:
    """For a program that does not serve, such as the registry's garbage collection."""
    folder = place.make_folder(f"registry-config-{len(list(place.folder.iterdir()))}")
    file = folder / "config.yml"
    described = Registry(
        host="127.0.0.1:0", root=root or folder, program=program("3.1"), config_file=file
    )
    driver = storage or {"filesystem": {"rootdirectory": str(described.root)}}
    file.write_text(json.dumps(_config(described, driver)))
    return file


def answers(running: Registry) -> bool:
    try:
        with urllib.request.urlopen(f"{running.url}/v2/", timeout=1) as response:
            return bool(response.status == 200)
    except OSError:  # not there, or too slow
        return False
