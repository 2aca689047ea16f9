"""`lading validate` judges as the API server does, and points at the field and line.

The files in tests/golden/designs hold the samples of the designs; beside each is the expected
output about it, and nothing when it is accepted.
"""

from pathlib import Path

import pytest
from click.testing import CliRunner

from lading.cli import validate
from lading.cli.documents import ManifestSource
from lading.cli.main import lading_command

DESIGNS = Path(__file__).parents[1] / "golden" / "designs"
DEFINITIONS = Path(__file__).parents[2] / "deploy" / "crds"


def validated(*arguments: str, text: str | None = None) -> tuple[int, str]:
    result = CliRunner().invoke(lading_command, ["validate", *arguments], input=text)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


@pytest.mark.parametrize("path", sorted(DESIGNS.glob("*.yaml")), ids=lambda path: str(path.stem))
def test_the_samples_of_the_designs_are_accepted_or_refused_with_a_reason(path: Path) -> None:
    code, output = validated("-f", str(path))
    expected = path.with_suffix(".expected")
    lines = [line.replace(str(path), path.name) for line in output.splitlines()]
    problems = [line for line in lines if line.startswith(path.name)]
    wanted = expected.read_text(encoding="utf-8").splitlines() if expected.exists() else []
    assert problems == wanted
    assert code == (1 if wanted else 0)


def test_the_fields_and_lines_of_every_problem_are_named() -> None:
    text = """\
apiVersion: machineconfiguration.openshift.io/v1
kind: PinnedImageSet
metadata:
  name: s
spec:
  pinnedImages:
  - name: quay.io/app:tag
  - name: quay.io/app:tag
"""
    code, output = validated("-f", "-", text=text)
    assert code == 1
    assert "-:8: spec.pinnedImages[1]: Duplicate value" in output
    assert "-:7: spec.pinnedImages[0].name: Invalid value" in output


def test_an_unknown_field_does_not_hide_other_problems() -> None:
    text = """\
apiVersion: machineconfiguration.openshift.io/v1
kind: PinnedImageSet
metadata:
  name: s
spec:
  extra: 1
  pinnedImages:
  - name: quay.io/app:tag
"""
    code, output = validated("-f", "-", text=text)
    assert code == 1
    assert "-:6: spec.extra: unknown field" in output
    assert "-:8: spec.pinnedImages[0].name: Invalid value" in output


def test_every_unknown_field_is_named_with_its_line() -> None:
    text = """\
apiVersion: machineconfiguration.openshift.io/v1
kind: PinnedImageSet
metadata:
  name: s
spec:
  extra: "unknown field \\"trap\\""
  pinnedImages:
  - name: quay.io/app@sha256:%s
    size: 3
""" % ("a" * 64)
    code, output = validated("-f", "-", text=text)
    assert code == 1
    assert output.splitlines()[:2] == [
        "-:6: spec.extra: unknown field",
        "-:9: spec.pinnedImages[0].size: unknown field",
    ]


def test_kinds_of_a_definition_in_the_same_files_are_known() -> None:
    text = """\
apiVersion: example.com/v1
kind: Thing
metadata: {name: a}
spec: {size: three}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer}}}}
"""
    code, output = validated("-f", "-", text=text)
    assert code == 1
    assert "-:4: spec.size: Invalid value" in output


def test_valid_objects_are_reported_as_valid() -> None:
    code, output = validated("-f", str(DESIGNS / "001-pod.yaml"))
    assert (code, output) == (0, "1 object is valid\n")


OBJECTS = """\
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: there}
spec: {runtimeClassName: guests, containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Namespace
metadata: {name: there}
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: guests}
handler: kata
"""


def test_objects_may_come_in_any_order() -> None:
    assert validated("-f", "-", text=OBJECTS) == (0, "3 objects are valid\n")


