"""The options of leader election, named as those of Kubernetes' own components."""

import functools
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import click

from lading.cli import options
from lading.kernel import durations
from lading.loop.timing import CLIENT_GO_TIMING, Timing

_SECOND = timedelta(seconds=1)


def leader_election_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options, and hands them over as `timing`."""

    @_option(
        "--leader-elect-lease-duration",
        CLIENT_GO_TIMING.lease_seconds,
        "How long another replica waits for a leader that does not renew; whole seconds.",
    )
    @_option(
        "--leader-elect-renew-deadline",
        CLIENT_GO_TIMING.renew_deadline_seconds,
        "A leader that could not renew for this long stops; shorter than the lease.",
    )
    @_option(
        "--leader-elect-retry-period",
        CLIENT_GO_TIMING.retry_seconds,
        "The time between two renewals, or two attempts to take the lease.",
    )
    @functools.wraps(command)
    def with_timing(
        *args: Any,
        leader_elect_lease_duration: timedelta,
        leader_elect_renew_deadline: timedelta,
        leader_elect_retry_period: timedelta,
        **more: Any,
    ) -> Any:
        timing = timing_of(
            lease=leader_elect_lease_duration,
            renew=leader_elect_renew_deadline,
            retry=leader_elect_retry_period,
        )
        return command(*args, timing=timing, **more)

    return with_timing


def timing_of(*, lease: timedelta, renew: timedelta, retry: timedelta) -> Timing:
    if lease % _SECOND:
        raise click.UsageError("--leader-elect-lease-duration: expected whole seconds.")
    try:
        return Timing(
            lease_seconds=lease // _SECOND,
            renew_deadline_seconds=renew / _SECOND,
            retry_seconds=retry / _SECOND,
        )
    except ValueError as error:
        raise click.UsageError(f"Leader election: {error}.") from error


def _option(name: str, seconds: float, help: str) -> options.Decorator:  # noqa: A002
    return click.option(
        name,
        metavar="DURATION",
        callback=options.meaning(options.positive_period),
        default=durations.format_duration(timedelta(seconds=seconds)),
        show_default=True,
        help=help,
    )
