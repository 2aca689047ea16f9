"""Server-side apply: who owns which field, who may change it, and what happens to the rest."""

import pytest

from lading.ports import kube
from tests.conformance.kube.api import (
    CONFIG_MAPS,
    Api,
    Document,
    config_map,
    in_namespace,
    managers,
)
from tests.conformance.kube.applying import apply, apply_widget


def owned(*keys: str) -> Document:
    return {"f:data": {f"f:{key}": {} for key in keys}}


async def test_applying_what_is_not_there_creates_it(api: Api, namespace: str) -> None:
    created = await apply(api, namespace, "ann", a="1")
    assert created["data"] == {"a": "1"}
    (entry,) = created["metadata"]["managedFields"]
    assert entry["manager"] == "ann"
    assert entry["operation"] == "Apply"
    assert (entry["apiVersion"], entry["fieldsType"]) == ("v1", "FieldsV1")
    assert entry["fieldsV1"] == owned("a")


async def test_applying_the_same_again_changes_nothing(api: Api, namespace: str) -> None:
    first = await apply(api, namespace, "ann", a="1")
    assert await apply(api, namespace, "ann", a="1") == first


async def test_two_managers_own_what_each_applied(api: Api, namespace: str) -> None:
    await apply(api, namespace, "ann", a="1")
    both = await apply(api, namespace, "bob", b="2")
    assert both["data"] == {"a": "1", "b": "2"}
    assert managers(both) == {"ann": owned("a"), "bob": owned("b")}


async def test_a_field_of_another_manager_is_a_conflict(api: Api, namespace: str) -> None:
    before = await apply(api, namespace, "ann", a="1", b="1")
    body = in_namespace(config_map(a="2", b="2"), namespace)
    with pytest.raises(kube.Conflict) as caught:
        await api.client.apply(CONFIG_MAPS, body, field_manager="bob")
    error = caught.value
    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == (
        'Apply failed with 2 conflicts: conflicts with "ann":\n- .data.a\n- .data.b'
    )
    assert [(cause.reason, cause.field, cause.message) for cause in error.causes] == [
        ("FieldManagerConflict", ".data.a", 'conflict with "ann"'),
        ("FieldManagerConflict", ".data.b", 'conflict with "ann"'),
    ]
    assert await api.client.get(CONFIG_MAPS, "one", namespace=namespace) == before


async def test_a_conflict_with_an_updater_names_its_version_and_time(
    api: Api, namespace: str
) -> None:
    await api.client.create(CONFIG_MAPS, config_map(a="1"), namespace=namespace)
    with pytest.raises(
        kube.Conflict,
        match=r'Apply failed with 1 conflict: conflict with "[^"]+" using v1: \.data\.a',
    ):
        await apply(api, namespace, "bob", a="2")


async def test_the_same_value_is_shared(api: Api, namespace: str) -> None:
    await apply(api, namespace, "ann", a="1")
    shared = await apply(api, namespace, "bob", a="1")
    assert managers(shared) == {"ann": owned("a"), "bob": owned("a")}
    left = await apply(api, namespace, "ann")
    assert left["data"] == {"a": "1"}
    assert managers(left) == {"ann": {"f:data": {}}, "bob": owned("a")}


async def test_force_takes_the_field_over(api: Api, namespace: str) -> None:
    await apply(api, namespace, "ann", a="1", b="1")
    taken = await apply(api, namespace, "bob", force=True, a="2")
    assert taken["data"] == {"a": "2", "b": "1"}
    assert managers(taken) == {"ann": owned("b"), "bob": owned("a")}


async def test_a_field_that_its_only_owner_gives_up_is_removed(api: Api, namespace: str) -> None:
    await apply(api, namespace, "ann", a="1", b="1")
    assert (await apply(api, namespace, "ann", a="1"))["data"] == {"a": "1"}


async def test_a_field_that_an_updater_changed_stays_when_given_up(
    api: Api, namespace: str
) -> None:
    await apply(api, namespace, "ann", a="1", b="1")
    await api.client.patch(CONFIG_MAPS, "one", {"data": {"b": "2"}}, namespace=namespace)
    left = await apply(api, namespace, "ann", a="1")
    assert left["data"] == {"a": "1", "b": "2"}


async def test_entries_of_a_list_with_keys_have_owners(api: Api, namespace: str) -> None:
    await apply_widget(api, namespace, "ann", parts=[{"name": "x", "count": 2}])
    both = await apply_widget(api, namespace, "bob", parts=[{"name": "y", "count": 3}])
    assert both["spec"]["parts"] == [{"name": "x", "count": 2}, {"name": "y", "count": 3}]
    key = 'k:{"name":"y"}'
    assert managers(both)["bob"]["f:spec"]["f:parts"] == {
        key: {".": {}, "f:name": {}, "f:count": {}}
    }
    left = await apply_widget(api, namespace, "ann", size=1)
    assert left["spec"]["parts"] == [{"name": "y", "count": 3}]


async def test_members_of_a_set_have_owners_and_an_atomic_list_has_one(
    api: Api, namespace: str
) -> None:
    await apply_widget(api, namespace, "ann", tags=["a", "b"], order=["1", "2"])
    both = await apply_widget(api, namespace, "bob", tags=["b", "c"])
    assert both["spec"]["tags"] == ["a", "b", "c"]
    assert managers(both)["ann"]["f:spec"]["f:order"] == {}
    assert managers(both)["bob"]["f:spec"]["f:tags"] == {'v:"b"': {}, 'v:"c"': {}}
    with pytest.raises(kube.Conflict, match=r"\.spec\.order"):
        await apply_widget(api, namespace, "bob", order=["3"])
    left = await apply_widget(api, namespace, "ann")
    assert left["spec"]["tags"] == ["b", "c"]
    assert "order" not in left["spec"]


async def test_duplicate_keys_in_an_applied_list_are_refused(api: Api, namespace: str) -> None:
    with pytest.raises(kube.KubeError, match="duplicate entries for key") as caught:
        await apply_widget(api, namespace, "ann", parts=[{"name": "x"}, {"name": "x"}])
    assert caught.value.code == 500


async def test_a_manager_who_changes_nothing_has_no_time(api: Api, namespace: str) -> None:
    await apply(api, namespace, "ann", a="1")
    agreed = await apply(api, namespace, "bob", a="1")
    times = {each["manager"]: "time" in each for each in agreed["metadata"]["managedFields"]}
    assert times == {"ann": True, "bob": False}


async def test_an_apply_of_a_wrong_type_is_an_error_without_a_reason(
    api: Api, namespace: str
) -> None:
    answer = await api.call(
        "PATCH",
        CONFIG_MAPS.path(namespace=namespace, name="one"),
        {**in_namespace(config_map(), namespace), "data": {"a": 1}},
        query={"fieldManager": "ann"},
        headers={"content-type": "application/apply-patch+yaml"},
    )
    code, reason, message = answer.refusal
    assert (code, reason) == (500, "")
    assert message.startswith(f"failed to create typed patch object ({namespace}/one; /v1, ")
    assert ".data.a: expected string" in message
