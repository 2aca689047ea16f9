"""Marks in a document become expressions of Helm; overlays are merged as kustomize does."""

from lading.wiring import chart_templates
from lading.wiring.chart_templates import each, optional, show, when


def test_a_shown_value_is_an_expression_without_quotes() -> None:
    made = chart_templates.text({"key": [{"name": show("$.Values.a | quote")}]})
    assert made == "key:\n- name: {{ $.Values.a | quote }}\n"


def test_an_optional_value_leaves_its_key_out_where_it_is_empty() -> None:
    assert chart_templates.text({"a": {"my.dev/key": optional("$.x")}}) == (
        "a:\n  {{- with $.x }}\n  my.dev/key:\n    {{- toYaml . | nindent 4 }}\n  {{- end }}\n"
    )


def test_items_of_a_list() -> None:
    items = ["one", when("$.x", "--two={{ $.x }}"), each("$.y", "{name: '{{ $one }}'}")]
    assert chart_templates.text({"items": items}) == (
        "items:\n- one\n{{- if $.x }}\n- --two={{ $.x }}\n{{- end }}\n"
        "{{- range $index, $one := $.y }}\n- {name: '{{ $one }}'}\n{{- end }}\n"
    )


def test_an_overlay_adds_to_lists_by_name_and_replaces_values() -> None:
    base = {"containers": [{"name": "agent", "image": "a", "env": [{"name": "A", "value": "1"}]}]}
    patch = {
        "hostPID": True,
        "containers": [{"name": "agent", "env": [{"name": "B"}, {"name": "A", "value": "2"}]}],
    }
    (container,) = chart_templates.merged(base, patch)["containers"]
    assert container["image"] == "a"
    assert container["env"] == [{"name": "A", "value": "2"}, {"name": "B"}]
    assert base["containers"][0]["env"] == [{"name": "A", "value": "1"}]
