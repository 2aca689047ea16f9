"""The test plan of the pre-pull design, and its setting, on any cluster. Knows no server."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping

import msgspec
import pytest

from lading.adapters.kube.client import KubeClient
from lading.api.core import DAEMON_SETS, EVENTS, PODS, DaemonSet, Pod
from lading.api.longhorn import IMAGES, SETTING_NAME, SETTINGS, Image
from lading.ports import kube
from lading.ports.kube import Selection
from lading.prepull import holder
from lading.prepull.rules import listed_name
from lading.prepull.types import DefaultImage
from tests.e2e import waiting

SHARE, INSTANCE = "share-manager", "instance-manager"


class PrePullUnderTest(ABC):
    """A cluster with worker nodes, and a controller with a list of images."""

    namespace: str

    @property
    @abstractmethod
    def node_names(self) -> tuple[str, ...]:
        """The worker nodes."""

    @property
    @abstractmethod
    def kube(self) -> KubeClient:
        """As administrator; valid until the next `start`."""

    @property
    @abstractmethod
    def registry_host(self) -> str: ...

    @abstractmethod
    async def start(self, listed: Mapping[str, str]) -> None:
        """The controller with this list, as after a change of its Deployment."""

    @abstractmethod
    async def push(self, name: str, tag: str) -> str:
        """An image of one text file that no other image shares, by its tag."""

    @abstractmethod
    async def present(self, node: str) -> set[str]:
        """What the runtime of the node has, by tag."""

    async def images(self) -> dict[str, Image]:
        page = await self.kube.page(IMAGES, Selection(namespace=self.namespace))
        return {one.metadata.name: one for one in page.items}

    async def make_image(self, name: str, url: str) -> None:
        body = {
            "apiVersion": IMAGES.api_version,
            "kind": IMAGES.kind,
            "metadata": {"name": name},
            "spec": {"imageURL": url},
        }
        await self.kube.create(IMAGES, body, namespace=self.namespace)

    async def delete_image(self, name: str) -> None:
        await self.kube.delete(IMAGES, name, namespace=self.namespace)

    async def pods(self) -> tuple[Pod, ...]:
        selection = Selection(namespace=self.namespace, label_selector=holder.HOLDER_SELECTOR)
        return (await self.kube.page(PODS, selection)).items

    async def daemon_set(self) -> DaemonSet | None:
        try:
            return await self.kube.get(DAEMON_SETS, holder.NAME, namespace=self.namespace)
        except kube.NotFound:
            return None

    async def write_setting(self, value: str) -> None:
        patch = {"value": value}
        await self.kube.patch(SETTINGS, SETTING_NAME, patch, namespace=self.namespace)

    async def event_reasons(self, image: str) -> set[str]:
        selection = Selection(namespace=self.namespace, field_selector=f"regarding.name={image}")
        return {one.reason for one in (await self.kube.page(EVENTS, selection)).items}

    async def held(self) -> dict[str, set[str]]:
        """By node, the images with a ready container there, in any pod that stays."""
        found: dict[str, set[str]] = {name: set() for name in self.node_names}
        for pod in await self.pods():
            if pod.metadata.deletion_timestamp or pod.spec.node_name not in found:
                continue
            found[pod.spec.node_name] |= ready_images(pod)
        return found

    async def check_no_gap(self, old: str, new: str) -> None:
        for node, images in (await self.held()).items():
            assert {old, new} & images, f"{node} holds neither {old} nor {new}, only {images}"

    async def until(self, is_so: Callable[[], Awaitable[bool]], what: str) -> None:
        await waiting.until(is_so, what, why_not=self.why_not)

    async def until_states(self, wanted: Mapping[str, str]) -> None:
        """These Images have these states."""

        async def is_so() -> bool:
            states = {name: one.status.state for name, one in (await self.images()).items()}
            return {name: states.get(name) for name in wanted} == wanted

        await self.until(is_so, f"the Images are {wanted}")

    async def until_deployed(self, *names: str) -> None:
        await self.until_states(dict.fromkeys(names, "deployed"))

    async def until_reported(self, names: Iterable[str], *reasons: str) -> None:
        """Events have these reasons, for each of the Images."""
        for name in names:

            async def is_so(name: str = name) -> bool:
                return set(reasons) <= await self.event_reasons(name)

            await self.until(is_so, f"{name} reported {', '.join(reasons)}")

    async def why_not(self) -> str:
        images = [f"{name}: {one.status}" for name, one in (await self.images()).items()]
        pods = [f"{one.key} on {one.spec.node_name}: {one.status}" for one in await self.pods()]
        return "\n".join((*images, *pods))


def ready_images(pod: Pod) -> set[str]:
    """The images with a ready container that holds them, in whichever way."""
    held = holder.held(pod)
    ready = {one.name for one in pod.status.container_statuses if one.ready}
    return {url for name, url in held.items() if name in ready}


def template_images(made: DaemonSet) -> set[str]:
    """The images that the template holds."""
    spec = made.spec["template"]["spec"]
    return set(holder.held(msgspec.convert({"metadata": {}, "spec": spec}, Pod)).values())


def names_of(listed: Mapping[str, str]) -> tuple[str, ...]:
    """Of the Images that the list makes."""
    return tuple(listed_name(DefaultImage(name=name, url=url)) for name, url in listed.items())


async def pushed(prepull: PrePullUnderTest, tag: str) -> dict[str, str]:
    """A list with new images."""
    return {name: await prepull.push(name, tag) for name in (SHARE, INSTANCE)}


async def until_upgraded(
    prepull: PrePullUnderTest, old: Mapping[str, str], new: Mapping[str, str]
) -> None:
    """Every node holds the new images and only these, and one of each pair all the time."""

    async def is_upgraded() -> bool:
        for name in old:
            await prepull.check_no_gap(old[name], new[name])
        found = await prepull.images()
        states = {one.status.state for one in found.values()}
        return set(found) == set(names_of(new)) and states == {"deployed"}

    await prepull.until(is_upgraded, "the upgrade is done")

    async def old_pods_are_gone() -> bool:
        return all(set(new.values()) == images for images in (await prepull.held()).values())

    await prepull.until(old_pods_are_gone, "only the new images are held")


@pytest.mark.asyncio(loop_scope="session")
class PrePullScenarios:
    async def test_fresh_install_and_upgrade(self, prepull: PrePullUnderTest) -> None:
        old = await pushed(prepull, "1")
        await prepull.start(old)
        await prepull.until_deployed(*names_of(old))
        await prepull.until_reported(names_of(old), "Deploying", "Deployed")
        await _check_installed(prepull, old)
        new = await pushed(prepull, "2")
        await prepull.start(new)

        await until_upgraded(prepull, old, new)
        await prepull.until_reported(names_of(new), "Deploying", "Deployed")
        await _check_installed(prepull, new)

    async def test_setting_off_and_on(self, prepull: PrePullUnderTest) -> None:
        url = await prepull.push("setting", "1")
        await prepull.make_image("setting", url)
        await prepull.until_deployed("setting")
        await prepull.write_setting("false")
        await prepull.until_states({"setting": "unknown"})

        async def no_daemon_set_is_left() -> bool:
            return await prepull.daemon_set() is None

        await prepull.until(no_daemon_set_is_left, "the DaemonSet is gone")
        assert not (await prepull.images())["setting"].status.node_deployment_map

        async def no_pod_is_left() -> bool:
            return not await prepull.pods()

        await prepull.until(no_pod_is_left, "the pods are gone")
        listed = {SHARE: await prepull.push(SHARE, "setting")}
        await prepull.start(listed)
        await prepull.until_states({"setting": "unknown", names_of(listed)[0]: "unknown"})
        assert await prepull.daemon_set() is None, "a restart keeps the edit"
        await prepull.write_setting("true")
        await prepull.until_deployed("setting", *names_of(listed))
        with pytest.raises(kube.Invalid, match="value must be the string 'true' or 'false'"):
            await prepull.write_setting("yes")
        await prepull.delete_image("setting")

    async def test_an_image_that_does_not_exist_leaves_the_others_alone(
        self, prepull: PrePullUnderTest
    ) -> None:
        old, added = await prepull.push("old", "1"), await prepull.push("added", "1")
        await prepull.make_image("old", old)
        await prepull.until_deployed("old")
        await prepull.make_image("absent", f"{prepull.registry_host}/absent:1")
        await prepull.make_image("added", added)
        await prepull.until_states({"old": "deployed", "added": "deployed", "absent": "error"})
        found = (await prepull.images())["absent"].status
        assert {one.reason for one in found.failures} == {"ImageNotFound"}
        assert {one.node for one in found.failures} <= set(prepull.node_names)
        templates = {
            (one.spec.node_name, one.metadata.annotations[holder.TEMPLATE_ANNOTATION])
            for one in await prepull.pods()
        }
        assert len(templates) == 2 * len(prepull.node_names), "old pods stay beside the new ones"
        for name in ("old", "absent", "added"):
            await prepull.delete_image(name)


async def _check_installed(prepull: PrePullUnderTest, listed: Mapping[str, str]) -> None:
    """One DaemonSet holds these on every node, and the status of the Images tells so."""
    wanted = set(listed.values())
    made = await prepull.daemon_set()
    assert made is not None
    assert template_images(made) == wanted
    for node, images in (await prepull.held()).items():
        assert images == wanted, node
        assert wanted <= await prepull.present(node)
    found = await prepull.images()
    assert set(found) == set(names_of(listed))
    for one in found.values():
        assert one.status.node_deployment_map == dict.fromkeys(prepull.node_names, True)
        assert one.status.owner_id in prepull.node_names
