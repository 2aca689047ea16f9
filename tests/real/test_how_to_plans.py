"""The commands of how-to pages that plan, on `lading up`, with the kubectl of a person.

A plan asks the kubelets for their free space through the API server, and that of the real cluster
cannot reach its node by name. Lists of images come from stand-ins for kubeadm and k3s.
"""

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import free_ports
from tests.cli import up_process
from tests.real import how_to

pytestmark = pytest.mark.components("kube")

CREATED = re.compile(r"^pinnedimageset/(\S+) is ready$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    folder: Path
    registry: str
    auth_file: Path

    def images(self) -> str:
        return "".join(f"{self.registry}/first/app-{number}:v1\n" for number in (1, 2, 3))

    def prepare(self) -> None:
        """The files, programs and namespaces that the pages assume; node-3 is a control plane."""
        (self.folder / "k3s-images.txt").write_text(self.images())
        kubeadm = self.folder / "kubeadm"
        kubeadm.write_text(f"#!/bin/sh\nprintf '%s' '{self.images()}'\n")
        kubeadm.chmod(0o755)
        self.run("kubectl create namespace lading-agents")
        self.run("kubectl label node/node-3 node-role.kubernetes.io/control-plane=")
        self.run("lading pin create set -f k3s-images.txt > set.yaml")

    def run(self, command: str) -> str:
        environment = {
            "KUBECONFIG": str(self.folder / "up" / "kubeconfig"),
            "REGISTRY_AUTH_FILE": str(self.auth_file),
        }
        return how_to.run(command, self.folder, environment)

    async def run_page(self, name: str) -> list[str]:
        """What each command printed."""
        user, password = self.password()
        printed = []
        for step in how_to.commands(how_to.FOLDER / name):
            placed = how_to.REGISTRIES.sub(self.registry, step.text)
            command = placed.replace("=USER", f"={user}").replace("=PASSWORD", f"={password}")
            printed.append(await asyncio.to_thread(self.run, command))
        return printed

    def password(self) -> tuple[str, str]:
        auth = json.loads(self.auth_file.read_text())["auths"][self.registry]["auth"]
        user, _, password = base64.b64decode(auth).decode().partition(":")
        return user, password


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Site]:
    port = str(free_ports.find())
    options = ("--nodes", "3", "--registry-port", port, "--registry-auth")
    async with up_process.welcomed(folder / "up", *options) as (_, welcome):
        found = re.search(r"with the password in (\S+)", welcome)
        assert found, welcome
        site = Site(folder=folder, registry=f"127.0.0.1:{port}", auth_file=Path(found[1]))
        await asyncio.to_thread(site.prepare)
        yield site


async def test_pages_that_plan(tmp_path: Path) -> None:
    """One cluster for all of them, because none leaves anything that another would see."""
    async with opened(tmp_path) as site:
        *_, plan = await site.run_page("slow-line.md")
        assert "a pull-through cache of the site downloads" in plan
        *_, plan = await site.run_page("private-images.md")
        assert re.search(r"^node-1 +3 +0 +3 ", plan, re.MULTILINE)
        printed = "".join(await site.run_page("upgrade-window.md"))
        assert set(CREATED.findall(printed)) == {
            *("v1-36-3", "v1-36-3-masters"),
            *("k3s-v1-36-3", "k3s-v1-36-3-servers"),
        }
