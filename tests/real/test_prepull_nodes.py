"""Roll-outs of held images on a real control plane, with several nodes of `lading up`."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest
import pytest_asyncio

from lading.api.longhorn import IMAGES, SETTING_NAME, SETTINGS
from lading.embedded.workloads import own_image as lading_image
from lading.prepull import holder
from tests.deploy.manifests import NAMESPACE
from tests.e2e.prepull import names_of, pushed, template_images
from tests.real import prepull_nodes, sidecars
from tests.real.bed.api_server import ApiServer
from tests.real.prepull_nodes import NAMES, ControlPlaneWithNodes, template_of

WAVE = 2
IN_WAVES = f"--prepull-wave={WAVE}"
PASSES = 6

pytestmark = [pytest.mark.components("kube"), pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with prepull_nodes.control_plane_server() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def opened(
    server: ApiServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ControlPlaneWithNodes]:
    async with prepull_nodes.opened(server, tmp_path_factory.mktemp("nodes")) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def prepull(opened: ControlPlaneWithNodes) -> AsyncIterator[ControlPlaneWithNodes]:
    """Each test finds the nodes, and nothing else, also after one that failed."""
    await clean(opened)
    yield opened
    await clean(opened)


async def clean(opened: ControlPlaneWithNodes) -> None:
    opened.record.watched, opened.record.gaps = (), []
    opened.record.pulling_max = 0
    await opened.controller.kill()
    for name in await opened.images():
        await opened.delete_image(name)

    async def are_gone() -> bool:
        return await opened.daemon_set() is None and not await opened.pods()

    await opened.until(are_gone, "the DaemonSet and its pods are gone with the Images")


async def test_an_upgrade_by_a_controller_that_is_killed_after_each_step(
    prepull: ControlPlaneWithNodes,
) -> None:
    """Each step is seen in the API; the process dies at once, and another goes on from there."""
    old = await pushed(prepull, "1")
    await prepull.start(old, IN_WAVES)
    await prepull.until_deployed(*names_of(old))
    assert 0 < prepull.record.pulling_max <= WAVE, "at the first install too"
    first = await prepull.daemon_set()
    assert first is not None
    new = await pushed(prepull, "2")
    prepull.record.watched = tuple(frozenset({old[name], new[name]}) for name in old)
    prepull.record.pulling_max = 0

    async def has(*names: str) -> bool:
        return set(names) <= set(await prepull.images())

    async def is_another_template() -> bool:
        found = await prepull.daemon_set()
        return found is not None and template_of(found) != template_of(first)

    def are_released(count: int) -> Callable[[], Awaitable[bool]]:
        async def is_so() -> bool:
            found = await prepull.daemon_set()
            assert found is not None
            return len(await prepull.released(template_of(found))) >= count

        return is_so

    async def has_no_old() -> bool:
        return not set(names_of(old)) & set(await prepull.images())

    steps: dict[str, Callable[[], Awaitable[bool]]] = {
        "the new Images are there": lambda: has(*names_of(new)),
        "the DaemonSet has another template": is_another_template,
        **{f"{count} nodes may pull": are_released(count) for count in (1, 3, len(NAMES))},
        "the old Images are gone": has_no_old,
    }
    for what, is_so in steps.items():
        await prepull.start(new, IN_WAVES)
        await prepull.until(is_so, what)
        await prepull.controller.kill()
    await prepull.start(new, IN_WAVES)
    await prepull.until_deployed(*names_of(new))

    async def only_new_pods_are_left() -> bool:
        return all(set(new.values()) == images for images in (await prepull.held()).values())

    await prepull.until(only_new_pods_are_left, "only the new images are held")
    assert set(await prepull.images()) == set(names_of(new))
    assert prepull.record.gaps == [], "no node lacks both the old and the new image"
    assert 0 < prepull.record.pulling_max <= WAVE
    for name in NAMES:
        assert set(new.values()) <= await prepull.present(name)


async def test_twenty_images_in_one_kubectl_apply_are_at_most_two_roll_outs(
    prepull: ControlPlaneWithNodes,
) -> None:
    await prepull.start({}, IN_WAVES)
    urls = {f"image-{one:02}": await prepull.push(f"image-{one:02}", "1") for one in range(20)}
    bodies = [
        {
            "apiVersion": IMAGES.api_version,
            "kind": IMAGES.kind,
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"imageURL": url},
        }
        for name, url in urls.items()
    ]
    listed = {"apiVersion": "v1", "kind": "List", "items": bodies}
    prepull.server.kubectl("apply", "-f", "-", stdin=json.dumps(listed))
    await prepull.until_deployed(*urls)
    made = await prepull.daemon_set()
    assert made is not None
    assert template_images(made) == {*urls.values()}
    assert made.metadata.generation <= 2, "each roll-out is a generation of the DaemonSet"


async def test_a_webhook_that_adds_labels_and_sidecars_causes_no_write_loop_and_no_wrong_state(
    prepull: ControlPlaneWithNodes,
) -> None:
    """The sidecars never start, so no pod is Ready; the image is held all the same."""
    absent = f"{prepull.host}/absent:1"
    own_image = str(lading_image.reference(prepull.host))
    listed = {"share-manager": await prepull.push("share-manager", "webhook")}
    (name,) = names_of(listed)
    with sidecars.injected(prepull.server, into_pods=absent):
        await prepull.start(listed, IN_WAVES)
        await prepull.until_deployed(name)
        for pod in await prepull.pods():
            added = {one.image for one in pod.spec.containers} - {own_image}
            assert added == {absent}
            assert set(holder.held(pod).values()) == {*listed.values()}
        found = (await prepull.images())[name].status
        assert found.node_deployment_map == dict.fromkeys(NAMES, True)
        assert found.failures == ()
        before = await state(prepull)
        logged_bytes = prepull.controller.log_bytes()
        await prepull.start(listed, IN_WAVES)
        for number in range(PASSES):
            await another_pass(prepull, number)
        applied = prepull.controller.applied_since(logged_bytes)
        written = applied.count("ReplaceDaemonSet")
        assert 1 <= written < PASSES, "each process writes it once, and again after a conflict"
        assert await state(prepull) == before, "which changes nothing"


async def state(prepull: ControlPlaneWithNodes) -> tuple[int, set[str]]:
    """The generation of the DaemonSet, and its pods."""
    made = await prepull.daemon_set()
    assert made is not None
    assert made.spec["template"]["metadata"]["labels"][sidecars.LABEL] == "true"
    return made.metadata.generation, {one.metadata.uid for one in await prepull.pods()}


async def another_pass(prepull: ControlPlaneWithNodes, number: int) -> None:
    """Of the controller over the DaemonSet, by a change that concerns it not."""
    metric = 'lading_reconciles_total{controller="prepull-daemon-set",outcome="success"}'
    before = await prepull.controller.counted(metric)
    patch = {"metadata": {"annotations": {"example.com/number": str(number)}}}
    await prepull.kube.patch(SETTINGS, SETTING_NAME, patch, namespace=NAMESPACE)

    async def is_over() -> bool:
        return await prepull.controller.counted(metric) > before

    await prepull.until(is_over, "the controller made another pass")
