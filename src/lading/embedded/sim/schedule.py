"""What users do and what breaks, as a list of steps that is drawn from a seed. Pure.

A step is data, so a schedule that finds a fault can be shortened and run again.
"""

import random

import msgspec

Argument = str | float
FIRST_SECONDS = 10.0
IMAGES = 8
SETS = 4
ROLES = ("worker", "infra")
PROCESSES = ("agent", "runtime", "controller")
WEATHER = {
    "slow": 0.2,
    "slow_seconds_max": 4.0,
    "refused": 0.05,
    "request_lost": 0.05,
    "answer_lost": 0.08,
    "too_many": 0.05,
    "server_error": 0.05,
    "watch_breaks": 0.05,
    "watch_is_silent": 0.02,
    "watch_expires": 0.03,
    "connection_breaks": 0.02,
}
"""The worst weather; each day has some of it."""


class Step(msgspec.Struct, frozen=True):
    at_seconds: float
    name: str
    arguments: tuple[Argument, ...] = ()

    def __str__(self) -> str:
        shown = " ".join(f"{one:.4g}" if isinstance(one, float) else one for one in self.arguments)
        return f"{self.at_seconds:8.3f} s  {self.name} {shown}"


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """How a simulation is drawn."""

    nodes: int = 3
    trouble_seconds: float = 340.0
    users_steps: int = 22
    faults_steps: int = 10


SCENARIOS = {
    "everyday": Life(),
    "faults": Life(users_steps=6, faults_steps=30),
    "users": Life(users_steps=40, faults_steps=0),
}


def node_names(life: Life) -> tuple[str, ...]:
    return tuple(f"node-{number}" for number in range(1, life.nodes + 1))


def drawn(seed: str, life: Life) -> tuple[Step, ...]:
    """In the order of time."""
    rng = random.Random(f"{seed}/schedule")  # noqa: S311 - a seed, not a secret
    steps = [Step(FIRST_SECONDS, "make_set", ("set-0", "worker", *_images(rng)))]
    changes = rng.randint(life.users_steps // 2, life.users_steps)
    steps += [_of_users(rng, life) for _ in range(changes)]
    steps += [_fault(rng, life) for _ in range(rng.randint(0, life.faults_steps))]
    return tuple(sorted(steps, key=lambda step: step.at_seconds))


def _of_users(rng: random.Random, life: Life) -> Step:
    at, node = _instant(rng, life), rng.choice(node_names(life))
    name, image = f"set-{rng.randrange(SETS)}", f"app-{rng.randrange(IMAGES)}"
    choices: tuple[tuple[int, str, tuple[Argument, ...]], ...] = (
        (6, "make_set", (name, rng.choice(ROLES), *_images(rng))),
        (6, "edit_set", (name, *_images(rng))),
        (2, "delete_set", (name,)),
        (3, "replace_set", (name, *_images(rng))),
        (2, "move_set", (name, rng.choice(ROLES))),
        (2, "move_node", (node, rng.choice(ROLES))),
        (3, "remove_image", (node, image)),
        (2, "unpin_image", (node, image)),
        (2, "delete_from_registry", (image,)),
        (2, "push", (image,)),
        (1, "replace_node", (node,)),
        (1, "add_node", (f"node-{life.nodes + 1}",)),
    )
    return Step(at, *_weighted(rng, choices))


def _fault(rng: random.Random, life: Life) -> Step:
    at, node = _instant(rng, life), rng.choice(node_names(life))
    process = rng.choice(
        (f"agent-{node}", f"agent-{node}", f"runtime-{node}", "controller-a", "controller-b")
    )
    seconds = rng.choice((1.0, 5.0, 20.0, 60.0)) * (0.5 + rng.random())
    choices: tuple[tuple[int, str, tuple[Argument, ...]], ...] = (
        (4, "weather", (seconds, *_weather(rng))),
        (6, "kill", (process, float(rng.choice((1, 3, 10, 30, 100, 300))))),
        (2, "pause", (process, seconds)),
        (3, "cut", (rng.choice((node, "control")), seconds)),
        (2, "fill_disk", (node, seconds)),
        (1, "set_clock", (node, rng.choice((-1, 1)) * rng.choice((5.0, 300.0, 7200.0)))),
        (2, "compact", ()),
    )
    return Step(at, *_weighted(rng, choices))


def _instant(rng: random.Random, life: Life) -> float:
    """Often close together: races need neighbours."""
    at = FIRST_SECONDS + rng.random() * (life.trouble_seconds - FIRST_SECONDS)
    return (
        at
        if rng.random() < 0.5
        else FIRST_SECONDS + round((at - FIRST_SECONDS) / 20) * 20 + (rng.random() * 3)
    )


def _images(rng: random.Random) -> tuple[str, ...]:
    count = min(IMAGES, 1 + int(rng.expovariate(0.5)))
    return tuple(f"app-{number}" for number in sorted(rng.sample(range(IMAGES), count)))


def _weather(rng: random.Random) -> tuple[Argument, ...]:
    """Some faults and how likely they are, one after the other."""
    names = rng.sample(sorted(WEATHER), rng.randint(1, 4))
    if "slow" in names and "slow_seconds_max" not in names:
        names.append("slow_seconds_max")
    found: list[Argument] = []
    for name in names:
        found += (name, WEATHER[name] * (0.2 + 0.8 * rng.random()))
    return tuple(found)


def _weighted(
    rng: random.Random, choices: tuple[tuple[int, str, tuple[Argument, ...]], ...]
) -> tuple[str, tuple[Argument, ...]]:
    (_, name, arguments), *_ = rng.choices(choices, [weight for weight, _, _ in choices])
    return name, arguments
