"""The whole system keeps its promises under seeds, and the simulator sees when it does not."""

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import pytest

from lading.embedded.sim import report, shrinking, simulation
from lading.embedded.sim.schedule import Life
from lading.embedded.sim.simulation import Outcome
from tests.embedded.sim import ablations
from tests.embedded.sim.ablations import ABLATIONS, Ablation

SEEDS = 20  # about 15 s on two idle cores
TEST_SECONDS_MAX = 280
SEEDS_MAX = 1000

(CLAIMS_TOO_MUCH,) = (
    one for one in ABLATIONS if one.safeguard == "a node claims only what it holds"
)


def lading_sim(*arguments: str, **environment: str) -> str:
    """In a process of its own: it uses all cores, and its own logging."""
    done = subprocess.run(
        [sys.executable, "-m", "lading", "sim", *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(TEST_SECONDS_MAX)
def test_no_seed_breaks_a_promise() -> None:
    assert "no promise is broken" in lading_sim("--seeds", str(SEEDS))


def test_a_seed_gives_the_same_run_in_every_process() -> None:
    """Python's sets of texts have another order in each process."""
    first, second = (lading_sim("--seed", "4", PYTHONHASHSEED=hashes) for hashes in "12")
    assert "trace" in first
    assert first.splitlines()[0] == second.splitlines()[0]


def a_failure() -> tuple[Outcome, Outcome]:
    """In a process of its own: tasks that were killed spoil Python 3.11's count of recursions."""
    life = Life(users_steps=4, faults_steps=0, trouble_seconds=60)
    with ablations.without(CLAIMS_TOO_MUCH):
        found = simulation.run("0", life)
        return found, shrinking.shrunk(found, life)


def test_a_broken_promise_is_shown_with_its_seed_and_a_shorter_schedule() -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        found, short = pool.submit(a_failure).result()
    assert found.broken
    assert 1 <= len(short.schedule) < len(found.schedule)
    page = report.page(short, again="lading sim --seed 0")
    assert page.startswith("Seed 0 breaks a promise:")
    assert "has not pinned" in page
    assert "make_set" in page
    assert "</svg>" in report.timeline(short)


@pytest.mark.soak
@pytest.mark.timeout(SEEDS_MAX * 2)
@pytest.mark.parametrize("ablation", ABLATIONS, ids=lambda one: one.safeguard)
def test_a_safeguard_that_is_off_is_noticed(ablation: Ablation) -> None:
    """As soon as the table says. Those that were not found are holes of the checkers."""
    if ablation.seeds is None:
        pytest.xfail("no seed of the measured ones needs it")
    with ablations.without(ablation):
        assert simulation.run(str(ablation.seeds), Life()).broken
