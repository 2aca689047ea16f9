"""Custom objects: pruned, defaulted and checked against their structural schema."""

from typing import Any

import pytest

from lading.ports import kube
from tests.conformance.kube.api import WIDGETS, Api, exists, widget

EITHER_MESSAGE = (
    'Invalid value: "boolean": spec.either in body must be of type integer,string: "boolean"'
)


async def test_unknown_fields_are_pruned_unless_they_are_preserved(
    api: Api, namespace: str
) -> None:
    body = widget(shape="round", free={"any": {"thing": [1]}}, parts=[{"name": "x", "y": 1}])
    created = await api.client.create(WIDGETS, {**body, "top": 1}, namespace=namespace)
    assert created["spec"] == {
        "size": 1,
        "free": {"any": {"thing": [1]}},
        "parts": [{"name": "x", "count": 1}],
    }
    assert "top" not in created


async def test_defaults_fill_what_is_absent(api: Api, namespace: str) -> None:
    body = widget(parts=[{"name": "x"}, {"name": "y", "count": 5}])
    created = await api.client.create(WIDGETS, body, namespace=namespace)
    assert created["spec"]["size"] == 1
    assert created["spec"]["parts"] == [{"name": "x", "count": 1}, {"name": "y", "count": 5}]


async def test_a_removed_field_gets_its_default_again(api: Api, namespace: str) -> None:
    await api.client.create(WIDGETS, widget(size=9), namespace=namespace)
    patch = {"spec": {"size": None}}
    patched = await api.client.patch(WIDGETS, "one", patch, namespace=namespace)
    assert patched["spec"]["size"] == 1


async def test_null_is_a_default_or_a_value_where_it_may_be(api: Api, namespace: str) -> None:
    created = await api.client.create(WIDGETS, widget(size=None, maybe=None), namespace=namespace)
    assert created["spec"] == {"size": 1, "maybe": None}


@pytest.mark.parametrize("value", [7, "7", "seven"])
async def test_an_integer_or_a_string_is_kept_as_it_is(
    api: Api, namespace: str, value: int | str
) -> None:
    created = await api.client.create(WIDGETS, widget(either=value), namespace=namespace)
    assert created["spec"]["either"] == value


@pytest.mark.parametrize(
    ("spec", "field", "reason", "message"),
    [
        (
            {"size": "big"},
            "spec.size",
            "FieldValueTypeInvalid",
            'Invalid value: "string": spec.size in body must be of type integer: "string"',
        ),
        (
            {"size": -1},
            "spec.size",
            "FieldValueInvalid",
            "Invalid value: -1: spec.size in body should be greater than or equal to 0",
        ),
        (
            {"size": 101},
            "spec.size",
            "FieldValueInvalid",
            "Invalid value: 101: spec.size in body should be less than or equal to 100",
        ),
        (
            {"colour": "pink"},
            "spec.colour",
            "FieldValueNotSupported",
            'Unsupported value: "pink": supported values: "red", "green", "blue"',
        ),
        (
            {"word": "UP"},
            "spec.word",
            "FieldValueInvalid",
            "Invalid value: \"UP\": spec.word in body should match '^[a-z]+$'",
        ),
        (
            {"word": "abcdefghijk"},
            "spec.word",
            "FieldValueTooLong",
            "Too long: may not be more than 10 bytes",
        ),
        (
            {"parts": [{"count": 1}]},
            "spec.parts[0].name",
            "FieldValueRequired",
            "Required value",
        ),
        (
            {"parts": [{"name": "x"}, {"name": "x"}]},
            "spec.parts[1]",
            "FieldValueDuplicate",
            'Duplicate value: {"name":"x"}',
        ),
        (
            {"tags": ["a", "b", "a"]},
            "spec.tags[2]",
            "FieldValueDuplicate",
            'Duplicate value: "a"',
        ),
        (
            {"tags": ["a", "b", "c", "d", "e", "f"]},
            "spec.tags",
            "FieldValueTooMany",
            "Too many: 6: must have at most 5 items",
        ),
        (
            {"settings": {"a": 1}},
            "spec.settings.a",
            "FieldValueTypeInvalid",
            'Invalid value: "integer": spec.settings.a in body must be of type string: "integer"',
        ),
        (
            {"either": True},
            "spec.either",
            "FieldValueTypeInvalid",
            EITHER_MESSAGE,
        ),
    ],
)
async def test_a_value_that_the_schema_forbids_is_explained(
    api: Api, namespace: str, spec: dict[str, Any], field: str, reason: str, message: str
) -> None:
    with pytest.raises(kube.Invalid) as caught:
        await api.client.create(WIDGETS, widget(**spec), namespace=namespace)
    error = caught.value
    assert (error.code, error.reason) == (422, "Invalid")
    assert [(cause.field, cause.reason, cause.message) for cause in error.causes][:1] == [
        (field, reason, message)
    ]
    assert error.message.startswith('Widget.conformance.lading.example "one" is invalid: ')
    assert f"{field}: {message}" in error.message
    assert not await exists(api, WIDGETS, "one", namespace)


async def test_several_causes_are_listed_together(api: Api, namespace: str) -> None:
    with pytest.raises(kube.Invalid) as caught:
        await api.client.create(WIDGETS, widget(size=-1, colour="pink"), namespace=namespace)
    assert {cause.field for cause in caught.value.causes} >= {"spec.size", "spec.colour"}
    assert "is invalid: [spec." in caught.value.message


async def test_rules_wait_until_the_shape_is_right_and_the_answer_names_that(
    api: Api, namespace: str
) -> None:
    with pytest.raises(kube.Invalid) as caught:
        await api.client.create(WIDGETS, widget(size="x", low=5, high=3), namespace=namespace)
    shape, skipped = caught.value.causes
    assert shape.field == "spec.size"
    assert (skipped.field, skipped.reason) == ("<nil>", "FieldValueInvalid")
    assert skipped.message == (
        "Invalid value: null: some validation rules were not checked because the object was "
        "invalid; correct the existing errors to complete validation"
    )


async def test_a_required_field_may_not_be_absent(api: Api, namespace: str) -> None:
    with pytest.raises(kube.Invalid) as caught:
        await api.client.create(
            WIDGETS,
            {"apiVersion": WIDGETS.api_version, "kind": "Widget", "metadata": {"name": "one"}},
            namespace=namespace,
        )
    cause = caught.value.causes[0]
    assert (cause.field, cause.reason) == ("spec", "FieldValueRequired")


async def test_a_bad_update_leaves_the_object_as_it_was(api: Api, namespace: str) -> None:
    before = await api.client.create(WIDGETS, widget(size=5), namespace=namespace)
    with pytest.raises(kube.Invalid):
        await api.client.patch(WIDGETS, "one", {"spec": {"size": 500}}, namespace=namespace)
    assert await api.client.get(WIDGETS, "one", namespace=namespace) == before


async def test_status_is_checked_too(api: Api, namespace: str) -> None:
    await api.client.create(WIDGETS, widget(), namespace=namespace)
    patch = {"status": {"ready": "yes"}}
    with pytest.raises(kube.Invalid) as caught:
        await api.client.patch(WIDGETS, "one", patch, namespace=namespace, subresource="status")
    assert caught.value.causes[0].field == "status.ready"
