"""The options of leader election: client-go's values by default, and none that cannot hold."""

from datetime import timedelta

import click
import pytest

from lading.cli import leader_election
from lading.loop.timing import CLIENT_GO_TIMING, Timing


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def timing_of(arguments: list[str]) -> Timing:
    """What a command with the options gets."""
    found: list[Timing] = []

    @click.command()
    @leader_election.leader_election_options
    def command(timing: Timing) -> None:
        found.append(timing)

    command.main(arguments, standalone_mode=False)
    return found[0]


def test_without_options_the_times_are_those_of_kubernetes() -> None:
    assert timing_of([]) == CLIENT_GO_TIMING


def test_every_time_is_taken_from_its_option() -> None:
    options = {"lease-duration": "6s", "renew-deadline": "4s", "retry-period": "500ms"}
    found = timing_of([f"--leader-elect-{name}={text}" for name, text in options.items()])
    assert found == Timing(lease_seconds=6, renew_deadline_seconds=4, retry_seconds=0.5)


@pytest.mark.parametrize(
    ("lease", "renew", "retry", "expected"),
    [
        (10, 10, 2, "the lease duration must be longer than the renew deadline"),
        (15, 4.4, 2, "the renew deadline must be longer than 2.2 times the retry period"),
        (15.5, 10, 2, "expected whole seconds"),
    ],
)
def test_times_that_could_let_two_lead_are_refused(
    lease: float, renew: float, retry: float, expected: str
) -> None:
    with pytest.raises(click.UsageError, match=expected):
        leader_election.timing_of(lease=seconds(lease), renew=seconds(renew), retry=seconds(retry))
