"""The policies on the embedded API server: they hold a controller that was taken over."""

import contextlib
from collections.abc import AsyncIterator

import pytest

from lading.api.core import CRON_JOBS, DAEMON_SETS, PODS
from lading.api.imageregistry import IMAGE_PRUNERS
from lading.ports import kube
from tests.deploy import embedded, escapes
from tests.deploy.escapes import Attacker
from tests.deploy.manifests import NAMESPACE


@contextlib.asynccontextmanager
async def taken_over() -> AsyncIterator[Attacker]:
    async with embedded.installed() as clients:
        await escapes.prepare(clients["admin"], escapes.BASE_IMAGE)
        yield Attacker(controller=clients["controller"], own_image=escapes.BASE_IMAGE)


def test_there_are_at_least_40_escapes_and_each_has_a_name() -> None:
    assert len(escapes.ESCAPES) >= 40
    assert len({one.sentence for one in escapes.ESCAPES}) == len(escapes.ESCAPES)


async def test_a_controller_that_was_taken_over_is_refused_by_the_policies() -> None:
    async with taken_over() as attacker:
        accepted = [
            f"{one.sentence}: {answer or 'accepted'}"
            for one in escapes.ESCAPES
            for write in one.writes
            if one.words not in (answer := await escapes.refusal(write, attacker))
        ]
        assert accepted == []


async def test_what_lading_itself_writes_is_accepted() -> None:
    async with taken_over() as attacker:
        answers = {
            one.sentence: await escapes.refusal(one.write, attacker) for one in escapes.OWN_WRITES
        }
        assert {key: answer for key, answer in answers.items() if answer} == {}


async def test_without_the_parameters_only_lading_s_own_objects_are_refused() -> None:
    """The API server looks for a parameter before it looks at the account that writes."""
    async with embedded.installed() as clients:
        admin = clients["admin"]
        await escapes.prepare(admin, escapes.BASE_IMAGE)
        controller = Attacker(controller=clients["controller"], own_image=escapes.BASE_IMAGE)
        await admin.delete(PODS, escapes.CONTROLLER_POD, namespace=NAMESPACE)
        await admin.delete(IMAGE_PRUNERS, "cluster")
        of_others = {"/metadata/name": "other", "/metadata/labels": {}}
        for resource, body in (
            (DAEMON_SETS, controller.daemon_set()),
            (CRON_JOBS, controller.cron_job()),
        ):
            with pytest.raises(kube.KubeError, match="no params found"):
                await controller.create(resource, body)
            other = escapes.changed(body, of_others)
            await admin.create(resource, other, namespace=NAMESPACE)
            await admin.delete(resource, body["metadata"]["name"], namespace=NAMESPACE)


async def test_in_a_roll_out_only_pods_that_stay_decide() -> None:
    async with embedded.installed() as clients:
        admin = clients["admin"]
        await escapes.prepare(admin, escapes.BASE_IMAGE)
        controller = Attacker(controller=clients["controller"], own_image=escapes.BASE_IMAGE)
        earlier = escapes.controller_pod("earlier")
        earlier["metadata"]["name"] = "earlier"
        await admin.create(PODS, earlier, namespace=NAMESPACE)
        with pytest.raises(kube.KubeError, match="of the controller's image"):
            await controller.create(DAEMON_SETS, controller.daemon_set())
        evicted = {"status": {"phase": "Failed"}}
        await admin.patch(PODS, "earlier", evicted, namespace=NAMESPACE, subresource="status")
        await controller.create(DAEMON_SETS, controller.daemon_set())
        with pytest.raises(kube.KubeError, match="of the controller's image"):
            await controller.create(DAEMON_SETS, escapes.daemon_set("earlier"))
