"""Runtime classes by the names of a cluster or of a table of the machine."""

import re

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.core import RUNTIME_CLASSES
from lading.embedded import api_server
from tests.cli.image.conftest import Run
from tests.runtime_images.conftest import Stand


async def test_a_runtime_class_of_the_cluster_may_be_named(
    run: Run, stand: Stand, tag: str
) -> None:
    async with api_server.serve(stand.folder / "api", SystemClock()) as api:
        body = {"metadata": {"name": "arm-guests"}, "handler": "arm"}
        await KubeClient(api.exchange).create(RUNTIME_CLASSES, body)
        named = ("--kubeconfig", str(api.kubeconfig), "--runtime")
        shown = await run("ls", "-o", "name", *named, "arm-guests")
        missing = await run("ls", "-o", "name", *named, "kata")
    assert shown.output.startswith("sha256:455a1a2efccc6")
    assert (missing.code, missing.output) == (1, "")
    assert "no RuntimeClass 'kata'" in missing.errors


async def test_ls_shows_the_names_of_the_classes_where_the_cluster_knows_them(
    run: Run, stand: Stand, tag: str
) -> None:
    async with api_server.serve(stand.folder / "api", SystemClock()) as api:
        body = {"metadata": {"name": "arm-guests"}, "handler": "arm"}
        await KubeClient(api.exchange).create(RUNTIME_CLASSES, body)
        shown = await run("ls", "--kubeconfig", str(api.kubeconfig))
    assert re.findall(r"(\S+)\n", shown.output) == ["CLASS", "<default>", "arm-guests"]
    unreachable = await run("ls", "--kubeconfig", str(api.kubeconfig))
    assert "handler:arm" in unreachable.output


async def test_a_table_of_the_machine_may_name_the_classes(
    run: Run, stand: Stand, tag: str
) -> None:
    table = stand.folder / "guest-platforms.toml"
    table.write_text('[runtimes.arm]\nruntime_class_names = ["arm-guests", "slow"]\n')
    shown = await run("ls", "--runtime", "slow")
    assert re.findall(r"(\S+)\n", shown.output) == ["CLASS", "arm-guests,slow"]
    assert "arm-guests,slow" in (await run("gc")).output