def test_our_own_definitions_are_valid_and_a_spoilt_one_is_not() -> None:
    definition = next(DEFINITIONS.glob("pinnedimagesets.*.yaml"))
    assert validated("-f", str(definition)) == (0, "1 object is valid\n")
    spoilt = definition.read_text(encoding="utf-8").replace("scope: Cluster", "scope: Galaxy")
    code, output = validated("-f", "-", text=spoilt)
    assert code == 1
    assert "spec.scope" in output


def test_a_namespace_that_cannot_be_is_a_problem_of_the_object() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: Not_A_Name}\n"
    code, output = validated("-f", "-", text=text)
    assert code == 1
    assert "Not_A_Name" in output


EXAMPLES = Path(__file__).parents[2] / "examples"


NO_OBJECTS = {"policy.yaml"}
KINDS_OF_OTHERS = {"machines.yaml"}
MANIFESTS = [
    path
    for path in sorted(EXAMPLES.glob("*/*.yaml"))
    if path.name not in NO_OBJECTS | KINDS_OF_OTHERS
]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_example_is_valid_and_some_pool_takes_its_sets(path: Path) -> None:
    code, output = validated("-f", str(path))
    assert code == 0, output
    assert "Warning" not in output


def a_set(name: str, labels: str) -> str:
    image = f"registry.example.com/app@sha256:{'0' * 64}"
    return f"""apiVersion: machineconfiguration.openshift.io/v1
kind: PinnedImageSet
metadata:
  name: {name}
  labels: {labels}
spec:
  pinnedImages:
  - name: {image}
"""


POOL = """---
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata:
  name: infra
spec:
  nodeSelector:
    matchLabels: {infra: "yes"}
  machineConfigSelector:
    matchLabels: {machineconfiguration.openshift.io/role: infra}
"""
ROLE = "machineconfiguration.openshift.io/role"


@pytest.mark.parametrize(
    ("labels", "more", "warning"),
    [
        ("{}", "", "it has no label machineconfiguration.openshift.io/role"),
        (f"{{{ROLE}: infra}}", "", "its role is 'infra'"),
        (f"{{{ROLE}: infra}}", POOL, ""),
        (f"{{{ROLE}: worker}}", "", ""),
        (f"{{{ROLE}: master}}", "", ""),
    ],
)
def test_a_set_that_no_pool_would_take_is_valid_with_a_warning(
    tmp_path: Path, labels: str, more: str, warning: str
) -> None:
    file = tmp_path / "set.yaml"
    file.write_text(a_set("mine", labels) + more)
    code, output = validated("-f", str(file))
    assert code == 0
    assert ("Warning" in output) == bool(warning)
    if warning:
        assert f"{file}:1: neither a pool in these files nor master or worker takes" in output
        assert warning in output


def test_what_was_not_checked_is_a_note_and_no_problem() -> None:
    text = """\
apiVersion: machineconfiguration.openshift.io/v1
kind: PinnedImageSet
metadata:
  name: s
spec:
  pinnedImages:
  - {}
"""
    code, output = validated("-f", "-", text=text)
    assert code == 1
    problem, note, summary = output.splitlines()
    assert problem == "-:7: spec.pinnedImages[0].name: Required value"
    assert note.startswith("-:1: some validation rules were not checked because ")
    assert summary == "Error: 1 problem in 1 object; nothing was changed"


def test_a_rule_about_the_whole_object_names_no_field() -> None:
    text = """\
apiVersion: longhorn.io/v1beta2
kind: Setting
metadata: {name: start-pre-pull-manager-images}
value: "yes"
"""
    _, output = validated("-f", "-", text=text)
    assert output.startswith("-:1: Invalid value: value must be the string ")


def test_a_name_cannot_write_to_the_terminal() -> None:
    text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "\\e[2J"}\n'
    _, output = validated("-f", "-", text=text)
    assert "metadata.name: Invalid value" in output
    assert "\x1b" not in output


def test_a_kind_of_the_same_name_in_another_group_is_no_set() -> None:
    content = {"apiVersion": "example.com/v1", "kind": "PinnedImageSet", "spec": "anything"}
    assert list(validate.pool_warnings([ManifestSource("file", content, {(): 1})])) == []
