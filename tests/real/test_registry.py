"""Our registry and client beside real ones: one suite, one data folder."""

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.embedded import sample_images
from lading.embedded.registry import server
from lading.kernel import references
from lading.kernel.values import replace
from tests.conformance.registry import targets
from tests.real import suites, whole_images
from tests.real.bed import registry

IMAGE = sample_images.index(
    [sample_images.image([{"a": b"x" * 30_000}, {"b": b"y"}]), sample_images.image([{"c": b"z"}])]
)


@pytest.mark.components("registry")
@pytest.mark.parametrize("version", registry.VERSIONS)
def test_the_suite_passes_but_for_the_known_differences(version: str) -> None:
    with registry.registry(version) as real:
        settings = {targets.VARIABLE: f"distribution-{version}={real.url}"}
        suites.check("registry", settings)


@pytest.mark.components("registry")
@pytest.mark.parametrize("version", registry.VERSIONS)
async def test_a_real_registry_and_ours_serve_the_same_folder(version: str) -> None:
    """Both at once, so that each sees what the other writes."""
    with registry.registry(version) as real:
        async with (
            server.serve(real.root) as url,
            registry_client.connect(SystemClock()) as client,
        ):
            ours = references.parse(f"{url.removeprefix('http://')}/team/app:v1")
            theirs = references.parse(f"{real.host}/team/app:v1")
            await sample_images.push(client, ours, IMAGE)
            await whole_images.check(client, theirs, IMAGE)
            other = sample_images.image([{"d": b"from the real one"}])
            await sample_images.push(client, replace(theirs, tag="v2"), other)
            await whole_images.check(client, replace(ours, tag="v2"), other)
            # A real one of 2.8 lists tags in the order of its folder.
            tags = [sorted(await client.tags(one)) for one in (ours, theirs)]
            assert tags == [["v1", "v2"], ["v1", "v2"]]


@pytest.mark.components("registry")
@pytest.mark.parametrize("version", registry.VERSIONS)
async def test_the_garbage_collector_of_a_real_registry_keeps_what_ours_holds(
    version: str,
) -> None:
    with registry.registry(version) as real:
        async with (
            server.serve(real.root) as url,
            registry_client.connect(SystemClock()) as client,
        ):
            ours = references.parse(f"{url.removeprefix('http://')}/team/app:v1")
            await sample_images.push(client, ours, IMAGE)
            real.collect_garbage()
            await whole_images.check(client, ours, IMAGE)
