"""How a node reports images that it cannot have: ours, and a kubelet on containerd."""

from dataclasses import dataclass

import pytest

from lading.api.core import EVENTS
from lading.ports import kube
from lading.ports.kube import Kube, Selection
from tests.conformance.kube.api import PODS, Document
from tests.e2e import waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsUnderTest:
    kube: Kube
    registry_host: str

    async def create(self, image: str, policy: str = "IfNotPresent") -> None:
        container = {"name": "c", "image": image, "imagePullPolicy": policy}
        spec = {"containers": [container], "automountServiceAccountToken": False}
        body = {"metadata": {"name": "p"}, "spec": spec}
        await self.kube.create(PODS, body, namespace="default")

    async def status(self) -> Document:
        found = await self.kube.get(PODS, "p", namespace="default")
        status: Document = found["status"]
        return status

    async def waiting_for(self, reason: str) -> str:
        """The message, when the container waits for that reason."""

        async def is_so() -> bool:
            return (await self._waiting()).get("reason") == reason

        async def state() -> str:
            return str(await self.status())

        await waiting.until(is_so, f"the container waited with reason {reason}", why_not=state)
        return str((await self._waiting()).get("message"))

    async def events(self, *reasons: str) -> None:
        """Waits until there are events with these reasons about the pod."""

        async def are_there() -> bool:
            found = (await self.kube.page(EVENTS, Selection(namespace="default"))).items
            about = [one.reason for one in found if one.regarding.name == "p"]
            return {*reasons} <= {*about}

        await waiting.until(are_there, f"there were events with the reasons {reasons}")

    async def clear(self) -> None:
        await self.kube.delete(PODS, "p", namespace="default", grace_seconds=0)

        async def is_gone() -> bool:
            try:
                await self.status()
            except kube.NotFound:
                return True
            return False

        await waiting.until(is_gone, "the pod was gone")

    async def _waiting(self) -> Document:
        statuses = (await self.status()).get("containerStatuses") or [{}]
        found: Document = (statuses[0].get("state") or {}).get("waiting") or {}
        return found


@pytest.mark.asyncio(loop_scope="session")
class PodPullScenarios:
    async def test_an_image_that_is_not_there_backs_off(self, pods: PodsUnderTest) -> None:
        image = f"{pods.registry_host}/absent:v1"
        await pods.create(image)
        message = await pods.waiting_for("ImagePullBackOff")
        begin = (
            f'Back-off pulling image "{image}": ErrImagePull: rpc error: code = NotFound desc = '
        )
        assert message.startswith(f'{begin}failed to pull and unpack image "{image}": ')
        assert message.endswith(": not found")
        status = await pods.status()
        assert status["phase"] == "Pending"
        (ready,) = [one for one in status["conditions"] if one["type"] == "Ready"]
        assert (ready["status"], ready["reason"]) == ("False", "ContainersNotReady")
        assert ready["message"] == "containers with unready status: [c]"
        await pods.events("Scheduled", "Pulling", "Failed", "BackOff")

    async def test_a_policy_of_never_is_kept(self, pods: PodsUnderTest) -> None:
        image = f"{pods.registry_host}/absent:v1"
        await pods.create(image, "Never")
        message = await pods.waiting_for("ErrImageNeverPull")
        assert message == f'Container image "{image}" is not present with pull policy of Never'
        await pods.events("Failed")

    async def test_a_name_that_is_no_reference_is_refused(self, pods: PodsUnderTest) -> None:
        await pods.create("UPPER//x")
        assert await pods.waiting_for("InvalidImageName") == (
            'Failed to apply default image tag "UPPER//x": couldn\'t parse image name "UPPER//x":'
            " invalid reference format"
        )
        await pods.events("Failed")
