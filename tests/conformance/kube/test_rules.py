"""CEL rules of a definition: on create, on change, with their own words and places."""

import pytest

from lading.ports import kube
from lading.ports.kube import Cause
from tests.conformance.kube.api import WIDGETS, Api, widget


async def refused(api: Api, namespace: str, **spec: object) -> Cause:
    """The only cause for which a change of the widget is refused."""
    with pytest.raises(kube.Invalid) as caught:
        await api.client.patch(WIDGETS, "one", {"spec": spec}, namespace=namespace)
    assert (caught.value.code, caught.value.reason) == (422, "Invalid")
    (cause,) = caught.value.causes
    return cause


async def test_a_rule_speaks_with_its_message_at_its_place(api: Api, namespace: str) -> None:
    with pytest.raises(kube.Invalid) as caught:
        await api.client.create(WIDGETS, widget(low=5, high=3), namespace=namespace)
    (cause,) = caught.value.causes
    assert (cause.reason, cause.field) == ("FieldValueInvalid", "spec")
    assert cause.message.endswith("low is above high")


async def test_a_rule_about_the_past_is_not_asked_on_create(api: Api, namespace: str) -> None:
    created = await api.client.create(WIDGETS, widget(fixed="a"), namespace=namespace)
    assert created["spec"]["fixed"] == "a"


async def test_a_field_can_be_made_immutable(api: Api, namespace: str) -> None:
    await api.client.create(WIDGETS, widget(fixed="a"), namespace=namespace)
    cause = await refused(api, namespace, fixed="b")
    assert cause.field == "spec.fixed"
    assert cause.message == 'Invalid value: "b": fixed is immutable'
    same = {"spec": {"fixed": "a", "size": 2}}
    patched = await api.client.patch(WIDGETS, "one", same, namespace=namespace)
    assert patched["spec"]["size"] == 2


async def test_a_field_can_be_made_to_stay(api: Api, namespace: str) -> None:
    await api.client.create(WIDGETS, widget(fixed="a"), namespace=namespace)
    cause = await refused(api, namespace, fixed=None)
    assert cause.field == "spec"
    assert cause.message.endswith("fixed cannot be removed")


async def test_a_rule_about_the_past_of_an_entry_finds_it_by_its_key(
    api: Api, namespace: str
) -> None:
    parts = [{"name": "x", "count": 5}, {"name": "y", "count": 1}]
    await api.client.create(WIDGETS, widget(parts=parts), namespace=namespace)
    moved = [{"name": "y", "count": 2}, {"name": "x", "count": 5}, {"name": "z", "count": 0}]
    await api.client.patch(WIDGETS, "one", {"spec": {"parts": moved}}, namespace=namespace)
    shrunk = [{"name": "y", "count": 2}, {"name": "x", "count": 4}]
    cause = await refused(api, namespace, parts=shrunk)
    assert cause.field == "spec.parts[1]"
    assert cause.message.endswith("a part cannot shrink")


async def test_a_rule_holds_for_updates_and_applies_too(api: Api, namespace: str) -> None:
    created = await api.client.create(WIDGETS, widget(fixed="a"), namespace=namespace)
    changed = {**created, "spec": {**created["spec"], "fixed": "b"}}
    path = WIDGETS.path(namespace=namespace, name="one")
    assert (await api.call("PUT", path, changed)).refusal[:2] == (422, "Invalid")
    body = widget(fixed="b")
    body["metadata"]["namespace"] = namespace
    with pytest.raises(kube.Invalid, match="fixed is immutable"):
        await api.client.apply(WIDGETS, body, field_manager="ann", force=True)
