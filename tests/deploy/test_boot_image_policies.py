"""The optional policies of boot images on the embedded API server: what they allow and refuse."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
import yaml

from lading.adapters.clock import SystemClock
from lading.adapters.kube import discovery
from lading.adapters.kube.client import KubeClient
from lading.api import loose
from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.cluster_api import machine_templates
from lading.api.core import SECRETS
from lading.api.openshift_config import INFRASTRUCTURES
from lading.api.operator import MACHINE_CONFIGURATION, MACHINE_CONFIGURATIONS
from lading.embedded.api_server import Authorized
from lading.embedded.kube.authentication import ADMIN, User
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage import memory
from lading.installation import apply as installation
from lading.ports import kube
from tests.command import lading
from tests.deploy import manifests
from tests.deploy.manifests import DEPLOY

CONTROLLER = "system:serviceaccount:lading-system:lading-controller"
OTHER_NAMES = {
    "in another namespace": "system:serviceaccount:images:lading-controller",
    "with a prefix": "system:serviceaccount:lading-system:my-lading-controller-2",
}
IDENTITIES = {
    "admin": ADMIN,
    "controller": User(name=CONTROLLER, groups=("system:masters",)),
    **{one: User(name=name, groups=("system:masters",)) for one, name in OTHER_NAMES.items()},
}


@contextlib.asynccontextmanager
async def installed(overlay: str) -> AsyncIterator[dict[str, KubeClient]]:
    core = Core(memory.MemoryStorage(), SystemClock(), tokens=IDENTITIES)
    clients = {name: KubeClient(Authorized(core, name)) for name in IDENTITIES}
    admin = clients["admin"]
    try:
        await installation.install(admin, SystemClock(), (MACHINE_CONFIGURATION,))
        for manifest in loose.manifests():
            await admin.create(CUSTOM_RESOURCE_DEFINITIONS, manifest)
        catalogue = await discovery.discover(admin)
        for document in manifests.resources(DEPLOY / "policies" / overlay):
            resource = catalogue.of_kind(document["apiVersion"], document["kind"])
            await admin.create(resource, document, field_validation="Strict")
        yield clients
    finally:
        await core.close()


async def on_platform(admin: KubeClient, platform: str | None) -> None:
    body = {
        "apiVersion": INFRASTRUCTURES.api_version,
        "kind": INFRASTRUCTURES.kind,
        "metadata": {"name": "cluster"},
    }
    await admin.create(INFRASTRUCTURES, body)
    if platform is not None:
        status = {"platformStatus": {"type": platform}}
        await admin.patch(INFRASTRUCTURES, "cluster", {"status": status}, subresource="status")


def configuration(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": MACHINE_CONFIGURATIONS.api_version,
        "kind": MACHINE_CONFIGURATIONS.kind,
        "metadata": {"name": "default"},
        "spec": spec,
    }


def managers(mode: str) -> dict[str, Any]:
    one = {"resource": "machinesets", "apiGroup": "machine.openshift.io"}
    return {"managedBootImages": {"machineManagers": [{**one, "selection": {"mode": mode}}]}}


ENABLED = {"managedBootImageConfig": {"mode": "Enabled"}}
DISABLED = {"managedBootImageConfig": {"mode": "Disabled"}}


@pytest.mark.parametrize(
    ("platform", "spec", "is_allowed"),
    [
        ("GCP", ENABLED, True),
        ("AWS", ENABLED, True),
        ("Azure", ENABLED, True),
        ("VSphere", ENABLED, False),
        ("gcp", ENABLED, False),
        (None, ENABLED, False),
        ("VSphere", DISABLED, True),
        (None, DISABLED, True),
        ("VSphere", {}, True),
        ("GCP", managers("All"), True),
        ("BareMetal", managers("All"), False),
        ("BareMetal", managers("None"), True),
    ],
)
async def test_platforms(platform: str | None, spec: dict[str, Any], is_allowed: bool) -> None:
    async with installed("boot-images-platform") as clients:
        await on_platform(clients["admin"], platform)
        if is_allowed:
            await clients["admin"].create(MACHINE_CONFIGURATIONS, configuration(**spec))
            return
        with pytest.raises(kube.KubeError, match="only on these platforms: GCP, AWS, Azure"):
            await clients["admin"].create(MACHINE_CONFIGURATIONS, configuration(**spec))


async def test_without_an_infrastructure_every_write_is_denied() -> None:
    async with installed("boot-images-platform") as clients:
        with pytest.raises(kube.KubeError):
            await clients["admin"].create(MACHINE_CONFIGURATIONS, configuration(**DISABLED))


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"managedBootImageConfig": {"mode": "MatchSelector"}}, "matchSelector is required"),
        (
            {"managedBootImageConfig": {"mode": "MatchSelector", "matchSelector": {}}},
            "must not be empty",
        ),
        (
            {"managedBootImageConfig": {"mode": "Enabled", "matchSelector": {"matchLabels": {}}}},
            "not allowed with other modes",
        ),
        (
            {
                "managedBootImageConfig": {
                    "mode": "MatchSelector",
                    "matchSelector": {"matchLabels": {}, "matchExpressions": []},
                }
            },
            "must not be empty",
        ),
        (
            {
                "managedBootImageConfig": {
                    "mode": "MatchSelector",
                    "matchSelector": {"matchExpressions": []},
                }
            },
            "must not be empty",
        ),
        ({"managedBootImageConfig": {"mode": "On"}}, "Unsupported value"),
        (managers("Partial"), "partial is required"),
    ],
)
async def test_a_union_that_does_not_hold_is_refused(spec: dict[str, Any], field: str) -> None:
    async with installed("boot-images") as clients:
        with pytest.raises(kube.Invalid, match=field):
            await clients["admin"].create(MACHINE_CONFIGURATIONS, configuration(**spec))


@pytest.mark.parametrize(
    "selector",
    [
        {"matchLabels": {"a": "b"}},
        {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
    ],
    ids=["labels", "expressions"],
)
async def test_a_selector_of_either_form_is_accepted(selector: dict[str, Any]) -> None:
    config = {"mode": "MatchSelector", "matchSelector": selector}
    async with installed("boot-images") as clients:
        body = configuration(managedBootImageConfig=config)
        await clients["admin"].create(MACHINE_CONFIGURATIONS, body)


async def test_a_configuration_is_named_default_or_cluster() -> None:
    async with installed("boot-images") as clients:
        for name in ("default", "cluster"):
            body = {**configuration(**ENABLED), "metadata": {"name": name}}
            await clients["admin"].create(MACHINE_CONFIGURATIONS, body)
        other = {**configuration(**ENABLED), "metadata": {"name": "other"}}
        with pytest.raises(kube.Invalid, match="must be named default or cluster"):
            await clients["admin"].create(MACHINE_CONFIGURATIONS, other)


def secret(name: str, **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "labels": labels}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}


OURS = {"app.kubernetes.io/managed-by": "lading"}
COPY = "worker-user-data-spec-3-managed"


async def test_the_controller_writes_only_managed_copies() -> None:
    async with installed("boot-images") as clients:
        admin, controller = clients["admin"], clients["controller"]
        with pytest.raises(kube.KubeError, match="only Secrets with a name that ends"):
            await controller.create(SECRETS, secret("cloud-credentials"), namespace="default")
        await controller.create(SECRETS, secret(COPY, **OURS), namespace="default")
        patch = {"data": {"userData": ""}}
        await controller.patch(SECRETS, COPY, patch, namespace="default")
        await admin.create(SECRETS, secret(f"other-{COPY}"), namespace="default")
        with pytest.raises(kube.KubeError, match="only Secrets that it created"):
            await controller.patch(SECRETS, f"other-{COPY}", patch, namespace="default")
        await admin.create(SECRETS, secret("cloud-credentials"), namespace="default")
        with pytest.raises(kube.KubeError, match="only Secrets with a name that ends"):
            await controller.patch(SECRETS, "cloud-credentials", patch, namespace="default")


TEMPLATES = machine_templates("GCPMachineTemplate", "v1beta1")


def template(name: str, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": TEMPLATES.api_version,
        "kind": TEMPLATES.kind,
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"template": {"spec": {"image": "old"}}},
    }


async def test_the_controller_deletes_only_templates_that_it_made() -> None:
    async with installed("boot-images") as clients:
        admin, controller = clients["admin"], clients["controller"]
        with pytest.raises(kube.KubeError, match="only templates that it created"):
            await controller.create(TEMPLATES, template("unmarked"), namespace="default")
        await admin.create(TEMPLATES, template("foreign"), namespace="default")
        mark = {"metadata": {"annotations": {"lading.dev/unused-since": "now"}}}
        with pytest.raises(kube.KubeError, match="only templates that it created"):
            await controller.delete(TEMPLATES, "foreign", namespace="default")
        adoption = {"metadata": {"labels": OURS}}
        for patch in (mark, adoption):
            with pytest.raises(kube.KubeError, match="only templates that it created"):
                await controller.patch(TEMPLATES, "foreign", patch, namespace="default")
        await controller.create(TEMPLATES, template("clone", **OURS), namespace="default")
        await controller.patch(TEMPLATES, "clone", mark, namespace="default")
        content = {"spec": {"template": {"spec": {"image": "new"}}}}
        with pytest.raises(kube.KubeError, match="must not change the content"):
            await controller.patch(TEMPLATES, "clone", content, namespace="default")
        await controller.delete(TEMPLATES, "clone", namespace="default")
        await admin.delete(TEMPLATES, "foreign", namespace="default")


@pytest.mark.parametrize("identity", OTHER_NAMES)
async def test_under_other_names_the_controller_is_refused(identity: str) -> None:
    """Installed for names that are not in use, a policy must not let everything pass."""
    async with installed("boot-images") as clients:
        other, admin = clients[identity], clients["admin"]
        with pytest.raises(kube.KubeError, match="this policy was made for"):
            await other.create(SECRETS, secret(COPY, **OURS), namespace="default")
        with pytest.raises(kube.KubeError, match="this policy was made for"):
            await other.create(TEMPLATES, template("clone", **OURS), namespace="default")
        await admin.create(TEMPLATES, template("clone", **OURS), namespace="default")
        with pytest.raises(kube.KubeError, match="this policy was made for"):
            await other.delete(TEMPLATES, "clone", namespace="default")


async def test_the_command_makes_them_for_the_names_in_use() -> None:
    words = ("policies", "--namespace", "images")
    without, made = await lading(*words), await lading(*words, "--boot-images")
    names = [one["metadata"]["name"] for one in yaml.safe_load_all(made.output)]
    assert {"lading-controller-managed-stubs", "lading-controller-cloned-templates"} < set(names)
    assert made.output.count(
        "system:serviceaccount:images:lading-controller"
    ) > without.output.count("system:serviceaccount:images:lading-controller")
    assert "managed-stubs" not in without.output
