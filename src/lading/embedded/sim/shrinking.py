"""Finds a shorter schedule that still breaks the same promise."""

from collections.abc import Callable

from lading.embedded.sim import simulation
from lading.embedded.sim.schedule import Life, Step
from lading.embedded.sim.simulation import Outcome

RUNS_MAX = 60


def shrunk(outcome: Outcome, life: Life, run: Callable[..., Outcome] = simulation.run) -> Outcome:
    """Leaves out halves, then quarters, and at the end single steps, while the fault stays."""
    kind, best, runs = _kind(outcome), outcome, 0
    size = max(1, len(best.schedule) // 2)
    while runs < RUNS_MAX:
        for begin in range(0, len(best.schedule), size):
            runs += 1
            shorter = best.schedule[:begin] + best.schedule[begin + size :]
            found = run(outcome.seed, life, shorter)
            if found.broken and _kind(found) == kind:
                best = found
                break
        else:
            if size == 1:
                break
            size = max(1, size // 2)
    return best


def _kind(outcome: Outcome) -> str:
    """The first words of the first broken promise, without its time and names."""
    text = outcome.broken[0].partition(": ")[2]
    return " ".join(word for word in text.split()[:6] if word.isalpha())


def schedule_text(steps: tuple[Step, ...]) -> str:
    return "\n".join(str(step) for step in steps)
