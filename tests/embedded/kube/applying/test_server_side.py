"""Server-side apply: ownership, conflicts, giving up, in the words of a real server."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.embedded.kube import builtins
from lading.embedded.kube.applying import server_side
from lading.embedded.kube.applying.paths import ApplyConflict, ApplyError

SCHEMAS = {kind.kind: kind.schema for kind in builtins.kinds()}
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
Document = dict[str, Any]


def config_map(data: Any = None, **metadata: Any) -> Document:
    document: Document = {"apiVersion": "v1", "kind": "ConfigMap"}
    document["metadata"] = {"name": "c", **metadata}
    return document if data is None else {**document, "data": data}


def apply(
    live: Document | None,
    applied: Document,
    manager: str = "one",
    *,
    force: bool = False,
    subresource: str = "",
    now: str = "2026-01-01T00:00:00Z",
) -> Document:
    return server_side.apply(
        SCHEMAS[applied["kind"]],
        live,
        applied,
        manager=manager,
        subresource=subresource,
        force=force,
        api_version=applied["apiVersion"],
        now=now,
    )


def update(
    old: Document | None, new: Document, manager: str = "editor", subresource: str = ""
) -> Document:
    return server_side.after_update(
        SCHEMAS[new["kind"]],
        old,
        new,
        manager=manager,
        operation="Update",
        subresource=subresource,
        api_version=new["apiVersion"],
        now="2026-01-02T00:00:00Z",
    )


def fields(document: Document, manager: str = "one") -> Any:
    entries = document["metadata"].get("managedFields", [])
    (entry,) = [each for each in entries if each["manager"] == manager]
    return entry["fieldsV1"]


def managers(document: Document) -> list[str]:
    return [each["manager"] for each in document["metadata"].get("managedFields", [])]


def test_the_applier_owns_exactly_what_it_applied() -> None:
    live = apply(None, config_map({"a": "1"}, labels={"x": "y"}))
    assert live["metadata"]["managedFields"] == [
        {
            "manager": "one",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:a": {}}, "f:metadata": {"f:labels": {"f:x": {}}}},
        }
    ]


def test_several_conflicts_are_listed_by_manager_and_an_updater_shows_its_version() -> None:
    live = update(None, config_map({"a": "1", "b": "1"}))
    with pytest.raises(ApplyConflict) as conflict:
        apply(live, config_map({"a": "2", "b": "2"}), "two")
    assert conflict.value.message == (
        'Apply failed with 2 conflicts: conflicts with "editor" using v1:\n- .data.a\n- .data.b'
    )


def test_a_manager_that_owns_nothing_any_more_is_forgotten() -> None:
    live = apply(None, config_map({"a": "1"}))
    live = apply(live, config_map({"b": "1"}), "two")
    assert managers(apply(live, config_map(), "two")) == ["one"]


class TestLists:
    @staticmethod
    def daemon_set(*containers: Document, **spec: Any) -> Document:
        template = {"metadata": {}, "spec": {"containers": list(containers), **spec}}
        spec_part = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        return {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "d"},
            "spec": spec_part,
        }

    @staticmethod
    def containers(document: Document) -> Any:
        return document["spec"]["template"]["spec"]["containers"]

    def test_items_are_owned_by_their_keys_and_defaults_of_keys_count(self) -> None:
        container = {"name": "c", "image": "i", "ports": [{"containerPort": 80}]}
        live = apply(None, self.daemon_set(container))
        owned = fields(live)["f:spec"]["f:template"]["f:spec"]["f:containers"]
        port = 'k:{"containerPort":80,"protocol":"TCP"}'
        assert owned == {
            'k:{"name":"c"}': {
                ".": {},
                "f:name": {},
                "f:image": {},
                "f:ports": {port: {".": {}, "f:containerPort": {}}},
            }
        }

    def test_an_item_of_another_manager_is_named_by_its_key_in_a_conflict(self) -> None:
        live = apply(None, self.daemon_set({"name": "a", "image": "i"}))
        with pytest.raises(ApplyConflict, match=r'\.containers\[name="a"\]\.image'):
            apply(live, self.daemon_set({"name": "a", "image": "j"}), "two")

    def test_the_order_of_the_applied_list_wins(self) -> None:
        first, second = {"name": "a", "value": "1"}, {"name": "b", "value": "2"}
        live = apply(None, self.daemon_set({"name": "c", "env": [first, second]}))
        live = apply(live, self.daemon_set({"name": "c", "env": [second, first]}))
        assert self.containers(live)[0]["env"] == [second, first]


class TestUpdates:
    def test_a_create_owns_everything_and_a_map_with_its_keys(self) -> None:
        live = update(None, config_map({"a": "1"}))
        assert fields(live, "editor") == {"f:data": {".": {}, "f:a": {}}}

    def test_an_update_takes_what_it_changes_from_its_owner(self) -> None:
        live = apply(None, config_map({"a": "1", "b": "1"}))
        changed = update(live, {**live, "data": {"a": "2", "b": "1"}})
        assert fields(changed, "one") == {"f:data": {"f:b": {}}}
        assert fields(changed, "editor") == {"f:data": {"f:a": {}}}

    def test_an_update_that_changes_nothing_owns_nothing(self) -> None:
        live = apply(None, config_map({"a": "1"}))
        assert update(live, live) == live

    def test_status_is_owned_through_its_subresource(self) -> None:
        metadata = {"name": "n", "labels": {"a": "b"}}
        node: Document = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
        live = update(None, node)
        live = update(live, {**live, "status": {"phase": "x"}}, "kubelet", "status")
        (entry,) = [e for e in live["metadata"]["managedFields"] if e["manager"] == "kubelet"]
        assert entry["subresource"] == "status"
        assert entry["fieldsV1"] == {"f:status": {".": {}, "f:phase": {}}}

    def test_after_that_the_first_apply_meets_one_owner_of_everything(self) -> None:
        live = config_map({"a": "1"})
        with pytest.raises(ApplyConflict, match=r'"before-first-apply" using v1: \.data\.a'):
            apply(live, config_map({"a": "2"}))

    def test_many_updaters_are_folded_into_one(self) -> None:
        live = update(None, config_map({"start": "x"}))
        for number in range(15):
            data = {**live["data"], f"k{number}": "x"}
            live = update(live, {**live, "data": data}, f"updater-{number}")
        assert len(managers(live)) == 10
        assert "ancient-changes" in managers(live)


class TestMigration:
    def live(self) -> Document:
        last = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"1"}}'
        created = config_map({"a": "1", "other": "z"}, annotations={LAST_APPLIED: last})
        return update(None, created, "kubectl-client-side-apply")

    def test_kubectl_takes_over_what_its_client_side_apply_wrote(self) -> None:
        live = apply(self.live(), config_map({"a": "2"}), "kubectl")
        assert live["data"] == {"a": "2", "other": "z"}
        assert fields(live, "kubectl") == {"f:data": {"f:a": {}}}

    def test_and_keeps_the_annotation_true(self) -> None:
        live = apply(self.live(), config_map({"a": "2"}), "kubectl")
        assert '"data":{"a":"2"}' in live["metadata"]["annotations"][LAST_APPLIED]

    def test_but_not_what_it_had_not_written(self) -> None:
        with pytest.raises(ApplyConflict, match=r"\.data\.other"):
            apply(self.live(), config_map({"other": "q"}), "kubectl")


class TestRefusals:
    def test_a_field_the_schema_does_not_know(self) -> None:
        with pytest.raises(ApplyError) as refusal:
            apply(None, {**config_map(), "foo": 1})
        assert refusal.value.message == (
            "failed to create typed patch object (/c; /v1, Kind=ConfigMap): "
            ".foo: field not declared in schema"
        )

    def test_an_item_without_any_of_its_keys(self) -> None:
        with pytest.raises(ApplyError, match=r"omits all key fields \[name\]"):
            apply(None, TestLists.daemon_set({"image": "i"}))


DATA = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("xyz"), max_size=4)


@given(DATA, DATA, DATA.filter(bool))
def test_applying_twice_is_applying_once(first: Any, second: Any, third: Any) -> None:
    live = apply(None, config_map(first))
    live = apply(live, config_map(second), "two", force=True)
    live = apply(live, config_map(third), force=True)
    assert apply(live, config_map(third), force=True) == live


@given(st.lists(st.tuples(st.sampled_from(["one", "two"]), DATA), min_size=1, max_size=5))
def test_the_last_apply_wins_and_every_key_has_an_owner(steps: Any) -> None:
    live: Document | None = None
    for manager, data in steps:
        live = apply(live, config_map(data), manager, force=True)
        assert (live.get("data") or {}).items() >= data.items()
        owned = {
            key.removeprefix("f:")
            for entry in live["metadata"].get("managedFields", [])
            for key in entry["fieldsV1"].get("f:data", {})
        }
        assert owned - {"."} == set(live.get("data") or {})
