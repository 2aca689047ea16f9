"""What specification 2 becomes in 3: golden files, tables, and that nothing is lost."""

import copy
import json
import pathlib
import posixpath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.boot_images.ignition import translate
from lading.boot_images.ignition.findings import Loss, Unreadable
from tests.boot_images.ignition import odd
from tests.boot_images.ignition.stubs import (
    CA,
    SERVER,
    config,
    file,
    files,
    partitions,
    spec_2,
    storage,
    units,
)

GOLDEN = pathlib.Path(__file__).parent / "golden"
INPUTS = sorted(GOLDEN.glob("*.input.json"))


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name.removesuffix(".input.json"))
def test_golden(path: pathlib.Path) -> None:
    expected = path.with_name(path.name.replace(".input.", ".output."))
    source = json.loads(path.read_text(encoding="utf-8"))
    before = copy.deepcopy(source)
    translated = translate.translate(source)
    shown = {"config": translated.config, "losses": [str(one) for one in translated.losses]}
    assert shown == json.loads(expected.read_text(encoding="utf-8"))
    assert source == before


@pytest.mark.parametrize("version", ["2.0.0", "2.1.0", "2.2.0", "2.3.0", "2.4.0"])
def test_the_installers_stub_becomes_the_lowest_version(version: str) -> None:
    translated = translate.translate(spec_2(version)).config
    tls = {"tls": {"certificateAuthorities": [{"source": CA}]}}
    knows_tls = version >= "2.2.0"
    assert translated == {
        "ignition": {
            "version": "3.0.0",
            "config": {"merge": [{"source": SERVER}]},
            **({"security": tls} if knows_tls else {}),
        }
    }


HEADERS = [{"name": "A", "value": "b"}]
LATER = (
    ("a proxy", {"ignition": {"version": "2.4.0", "proxy": {"httpsProxy": "https://p"}}}),
    ("headers of a file", files(file(contents={"source": "http://a", "httpHeaders": HEADERS}))),
    (
        "headers of a configuration",
        {
            "ignition": {
                "version": "2.4.0",
                "config": {"append": [{"source": "http://a", "httpHeaders": HEADERS}]},
            }
        },
    ),
)


@pytest.mark.parametrize("stub", [row[1] for row in LATER], ids=[row[0] for row in LATER])
def test_what_3_0_does_not_know_needs_3_1(stub: dict[str, Any]) -> None:
    assert translate.translate(stub).config["ignition"]["version"] == "3.1.0"


@pytest.mark.parametrize(
    "stub", [row[1] for row in odd.TRANSLATED], ids=[row[0] for row in odd.TRANSLATED]
)
def test_an_odd_stub_that_is_valid_in_2_is_translated(stub: dict[str, Any]) -> None:
    assert translate.translate(stub).config["ignition"]["version"] in ("3.0.0", "3.1.0")


def test_a_proxy_gets_its_scheme_and_a_host_is_named_once() -> None:
    stub = odd.proxy(httpProxy="proxy.corp:3128", noProxy=["a", "a"])
    proxy = translate.translate(stub).config["ignition"]["proxy"]
    assert proxy == {"httpProxy": "http://proxy.corp:3128", "noProxy": ["a"]}


def test_a_header_without_a_value_is_dropped_and_named() -> None:
    translated = translate.translate(odd.headers(("A", ""), ("B", "b")))
    contents = translated.config["storage"]["files"][0]["contents"]
    assert contents["httpHeaders"] == [{"name": "B", "value": "b"}]
    assert [one.what for one in translated.losses] == [Loss.HEADER_EMPTY]


def test_device_paths_become_clean() -> None:
    (found,) = translate.translate(odd.array("/dev//sda", "/dev/./x/../sdb/")).config["storage"][
        "raid"
    ]
    assert found["devices"] == ["/dev/sda", "/dev/sdb"]


def test_a_proxy_in_a_version_that_ignored_it_stays_ignored() -> None:
    stub = {"ignition": {"version": "2.3.0", "proxy": {"httpProxy": "http://p"}}}
    translated = translate.translate(stub)
    assert translated.config == {"ignition": {"version": "3.0.0"}}
    assert [one.what for one in translated.losses] == [Loss.UNKNOWN_KEYS]


@pytest.mark.parametrize(
    ("fields", "enabled"),
    [
        ({}, None),
        ({"enable": True}, True),
        ({"enable": False}, None),
        ({"enabled": True}, True),
        ({"enabled": False}, False),
        ({"enable": True, "enabled": False}, False),
        ({"enable": False, "enabled": True}, True),
    ],
)
def test_enable_and_enabled(fields: dict[str, bool], enabled: bool | None) -> None:
    (unit,) = translate.translate(units({"name": "a.service", **fields})).config["systemd"]["units"]
    assert unit.get("enabled") is enabled


