"""Helm on a real cluster, with the values that a cluster of this machine needs."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.manifests import DEPLOY
from tests.real.bed.api_server import ApiServer
from tests.real.setup import binaries

CHART = DEPLOY / "chart"
COMMAND_SECONDS_MAX = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Helm:
    folder: Path
    kubeconfig: Path | None = None

    def run(self, *arguments: str | Path) -> str:
        """What `helm ARGUMENTS` printed; an error with its message when it failed."""
        return self.command("helm", *arguments)

    def command(self, *words: str | Path) -> str:
        """Any program of an administrator: helm, kubectl or lading."""
        answer = subprocess.run(
            words,
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_SECONDS_MAX,
            cwd=self.folder,
        )
        output = f"{answer.stdout}\n{answer.stderr}"
        assert answer.returncode == 0, f"{' '.join(map(str, words))}: {output}"
        return answer.stdout

    def _environment(self) -> dict[str, str]:
        programs = (
            binaries.built("helm", "helm").parent,
            binaries.built("kubernetes", "kubectl").parent,
            Path(sys.executable).parent,
        )
        own = {
            "PATH": os.pathsep.join((*map(str, programs), os.environ["PATH"])),
            "HOME": str(self.folder),
        }
        return os.environ | own | ({"KUBECONFIG": str(self.kubeconfig)} if self.kubeconfig else {})

    def rendered(self, *options: str) -> list[dict[str, Any]]:
        made = self.run("template", "lading", CHART, "--namespace=lading-system", *options)
        return [one for one in yaml.safe_load_all(made) if one]

    def values(self, name: str, values: dict[str, Any]) -> Path:
        path = self.folder / name
        path.write_text(yaml.safe_dump(values))
        return path

    def chart(self, version: str) -> Path:
        """A copy of the chart under another version."""
        target = self.folder / f"chart-{version}"
        shutil.copytree(CHART, target)
        description = yaml.safe_load((target / "Chart.yaml").read_text(encoding="utf-8"))
        (target / "Chart.yaml").write_text(yaml.safe_dump({**description, "version": version}))
        return target


def on(server: ApiServer, folder: Path) -> Helm:
    return Helm(folder=folder, kubeconfig=server.kubeconfig_path)
