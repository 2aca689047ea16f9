"""`lading apply`, `diff`, `get` and `delete` on an embedded cluster, as a person uses them."""

import contextlib
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import yaml

from lading.adapters.clock import SystemClock
from lading.adapters.kube import connect
from lading.api.core import CONFIG_MAPS
from lading.cli import get
from lading.cli.connection import Target
from lading.cli.output import ListFormat
from lading.embedded import api_server
from lading.loop import tasks
from tests import command
from tests.command import CommandResult
from tests.e2e import waiting

DEFINITIONS = Path(__file__).parents[2] / "deploy" / "crds"
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n"
POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec: {{containers: [{{name: c, image: "x:1"}}]}}
"""


Lading = Callable[..., Awaitable[CommandResult]]


@pytest.fixture
async def lading(tmp_path: Path) -> AsyncIterator[Lading]:
    async with api_server.serve(tmp_path / "api", SystemClock()) as api:
        where = ("--kubeconfig", str(api.kubeconfig))
        yield lambda *words, text=None: command.lading(*words, *where, text=text)


async def test_an_object_is_created_then_unchanged_then_configured(lading: Lading) -> None:
    text = MAP.format(name="a")
    assert (await lading("apply", "-f", "-", text=text)).output == "configmap/a created\n"
    assert (await lading("apply", "-f", "-", text=text)).output == "configmap/a unchanged\n"
    changed = await lading("apply", "-f", "-", text=f"{text}data: {{key: value}}\n")
    assert changed.output == "configmap/a configured\n"


async def test_the_manifests_of_a_folder_are_applied(lading: Lading, tmp_path: Path) -> None:
    folder = tmp_path / "manifests"
    folder.mkdir()
    (folder / "b.yaml").write_text(MAP.format(name="b"))
    (folder / "a.json").write_text(json.dumps(yaml.safe_load(MAP.format(name="a"))))
    (folder / "README.md").write_text("not a manifest")
    result = await lading("apply", "-f", str(folder))
    assert result.output == "configmap/a created\nconfigmap/b created\n"


async def test_one_object_that_is_refused_does_not_stop_the_others(lading: Lading) -> None:
    text = "---\n".join((MAP.format(name="Not_A_Name"), MAP.format(name="good")))
    result = await lading("apply", "-f", "-", text=text)
    assert (result.code, result.output) == (1, "configmap/good created\n")
    assert "-:1: " in result.errors
    assert "1 of 2 objects were not applied" in result.errors


async def test_a_field_that_does_not_exist_is_refused_with_the_way_to_its_line(
    lading: Lading,
) -> None:
    result = await lading("apply", "-f", "-", text=MAP.format(name="a") + "dat: {key: mine}\n")
    assert result.code == 1
    assert ".dat: field not declared in schema; `lading validate -f -` shows the line" in (
        result.errors
    )


async def test_a_conflict_names_the_other_manager_and_the_option(
    lading: Lading, tmp_path: Path
) -> None:
    body = {"metadata": {"name": "a", "namespace": "default"}, "data": {"key": "theirs"}}
    connection = connect.find({}, file=tmp_path / "api" / "kubeconfig")
    async with connect.connect(connection, SystemClock()) as client:
        await client.create(CONFIG_MAPS, body, namespace="default", field_manager="another")
    text = MAP.format(name="a") + "data: {key: mine}\n"
    result = await lading("apply", "-f", "-", text=text)
    assert result.code == 1
    assert 'conflict with "another"' in result.errors
    assert "set --force-conflicts to take the fields over" in result.errors
    forced = await lading("apply", "--force-conflicts", "-f", "-", text=text)
    assert forced.output == "configmap/a configured\n"


@pytest.mark.parametrize("verb", ["apply", "delete"])
async def test_an_object_without_a_name_is_refused(lading: Lading, verb: str) -> None:
    await lading("apply", "-f", "-", text=MAP.format(name="stays"))
    nameless = "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n"
    result = await lading(verb, "-f", "-", text=nameless)
    assert result.code == 1
    assert "this ConfigMap has no metadata.name" in result.errors
    assert (await lading("get", "cm", "-o", "name")).output == "configmap/stays\n"


@pytest.mark.parametrize("verb", ["apply", "delete"])
async def test_two_namespaces_that_contradict_each_other_are_refused(
    lading: Lading, verb: str
) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: here}\n"
    result = await lading(verb, "-f", "-", "-n", "there", text=text)
    assert result.code == 1
    assert "metadata.namespace is 'here', but --namespace is 'there'" in result.errors


async def test_whole_objects_are_shown_without_their_managed_fields(lading: Lading) -> None:
    await lading("apply", "-f", "-", text=MAP.format(name="a"))
    one = yaml.safe_load((await lading("get", "cm", "a", "-o", "yaml")).output)
    assert one["metadata"]["name"] == "a"
    assert "managedFields" not in one["metadata"]
    listed = json.loads((await lading("get", "cm", "-o", "json")).output)
    assert [(item["kind"], "managedFields" in item["metadata"]) for item in listed["items"]] == [
        ("ConfigMap", False)
    ]


async def test_the_name_that_is_printed_is_a_name_to_get_and_delete_by(lading: Lading) -> None:
    await lading("apply", "-f", "-", text=MAP.format(name="a"))
    name = (await lading("get", "cm", "-o", "name")).output.strip()
    assert name == "configmap/a"
    assert (await lading("get", name)).output.splitlines()[1].startswith("a ")
    assert (await lading("delete", name)).output == "configmap/a deleted\n"


async def test_several_kinds_are_shown_with_their_names(lading: Lading) -> None:
    await lading("apply", "-f", "-", text=MAP.format(name="a"))
    config_maps, _, namespaces = (await lading("get", "cm,ns,secrets")).output.partition("\n\n")
    assert config_maps.splitlines()[1].startswith("configmap/a ")
    assert "namespace/default " in namespaces
    listed = json.loads((await lading("get", "cm,ns", "-o", "json")).output)
    assert {item["kind"] for item in listed["items"]} == {"ConfigMap", "Namespace"}


async def test_a_category_stands_for_its_kinds(lading: Lading) -> None:
    await lading("apply", "-f", str(DEFINITIONS))
    pool = "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\n"
    await lading("apply", "-f", "-", text=f"{pool}metadata: {{name: infra}}\nspec: {{}}\n")
    assert (await lading("get", "lading", "-o", "name")).output == "machineconfigpool/infra\n"


async def test_objects_of_all_namespaces_are_listed_with_their_namespace(lading: Lading) -> None:
    await lading("apply", "-f", "-", text="apiVersion: v1\nkind: Namespace\nmetadata: {name: n}\n")
    await lading("apply", "-f", "-", "-n", "n", text=MAP.format(name="a"))
    await lading("apply", "-f", "-", text=MAP.format(name="a"))
    header, *rows = (await lading("get", "cm", "-A")).output.splitlines()
    assert header.split() == ["NAMESPACE", "NAME", "DATA", "AGE"]
    assert [row.split()[:2] for row in rows] == [["default", "a"], ["n", "a"]]


async def test_everything_is_deleted_but_what_is_not_there(lading: Lading) -> None:
    await lading("apply", "-f", "-", text=MAP.format(name="a"))
    result = await lading("delete", "cm", "absent", "a")
    assert (result.code, result.output) == (1, "configmap/a deleted\n")
    assert result.errors == 'Error: configmaps "absent" not found\n'


async def test_an_unknown_kind_stops_a_deletion_before_it_begins(lading: Lading) -> None:
    await lading("apply", "-f", "-", text=MAP.format(name="a"))
    result = await lading("delete", "cm/a", "gizmo/b")
    assert result.code == 1
    assert 'resource type "gizmo"' in result.errors
    assert (await lading("get", "cm", "-o", "name")).output == "configmap/a\n"


@pytest.mark.parametrize(
    "words",
    [("delete",), ("delete", "cm"), ("delete", "cm", "a/b"), ("delete", "cm", "a", "-f", "x"),
     ("delete", "cm", "-f", "x"), ("get", "cm,ns", "a"),
     ("get",), ("get", "pis", "-w", "--runtime-endpoint", "unix:///x"),
     ("get", "cm/a", "b"), ("get", "cm/"), ("get", "/a"), ("get", "cm", ""), ("delete", "cm/"),
     ("get", "cm", "a", "-A"), ("get", "cm", "a", "-l", "x=y"),
     ("get", "cm", "-w", "-o", "json"), ("get", "cm", "a", "b", "-w"), ("get", "cm,ns", "-w")],
    ids=" ".join,
)  # fmt: skip
async def test_words_that_mean_nothing_are_refused(lading: Lading, words: tuple[str, ...]) -> None:
    assert (await lading(*words)).code == 2


async def test_an_object_that_does_not_exist_is_one_line_of_error(lading: Lading) -> None:
    result = await lading("get", "cm", "absent")
    assert (result.code, result.errors) == (1, 'Error: configmaps "absent" not found\n')


async def test_of_no_object_there_is_an_empty_list_or_nothing(lading: Lading) -> None:
    assert json.loads((await lading("get", "cm", "-o", "json")).output)["items"] == []
    result = await lading("get", "cm", "absent", "-o", "json")
    assert (result.code, result.output) == (1, "")
    assert result.errors == 'Error: configmaps "absent" not found\n'


async def test_several_names_are_one_table_and_what_is_missing_is_an_error(lading: Lading) -> None:
    text = "---\n".join(MAP.format(name=name) for name in "abc")
    await lading("apply", "-f", "-", text=text)
    result = await lading("get", "cm", "c", "absent", "a")
    header, *rows = result.output.splitlines()
    assert header.split() == ["NAME", "DATA", "AGE"]
    assert [row.split()[0] for row in rows] == ["c", "a"]
    assert (result.code, result.errors) == (1, 'Error: configmaps "absent" not found\n')
    names = await lading("get", "cm/a", "ns/default", "-o", "name")
    assert names.output == "configmap/a\nnamespace/default\n"
    listed = json.loads((await lading("get", "cm", "a", "b", "-o", "json")).output)
    assert [item["metadata"]["name"] for item in listed["items"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (("cm",), " in the namespace default"),
        (("cm", "-n", "n"), " in the namespace n"),
        (("cm", "-A"), ""),
        (("secrets,nodes",), ""),
    ],
)
async def test_a_list_without_objects_is_a_note_for_a_person(
    lading: Lading, words: tuple[str, ...], where: str
) -> None:
    result = await lading("get", *words)
    expected = (0, "", f"No resources found{where}\n")
    assert (result.code, result.output, result.errors) == expected


async def watched(
    folder: Path, kind: str, *, name: str = "", form: ListFormat = ListFormat.TABLE, seen: str
) -> str:
    """What `get -w` prints until `seen` is in it."""
    target = Target(kubeconfig=folder / "api" / "kubeconfig", context="", namespace="")
    names = [(kind, name)] if name else []
    work = get._get(target, kind, names, "", False, form, watch=True)
    printed = io.StringIO()

    async def is_printed() -> bool:
        return seen in printed.getvalue()

    with contextlib.redirect_stdout(printed):
        async with tasks.started(work):
            await waiting.until(is_printed, f"{seen!r} is printed")
    return printed.getvalue()


async def test_a_watch_of_one_object_shows_no_other(lading: Lading, tmp_path: Path) -> None:
    await lading("apply", "-f", "-", text="---\n".join(MAP.format(name=name) for name in "abc"))
    shown = await watched(tmp_path, "cm", name="b", seen="b ")
    assert [line.split()[0] for line in shown.splitlines()] == ["NAME", "b"]


async def test_a_watch_can_be_wide(lading: Lading, tmp_path: Path) -> None:
    await lading("apply", "-f", "-", text=POD.format(name="n"))
    wide = await watched(tmp_path, "pods", form=ListFormat.WIDE, seen="n ")
    assert " NODE" in wide
    assert " NODE" not in await watched(tmp_path, "pods", seen="n ")


async def test_a_wide_table_has_all_columns(lading: Lading) -> None:
    name = "n" * 100
    await lading("apply", "-f", "-", text=POD.format(name=name))
    wide = (await lading("get", "pods", "-o", "wide")).output
    assert name in wide
    assert " NODE" in wide
    narrow = (await lading("get", "pods")).output
    assert name in narrow, "no terminal, so nothing is wrapped"
    assert " NODE" not in narrow
