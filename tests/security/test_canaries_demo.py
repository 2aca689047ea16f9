"""Secrets of known text go through every scene of the demo, and no one can read them anywhere.

The registry has a password, the API server a token, the way out a proxy with a password, and the
stub of a machine set holds a text that no redaction would find.
"""

from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.embedded import data_folder, sample_boot_images
from lading.embedded.cluster import ClusterOptions
from lading.embedded.cluster_registry import RegistrySettings
from lading.embedded.demo import play, stage
from lading.kernel.values import replace
from tests.security import places, planted
from tests.security.places import Run
from tests.security.planted import Seen, leaks

STUBS = ("worker-user-data", "worker-user-data-spec-3-managed")


def plant(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.data.mkdir(mode=0o700)
    data_folder.write_private(run.data / "registry-password", planted.PASSWORD)
    data_folder.write_private(run.data / "admin-token", planted.BEARER)
    options_of_the_demo, stub = stage.options, sample_boot_images.stub_of_specification_2()
    stub["ignition"]["config"]["append"][0]["source"] += f"/{planted.USER_DATA}"

    def options(data: Path) -> ClusterOptions:
        registry = RegistrySettings(with_password=True)
        return replace(options_of_the_demo(data), registry=registry)

    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(run.data / "registry-auth.json"))
    monkeypatch.setattr(stage, "options", options)
    monkeypatch.setattr(sample_boot_images, "stub_of_specification_2", lambda: stub)


async def test_no_secret_can_be_read_anywhere_after_the_demo(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(run, monkeypatch)
    told: list[str] = []
    async with planted.proxy(Seen()) as proxy_url:
        for variable in ("HTTPS_PROXY", "HTTP_PROXY"):
            monkeypatch.setenv(variable, proxy_url)
        assert await play.play(run.data, SystemClock(), told.append) > 20
    objects = places.stored_objects(run.data)
    assert all(name in objects["secrets"] for name in STUBS)
    assert leaks(objects.pop("secrets")) == {planted.USER_DATA}
    found = {
        "told": "\n".join(told),
        "metrics": run.shown_metrics(),
        "logs": run.debug_logs.getvalue(),
        "arguments": "\n".join(places.arguments),
        **objects,
        **places.open_files(run.data, without=run.data / "registry"),
    }
    assert {place: leaks(text) for place, text in found.items() if leaks(text)} == {}
    for metric in ("lading_boot_images_machine_sets", "lading_prepull_", "lading_pinned_images_"):
        assert metric in found["metrics"]
    for resource in ("events", "daemonsets.apps", "images.longhorn.io", "machinesets"):
        assert any(resource in name for name in objects)
