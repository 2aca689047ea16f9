"""What is made of a pull that a runtime ended: it counts when its image is listed, or it failed."""

from dataclasses import dataclass, replace
from pathlib import Path

from lading.pinned_images.node.types import Desired
from lading.ports import cri
from lading.ports.cri import Image, ImageSpec
from lading.ports.registry import Credential
from tests.pinned_images.node import whole_nodes
from tests.pinned_images.node.builders import image_set, key
from tests.pinned_images.node.whole_nodes import LONG_AGO, Runtime

SECONDS = 60


@dataclass
class RenamingRuntime(Runtime):
    """Lists what it pulled under another name, as runtimes do that know better."""

    async def pull(self, spec: ImageSpec, credential: Credential | None = None) -> str:
        self.names.add(f"elsewhere.example/{spec.image}")
        self.pulled.append(spec.image)
        return whole_nodes.image_id(spec.image)

    async def image(self, spec: ImageSpec) -> Image | None:
        return (await self.images())[0]


async def test_what_is_listed_under_another_name_is_told_and_not_pulled_all_the_time(
    tmp_path: Path,
) -> None:
    desired = Desired(node_name="node-1", sets=(image_set("s", "a", first_seen_at=LONG_AGO),))
    runtime = RenamingRuntime()
    async with whole_nodes.opened(tmp_path, runtime) as node:
        await node.live(desired, seconds=SECONDS)
        assert 3 <= len(runtime.pulled) <= 5
        (error,) = node.status.pinned_image_sets[0].last_failed_generation_errors
    assert f"lists it as elsewhere.example/{key('a')}" in error


async def test_what_guests_need_is_not_pulled_while_nobody_can_tell_what_that_is(
    tmp_path: Path,
) -> None:
    wanted = replace(image_set("s", first_seen_at=LONG_AGO), images=(key("a", "kata"),))
    async with whole_nodes.opened(tmp_path) as node:
        node.registry.is_away = True
        await node.live(Desired(node_name="node-1", sets=(wanted,)), seconds=SECONDS)
        assert node.runtime.pulled == []
        (error,) = node.status.pinned_image_sets[0].last_failed_generation_errors
    assert f"failed to resolve {key('a', 'kata')}: the registry is away" in error


@dataclass
class TalkativeRuntime(Runtime):
    async def pull(self, spec: ImageSpec, credential: Credential | None = None) -> str:
        url = "https://store.example/blob?X-Amz-Signature=0123456789abcdef"
        raise cri.Unauthorized(f"unexpected status from GET {url}: 403 Forbidden")


async def test_a_signed_url_in_the_words_of_a_runtime_does_not_reach_the_status(
    tmp_path: Path,
) -> None:
    desired = Desired(node_name="node-1", sets=(image_set("s", "a", first_seen_at=LONG_AGO),))
    async with whole_nodes.opened(tmp_path, TalkativeRuntime()) as node:
        await node.live(desired, seconds=3)
        (error,) = node.status.pinned_image_sets[0].last_failed_generation_errors
    assert "403 Forbidden" in error
    assert "0123456789abcdef" not in error
