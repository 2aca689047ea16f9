"""Our own definitions are served, and every CEL rule in them does what it says."""

from collections.abc import Iterator

import msgspec
import pytest
import pytest_asyncio

from lading.adapters.kube import discovery
from lading.kernel.objects import Resource
from lading.ports import kube
from lading.wiring import features
from tests.conformance.kube.api import DEFINITIONS, Api, Document, exists, resource, served
from tests.conformance.kube.rule_cases import CASES, Case
from tests.conformance.kube.targets import Target

MANIFESTS: dict[str, Document] = {one.plural: one.manifest() for one in features.DEFINITIONS}


def kind_of(manifest: Document, version: str) -> Resource[Document]:
    spec = manifest["spec"]
    return resource(
        spec["names"]["plural"],
        spec["names"]["kind"],
        group=spec["group"],
        version=version,
        namespaced=spec["scope"] == "Namespaced",
    )


def versions(manifest: Document) -> list[str]:
    return [version["name"] for version in manifest["spec"]["versions"]]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def ours(target: Target) -> Api:
    api = Api(target)
    for manifest in MANIFESTS.values():
        await api.client.apply(DEFINITIONS, manifest, field_manager="conformance", force=True)
    for manifest in MANIFESTS.values():
        for version in versions(manifest):
            await served(api, kind_of(manifest, version))
    return api


def every_case() -> Iterator[object]:
    for case in CASES:
        for version in versions(MANIFESTS[case.plural]):
            yield pytest.param(case, version, id=f"{case.sentence}, {version}")


@pytest.mark.parametrize(("case", "version"), list(every_case()))
async def test_a_rule_does_what_it_says(ours: Api, unique: str, case: Case, version: str) -> None:
    kind = kind_of(MANIFESTS[case.plural], version)
    spec = {} if case.spec is None else {"spec": case.spec}
    encoded = msgspec.json.encode({**case.fields, **spec}).replace(b"$name", unique.encode())
    name = case.name.replace("$name", unique)
    body = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name},
        **msgspec.json.decode(encoded),
    }
    writes = [("create", body), *(("status", status) for status in case.statuses)]
    try:
        for step, content in writes[:-1]:
            await write(ours, kind, name, step, content)
        if case.breaks:
            with pytest.raises(kube.Invalid) as caught:
                await write(ours, kind, name, *writes[-1])
            assert case.breaks in caught.value.message
        else:
            await write(ours, kind, name, *writes[-1])
    finally:
        if await exists(ours, kind, name, namespace=namespace_of(kind)):
            await ours.client.delete(kind, name, namespace=namespace_of(kind))


async def write(
    api: Api, kind: Resource[Document], name: str, step: str, content: Document
) -> None:
    if step == "create":
        await api.client.create(kind, content, namespace=namespace_of(kind))
    else:
        await api.client.patch(
            kind,
            name,
            {"status": content},
            namespace=namespace_of(kind),
            subresource="status",
        )


def namespace_of(kind: Resource[Document]) -> str:
    return "default" if kind.namespaced else ""


def messages(part: object) -> Iterator[str]:
    """The message of every rule, at any depth of a schema."""
    if isinstance(part, dict):
        for rule in part.get("x-kubernetes-validations", ()):
            yield rule["message"]
        for inner in part.values():
            yield from messages(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from messages(inner)


@pytest.mark.parametrize("plural", sorted(MANIFESTS))
def test_every_rule_has_a_case_that_breaks_it(plural: str) -> None:
    broken = [case.breaks for case in CASES if case.plural == plural and case.breaks]
    untested = {
        message
        for message in messages(MANIFESTS[plural])
        if not any(part in message for part in broken)
    }
    assert untested == set()


async def test_our_kinds_are_found_by_their_short_names(ours: Api) -> None:
    found = (await discovery.discover(ours.client)).named("pis")
    assert found.plural == "pinnedimagesets"
