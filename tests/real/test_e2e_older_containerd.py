"""The scenarios on older releases of containerd: 1.7 pins; 1.6, which Debian has, cannot."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.e2e import door, private_registry
from tests.e2e.cluster import ClusterUnderTest
from tests.e2e.scenarios import PinnedImageScenarios
from tests.e2e.skew import RuntimeCannotPinScenarios
from tests.real import under_test
from tests.real.bed import api_server, containerd, registry

pytestmark = pytest.mark.components("kube", "containerd", "registry")


@pytest.fixture(scope="class")
def server() -> Iterator[api_server.ApiServer]:
    with api_server.api_server() as running:
        yield running


@pytest_asyncio.fixture(scope="class", loop_scope="session")
async def opened(
    request: pytest.FixtureRequest,
    server: api_server.ApiServer,
    registry_3_1: registry.Registry,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[ClusterUnderTest]:
    folder = tmp_path_factory.mktemp("installed")
    with containerd.containerd(request.cls.release, registries=[registry_3_1]) as engine:
        async with (
            door.before(registry_3_1.host) as front,
            private_registry.opened(folder) as private,
            under_test.on_runtime(server, engine, front, private, folder) as running,
        ):
            yield running


@pytest_asyncio.fixture(loop_scope="session")
async def cluster(opened: ClusterUnderTest) -> AsyncIterator[ClusterUnderTest]:
    yield opened
    await opened.clear()


@pytest.mark.asyncio(loop_scope="session")
class TestOnContainerd17:
    """What hangs on how a release pins; the other scenarios would show the same as on 2.3."""

    release = "1.7"
    test_pin = PinnedImageScenarios.test_a_set_is_preloaded_and_pinned_and_everybody_says_so
    test_unpin = PinnedImageScenarios.test_a_deleted_set_unpins_its_own_images_and_no_others
    test_lost_image = PinnedImageScenarios.test_an_image_that_is_removed_by_hand_comes_back
    test_lost_pin = PinnedImageScenarios.test_a_pin_that_is_removed_by_hand_comes_back
    test_cleanup = PinnedImageScenarios.test_a_cleaned_up_node_holds_no_pin_of_ours


class TestOnContainerd16(RuntimeCannotPinScenarios):
    release = "1.6"
