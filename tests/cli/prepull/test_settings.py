"""The options of pre-pulling: what is accepted, and what is refused with a fix."""

from collections.abc import Callable
from typing import Any

import click
import pytest
from click.testing import CliRunner

from lading.cli.prepull import settings
from lading.prepull.types import DefaultImage, Toleration, Wave


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (
            settings.parse_image,
            "a=r.example.com/a:1",
            DefaultImage(name="a", url="r.example.com/a:1"),
        ),
        (settings.parse_wave, "25%", Wave(percent=25)),
        (settings.parse_wave, "3", Wave(count=3)),
        (settings.parse_toleration, "*", Toleration()),
        (
            settings.parse_toleration,
            "a/b=c:NoExecute",
            Toleration(key="a/b", value="c", effect="NoExecute"),
        ),
        (settings.parse_toleration, "a", Toleration(key="a")),
        (settings.parse_label, "disk=large", ("disk", "large")),
        (settings.parse_user, "none", None),
        (settings.parse_user, "1000", 1000),
        (settings.parse_affinity, "", {}),
        (settings.parse_affinity, '{"nodeAffinity": {}}', {"nodeAffinity": {}}),
        (settings.parse_default, "False", False),
        (settings.parse_hold_image, "", ""),
        (settings.parse_optional_name, "", ""),
        (settings.parse_name, "a.b-c", "a.b-c"),
        (settings.parse_label, "kubernetes.io/os=linux", ("kubernetes.io/os", "linux")),
    ],
)
def test_accepted(parse: Callable[[str], Any], text: str, expected: Any) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("parse", "text", "fix"),
    [
        (settings.parse_image, "r.example.com/a:1", "expected NAME=URL"),
        (settings.parse_image, "Upper=r.example.com/a:1", "expected NAME=URL"),
        (settings.parse_image, "a=UPPER CASE", "a: "),
        (settings.parse_wave, "0", "1% to 100%"),
        (settings.parse_wave, "200%", "1% to 100%"),
        (settings.parse_toleration, "a:Never", "with effect NoSchedule"),
        (settings.parse_toleration, "=x", "expected KEY"),
        (settings.parse_toleration, "", "expected KEY"),
        (settings.parse_toleration, "a=b c", "expected KEY"),
        (settings.parse_toleration, "a:", "with effect NoSchedule"),
        (settings.parse_image, "", "expected NAME=URL"),
        (settings.parse_image, "a=", "the repository is empty"),
        (settings.parse_image, f"{'a' * 64}=x:1", "at most 63"),
        (settings.parse_wave, "-1", "a number of nodes or 1% to 100%"),
        (settings.parse_wave, "1.5", "a number of nodes"),
        (settings.parse_wave, "", "a number of nodes"),
        (settings.parse_default, "", "expected true or false"),
        (settings.parse_default, "maybe", "expected true or false"),
        (settings.parse_hold_image, "UPPER CASE", "is not a valid image reference"),
        (settings.parse_label, "kubernetes.io/os=windows", "Linux nodes only; leave it out"),
        (settings.parse_label, "a=b c", "expected KEY=VALUE"),
        (settings.parse_user, "-1", "above 0"),
        (settings.parse_user, "²", "above 0"),
        (settings.parse_user, "2147483648", "at most 2147483647"),
        (settings.parse_affinity, '{"x": {}}', "x: expected objects named nodeAffinity"),
        (settings.parse_affinity, '{"nodeAffinity": 1}', "nodeAffinity: expected objects"),
        (settings.parse_resources, '{"requests": 1, "limits": 2}', "requests: expected quantities"),
        (
            settings.parse_resources,
            '{"requests": {"cpu": "x"}, "limits": {"cpu": 1}}',
            r"requests\.cpu: 'x' is not a valid quantity",
        ),
        (
            settings.parse_resources,
            '{"requests": {"cpu": "-1"}, "limits": {"cpu": 1}}',
            r"requests\.cpu: '-1': expected 0 or more",
        ),
        (
            settings.parse_resources,
            '{"requests": {"cpu": "2"}, "limits": {"cpu": 1}}',
            r"requests\.cpu: expected at most limits\.cpu",
        ),
        (settings.parse_name, "", "name of an object"),
        (settings.parse_name, "a..b", "name of an object"),
        (settings.parse_name, "a" * 254, "name of an object"),
        (settings.parse_label, "disk", "expected KEY=VALUE"),
        (settings.parse_user, "0", "above 0"),
        (settings.parse_user, "root", "above 0"),
        (settings.parse_object, "[]", "expected a JSON object"),
        (settings.parse_object, "{", "expected a JSON object"),
        (settings.parse_resources, "{}", "expected requests and limits"),
        (settings.parse_name, "No Name", "name of an object"),
    ],
)
def test_refused_with_a_fix(parse: Callable[[str], Any], text: str, fix: str) -> None:
    with pytest.raises(click.BadParameter, match=fix):
        parse(text)


def test_the_options_become_one_value() -> None:
    @click.command()
    @settings.prepull_options
    def command(prepull: Any) -> None:
        click.echo(f"{[one.name for one in prepull.images]} {prepull.default_value}")

    ran = CliRunner().invoke(
        command, ["--prepull-image=a=x:1", "--prepull-image=b=y:1", "--prepull-default=false"]
    )
    assert ran.output == "['a', 'b'] False\n"
    twice = CliRunner().invoke(command, ["--prepull-image=a=x:1", "--prepull-image=a=y:1"])
    assert twice.exit_code == 2
    assert "a is given twice" in twice.output


def test_a_refusal_names_the_option() -> None:
    @click.command()
    @settings.prepull_options
    def command(prepull: Any) -> None:
        raise AssertionError("a bad value was taken")

    options = [one for one in command.params if one.opts[0].startswith("--prepull-")]
    assert len(options) == 11
    for option in options:
        ran = CliRunner().invoke(command, [f"{option.opts[0]}=No such value!"])
        assert ran.exit_code == 2, option.opts
        assert f"Invalid value for '{option.opts[0]}': " in ran.output
