"""The options of pre-pulling: what is accepted, and what is refused with a fix."""

import re
from typing import Any

import click
import pytest

from lading.cli.prepull import settings
from lading.prepull.types import DefaultImage, PrePullSettings, Toleration, Wave


def given(*words: str) -> PrePullSettings:
    found: list[PrePullSettings] = []

    @click.command()
    @settings.prepull_options
    def command(prepull: PrePullSettings) -> None:
        found.append(prepull)

    command.main(list(words), standalone_mode=False)
    return found[0]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), {}),
        (
            ("--prepull-image=a=r.example.com/a:1", "--prepull-image=b=x:1"),
            {
                "images": (
                    DefaultImage(name="a", url="r.example.com/a:1"),
                    DefaultImage(name="b", url="x:1"),
                )
            },
        ),
        (("--prepull-default=False",), {"default_value": False}),
        (("--prepull-hold-image=x:1",), {"hold_image": "x:1"}),
        (("--prepull-wave=25%",), {"wave": Wave(percent=25)}),
        (("--prepull-wave=3",), {"wave": Wave(count=3)}),
        (("--prepull-pull-secret=a.b-c",), {"pull_secrets": ("a.b-c",)}),
        (
            ("--prepull-pods={tolerations: [{operator: Exists}]}",),
            {"tolerations": (Toleration(),)},
        ),
        (
            ('--prepull-pods={"tolerations": [{"key": "a/b", "value": "c"}]}',),
            {"tolerations": (Toleration(key="a/b", value="c"),)},
        ),
        (
            ("--prepull-pods={nodeSelector: {disk: large}}",),
            {"node_selector": (("disk", "large"),)},
        ),
        (
            ("--prepull-pods={affinity: {nodeAffinity: {}}}",),
            {"affinity": {"nodeAffinity": {}}},
        ),
        (("--prepull-pods={runAsUser: null}",), {"user_id": None}),
        (("--prepull-pods={priorityClassName: ''}",), {"priority_class": ""}),
        (
            ("--prepull-pods={resources: {requests: {cpu: 1m}, limits: {memory: 64Mi}}}",),
            {"resources": {"requests": {"cpu": "1m"}, "limits": {"memory": "64Mi"}}},
        ),
    ],
)
def test_the_options_become_one_value(words: tuple[str, ...], expected: dict[str, Any]) -> None:
    assert given(*words) == PrePullSettings(**expected)


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        ("--prepull-image=r.example.com/a:1", "expected NAME=URL"),
        ("--prepull-image=Upper=r.example.com/a:1", "expected NAME=URL"),
        ("--prepull-image=a=UPPER CASE", "a: "),
        ("--prepull-image=a=", "the repository is empty"),
        (f"--prepull-image={'a' * 64}=x:1", "at most 63"),
        ("--prepull-wave=0", "1% to 100%"),
        ("--prepull-wave=200%", "1% to 100%"),
        ("--prepull-wave=1.5", "a number of nodes"),
        ("--prepull-default=maybe", "is not a valid boolean"),
        ("--prepull-hold-image=UPPER CASE", "is not a valid image reference"),
        ("--prepull-pull-secret=No Name", "is not a valid name"),
        ("--prepull-pods=No such value!", "expected fields of a pod as JSON or YAML"),
        ("--prepull-pods={", "expected fields of a pod as JSON or YAML"),
        ("--prepull-pods={volumes: []}", "unknown field `volumes`"),
        ("--prepull-pods={nodeSelector: {kubernetes.io/os: windows}}", "kubernetes.io/os: linux"),
        ("--prepull-pods={tolerations: [{key: a, effect: Never}]}", "Invalid enum value 'Never'"),
        ("--prepull-pods={tolerations: [{}]}", "the operator must be Exists"),
        ("--prepull-pods={affinity: {x: {}}}", "affinity"),
        ("--prepull-pods={runAsUser: 0}", "runAsUser"),
        ("--prepull-pods={resources: {requests: 1}}", "resources.requests"),
    ],
)
def test_a_wrong_value_is_refused_with_a_fix_and_the_name_of_the_option(
    words: str, fix: str
) -> None:
    with pytest.raises(click.BadParameter, match=re.escape(fix)) as refused:
        given(words)
    assert refused.value.param is not None
    assert refused.value.param.opts[0] == words.partition("=")[0]


def test_each_image_has_a_name_of_its_own() -> None:
    with pytest.raises(click.BadParameter, match="a is given twice"):
        given("--prepull-image=a=x:1", "--prepull-image=a=y:1")
