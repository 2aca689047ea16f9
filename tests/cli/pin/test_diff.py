"""`lading pin diff` against a cluster and a registry."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.cli.pin import sets
from lading.embedded import api_server, sample_sets
from lading.embedded.api_server import ApiServer
from lading.installation import apply as installation
from lading.wiring.features import DEFINITIONS
from tests.command import lading
from tests.pinned_images.served_registry import ServedRegistry, served

__all__ = ["served"]


@pytest.fixture
async def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ApiServer]:
    monkeypatch.setattr(sets, "HOST_STATE_FOLDER", tmp_path / "host")
    async with api_server.serve(tmp_path / "api", SystemClock()) as api:
        await installation.install(KubeClient(api.exchange), SystemClock(), DEFINITIONS)
        yield api


async def test_a_diff_shows_images_and_bytes(
    cluster: ApiServer, served: ServedRegistry, tmp_path: Path
) -> None:
    base = {"base": b"0" * 1000}
    one, two, three = [
        await served.push(f"app{number}:v1", [base, {"own": bytes([number]) * 1000}])
        for number in range(3)
    ]
    kube = KubeClient(cluster.exchange)
    await kube.create(PINNED_IMAGE_SETS, sample_sets.set_of("mine", [one, two]))
    file = tmp_path / "edit.yaml"
    file.write_text(yaml.safe_dump(sample_sets.set_of("mine", [two, three])))
    words = ("pin", "diff", "-f", str(file), f"--kubeconfig={cluster.kubeconfig}")
    result = await lading(*words)
    assert result.code == 0, result.errors
    title, added, freed, sizes = result.output.splitlines()
    assert title == "pinnedimageset/mine: 1 added, 1 freed"
    assert (added, freed) == (f"+ {three}", f"- {one}")
    assert sizes.startswith("Each node pulls up to ")
    data = json.loads((await lading(*words, "-o", "json")).output)
    assert data["sets"][0]["added"] == [{"image": three}]
    assert 0 < data["addedBytes"] < 1000
    assert data["sizeUnknown"] == []
