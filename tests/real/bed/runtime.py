"""What a test gets of a container runtime, and asking it with crictl."""

import dataclasses
import json
import pathlib
import subprocess
from typing import Any

from tests.real.setup import binaries

CRICTL_SECONDS_MAX = 60


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    kind: str
    """containerd or cri-o"""
    version: str
    endpoint_inside: str
    """The CRI socket as the sandbox sees it, such as unix:///run/containerd/containerd.sock"""
    host_root: pathlib.Path
    """Where the files of its host are seen from outside, as a DaemonSet mounts them."""
    root: pathlib.Path
    """Where its images and containers are; the file system that fills up."""
    conf_dir: pathlib.Path
    """containerd: a folder with hosts.toml per registry. CRI-O: drop-ins, read again on SIGHUP."""
    pid: int
    sandbox_folder: pathlib.Path
    """Its name is also that of the control group in which the sandbox's pods belong."""

    @property
    def socket(self) -> pathlib.Path:
        """Of the CRI; of containerd's own services too."""
        return self.host_root / self.endpoint_inside.removeprefix("unix:///")

    @property
    def endpoint(self) -> str:
        return f"unix://{self.socket}"

    def crictl(self, *arguments: str) -> str:
        """What `crictl ARGUMENTS` printed; an error with its message when it failed."""
        answer = self._run_crictl(*arguments)
        assert answer.returncode == 0, f"crictl {' '.join(arguments)}: {answer.stderr}"
        return answer.stdout

    def crictl_json(self, command: str, *arguments: str) -> Any:
        return json.loads(self.crictl(command, "--output=json", *arguments))

    def answers(self) -> bool:
        return self._run_crictl("version").returncode == 0

    def _run_crictl(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        program = binaries.built("cri-tools", "crictl")
        endpoints = (f"--runtime-endpoint={self.endpoint}", f"--image-endpoint={self.endpoint}")
        return subprocess.run(
            [
                program,
                "--config=/dev/null",
                *endpoints,
                f"--timeout={CRICTL_SECONDS_MAX}s",
                *arguments,
            ],
            capture_output=True,
            text=True,
            check=False,
        )
