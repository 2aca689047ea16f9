"""No option of any command takes a number, a size or a duration below 0."""

from datetime import timedelta
from typing import Any

import click
import pytest

from lading.cli import options
from lading.kernel.errors import Malformed
from tests.cli.commands import COMMANDS

BELOW_ZERO = ("-1", "-1s", "-250ms", "-1h30m", "-5Gi")
AMOUNTS = {
    "lading agent": {"--pull-progress-timeout", "--resync-period", "--max-parallel-image-pulls"},
    "lading apply": {"--timeout"},
    "lading bootimage restore": {"--to"},
    "lading controller": {"--metrics-port"},
    "lading image gc": {"--keep-younger-than"},
    "lading prune images": {
        *("--references-max-age", "--num-workers", "--keep-younger-than", "--keep-tag-revisions"),
        *("--max-delete-percent", "--max-delete-bytes", "--trash-period"),
    },
    "lading up": {"--nodes", "--registry-port"},
}
"""Some of each kind, so that the walk over all options is known to find them."""


def value_of(option: click.Option, text: str) -> Any:
    """What the command would get; None where the text is refused."""
    try:
        return option.process_value(click.Context(click.Command("test")), text)
    except click.BadParameter:
        return None


def amounts(name: str) -> dict[str, click.Option]:
    """The options of a command that hand over an amount."""
    taken = (one for one in COMMANDS[name].params if isinstance(one, click.Option))
    return {
        one.opts[-1]: one
        for one in taken
        if not one.is_flag
        and not one.multiple
        and any(is_amount(value_of(one, text)) for text in ("50", "1h", "5Gi", "1"))
    }


def is_amount(value: object) -> bool:
    return isinstance(value, int | float | timedelta) and not isinstance(value, bool)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_takes_an_amount_below_zero(name: str) -> None:
    found = amounts(name)
    assert AMOUNTS.get(name, set()) <= found.keys()
    taken = {
        (option, text)
        for option, one in found.items()
        for text in BELOW_ZERO
        if value_of(one, text) is not None
    }
    assert taken == set()


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("--resync-period", "lading agent"),
        ("--pull-progress-timeout", "lading agent"),
        ("--timeout", "lading pin wait"),
    ],
)
def test_what_is_repeated_or_waited_for_takes_some_time(option: str, name: str) -> None:
    assert value_of(amounts(name)[option], "0s") is None


def test_a_refusal_names_the_text_and_what_was_expected() -> None:
    with pytest.raises(Malformed, match=r"'-5m' is not a valid duration: expected 0 or more"):
        options.period("-5m")
    with pytest.raises(Malformed, match=r"'-5Gi' is not a valid size: expected 0 or more"):
        options.size("-5Gi")
    with pytest.raises(Malformed, match=r"'0s' is not a valid duration: expected more than 0"):
        options.positive_period("0s")
    assert options.period("0") == timedelta()