def translated_files(*entries: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = translate.translate(files(*entries)).config["storage"]["files"]
    return found


def test_several_configurations_and_authorities_stay_several() -> None:
    stub = {
        "ignition": {
            "version": "2.4.0",
            "config": {"append": [{"source": "http://a"}, {"source": "http://b"}]},
            "security": {
                "tls": {"certificateAuthorities": [{"source": CA}, {"source": "data:,b"}]}
            },
        }
    }
    section = translate.translate(stub).config["ignition"]
    assert [one["source"] for one in section["config"]["merge"]] == ["http://a", "http://b"]
    sources = [one["source"] for one in section["security"]["tls"]["certificateAuthorities"]]
    assert sources == [CA, "data:,b"]


def test_a_mode_that_is_not_set_is_zero_as_specification_2_means_it() -> None:
    translated = translate.translate(files({"filesystem": "root", "path": "/a"}))
    assert translated.config["storage"]["files"][0]["mode"] == 0
    assert [one.what for one in translated.losses] == [Loss.MODE_UNSET]


def test_an_appended_file_keeps_the_mode_it_has() -> None:
    (found,) = translated_files({"filesystem": "root", "path": "/a", "append": True})
    assert found == {"path": "/a", "overwrite": False, "append": [{"source": ""}]}


def test_appends_to_one_file_follow_each_other() -> None:
    (found,) = translated_files(
        file(contents={"source": "data:,a"}),
        file(append=True, contents={"source": "data:,b"}),
        file(append=True, contents={"source": "data:,c"}),
    )
    assert found["contents"] == {"source": "data:,a"}
    assert found["append"] == [{"source": "data:,b"}, {"source": "data:,c"}]


def test_of_two_files_the_later_one_wins_and_the_order_stays() -> None:
    stub = files(file("/a"), file("/b"), file("/a", mode=0o600))
    translated = translate.translate(stub)
    found = translated.config["storage"]["files"]
    assert [(one["path"], one["mode"]) for one in found] == [("/a", 0o600), ("/b", 0o644)]
    assert [one.what for one in translated.losses] == [Loss.REPLACED]


def test_a_name_that_begins_like_a_link_is_no_path_under_it() -> None:
    link = {"filesystem": "root", "path": "/foo", "target": "/bar"}
    translate.translate(storage(files=[file("/foobar")], links=[link]))


def test_three_units_of_one_name_become_the_newest_with_all_drop_ins() -> None:
    translated = translate.translate(
        units(
            {"name": "a.service", "contents": "[Unit]\nA=1", "dropins": [{"name": "one.conf"}]},
            {"name": "a.service", "contents": "[Unit]\nA=2", "dropins": [{"name": "two.conf"}]},
            {
                "name": "a.service",
                "contents": "[Unit]\nA=3",
                "dropins": [{"name": "one.conf", "contents": "[Unit]\nB=1"}],
            },
        )
    )
    (unit,) = translated.config["systemd"]["units"]
    assert unit["contents"] == "[Unit]\nA=3"
    assert unit["dropins"] == [
        {"name": "one.conf", "contents": "[Unit]\nB=1"},
        {"name": "two.conf"},
    ]


def test_users_of_one_name_are_merged_and_keys_are_kept_once() -> None:
    stub = config(
        passwd={
            "users": [
                {"name": "core", "sshAuthorizedKeys": ["one", "two", "one"]},
                {"name": "other"},
                {"name": "core", "uid": 1000, "sshAuthorizedKeys": ["two", "three"]},
            ]
        }
    )
    assert translate.translate(stub).config["passwd"]["users"] == [
        {"name": "core", "sshAuthorizedKeys": ["one", "two", "three"], "uid": 1000},
        {"name": "other"},
    ]


def test_create_of_a_user_becomes_its_settings() -> None:
    create = {"uid": 7, "gecos": "G", "homeDir": "/h", "noCreateHome": True, "shell": "/bin/sh"}
    stub = config("2.0.0", passwd={"users": [{"name": "a", "create": create}]})
    translated = translate.translate(stub)
    assert translated.config["passwd"]["users"] == [{"name": "a", **create}]
    assert translated.losses == ()


@pytest.mark.parametrize("force", [True, False])
def test_create_of_a_file_system_becomes_wiping_and_options(force: bool) -> None:
    mount = {"device": "/dev/sdb", "format": "ext4"}
    create = {"force": force, "options": ["-L", "x"]}
    entry = {"name": "x", "mount": {**mount, "create": create}}
    translated = translate.translate(config("2.0.0", storage={"filesystems": [entry]}))
    (found,) = translated.config["storage"]["filesystems"]
    assert found == {**mount, "options": ["-L", "x"], **({"wipeFilesystem": True} if force else {})}
    assert [one.what for one in translated.losses] == ([] if force else [Loss.CREATE_NOT_FORCED])


@pytest.mark.parametrize(
    ("entry", "path", "filesystems"),
    [
        ({"name": "root", "path": "/sysroot"}, "/a", []),
        (
            {"name": "root", "mount": {"device": "/dev/sda", "format": "xfs"}},
            "/a",
            [{"device": "/dev/sda", "format": "xfs", "path": "/"}],
        ),
        (
            {"name": "/var", "mount": {"device": "/dev//./sdb", "format": "xfs"}},
            "/var/a",
            [{"device": "/dev/sdb", "format": "xfs", "path": "/var"}],
        ),
        ({"name": "opt", "path": "/sysroot/opt"}, "/opt/a", []),
    ],
    ids=["the root as it is", "the root on another device", "named by its path", "below the root"],
)
def test_files_on_a_file_system(entry: Any, path: str, filesystems: list[Any]) -> None:
    stub = storage(filesystems=[entry], files=[file("/a", filesystem=entry["name"])])
    found = translate.translate(stub).config["storage"]
    assert [one["path"] for one in found["files"]] == [path]
    assert found.get("filesystems", []) == filesystems


def test_an_unused_file_system_is_made_and_not_mounted() -> None:
    entry = {"name": "data", "mount": {"device": "/dev/sdb", "format": "xfs"}}
    found = translate.translate(storage(filesystems=[entry])).config["storage"]["filesystems"]
    assert found == [{"device": "/dev/sdb", "format": "xfs"}]


def test_a_partition_of_2_2_without_a_size_is_as_large_as_possible() -> None:
    stub = partitions({"number": 1, "size": 0}, version="2.2.0")
    disk = translate.translate(stub).config["storage"]["disks"][0]
    assert disk["partitions"] == [{"number": 1, "sizeMiB": 0, "startMiB": 0}]


def test_unknown_keys_are_a_loss_that_does_not_name_them() -> None:
    translated = translate.translate(files(file(s3cret="x")))
    assert [str(one) for one in translated.losses] == [f"storage.files[0]: {Loss.UNKNOWN_KEYS}"]


def test_unknown_keys_of_a_new_user_and_of_an_array_are_losses() -> None:
    user = {"name": "core", "create": {"s3cret": "x"}}
    array = {"name": "data", "level": "raid1", "devices": ["/dev/a", "/dev/b"], "s3cret": "x"}
    stub = {
        "ignition": {"version": "2.2.0"},
        "passwd": {"users": [user]},
        "storage": {"raid": [array]},
    }
    losses = {str(one) for one in translate.translate(stub).losses}
    assert losses == {
        f"passwd.users[0].create: {Loss.UNKNOWN_KEYS}",
        f"storage.raid[0]: {Loss.UNKNOWN_KEYS}",
    }


PATHS = st.lists(st.sampled_from(["a", "b", "..", "."]), max_size=3).map("/".join).map("/".__add__)
NODES = st.fixed_dictionaries(
    {"filesystem": st.sampled_from(["root", "/var", "gone"]), "path": PATHS},
    optional={"mode": st.integers(0, 0o7777), "append": st.booleans(), "user": st.just({"id": 1})},
)
UNITS = st.fixed_dictionaries({"name": st.sampled_from(["a.service", "b.mount", "c.txt"])})
LINKS = st.fixed_dictionaries(
    {"filesystem": st.just("root"), "path": PATHS, "target": st.just("/t")}
)


@given(
    st.lists(NODES, max_size=4),
    st.lists(LINKS, max_size=2),
    st.lists(UNITS, max_size=3),
    st.lists(st.sampled_from(["core", "root", ""]), max_size=3),
)
def test_each_entry_of_the_source_is_in_the_result_or_a_reason_is(
    nodes: list[Any], links: list[Any], unit_list: list[Any], names: list[str]
) -> None:
    var = {"name": "/var", "mount": {"device": "/dev/sdb", "format": "xfs"}}
    stub = {
        **storage(files=nodes, links=links, filesystems=[var]),
        "systemd": {"units": unit_list},
        "passwd": {"users": [{"name": name} for name in names]},
    }
    try:
        found = translate.translate(stub).config
    except Unreadable as refused:
        assert refused.findings
        return

    def paths(kind: str) -> set[str]:
        return {one["path"] for one in found.get("storage", {}).get(kind, ())}

    prefixes = {"root": "", "/var": "/var"}
    joined = [posixpath.normpath(prefixes[one["filesystem"]] + one["path"]) for one in nodes]
    assert paths("files") == set(joined)
    assert paths("links") == {posixpath.normpath(one["path"]) for one in links}
    result = found.get("systemd", {}).get("units", ())
    assert {one["name"] for one in result} == {one["name"] for one in unit_list}
    assert {one["name"] for one in found.get("passwd", {}).get("users", ())} == set(names)
